r"""Fingerprints of verified OMEGA traces with annotated steps (paper A.6).

python -m routejax.fingerprint --config=configs/omega.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "omega"
    config.fingerprint.family = "omega"
    config.fingerprint.testbed = "omega"
    config.fingerprint.moments_over = "eligible"
    return config
