r"""Fingerprints of Dolci-Think (paper C.2).

python -m routejax.fingerprint --config=configs/dolci.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "dolci"
    config.fingerprint.family = "dolci"
    config.fingerprint.testbed = "dolci"
    config.fingerprint.moments_over = "eligible"
    return config
