r"""Fingerprints of verified Sokoban traces (paper A.7).

python -m routejax.fingerprint --config=configs/sokoban.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "sokoban"
    config.fingerprint.family = "sokoban"
    config.fingerprint.testbed = "sokoban"
    config.fingerprint.moments_over = "eligible"
    return config
