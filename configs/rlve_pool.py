r"""Fingerprints of verified RLVE traces (paper A.5).

python -m routejax.fingerprint --config=configs/rlve_pool.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "rlve_pool"
    config.fingerprint.family = "rlve"
    config.fingerprint.testbed = "rlve"
    config.fingerprint.moments_over = "eligible"
    return config
