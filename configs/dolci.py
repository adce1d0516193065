r"""Dolci-Think: fingerprints, and 100,000 rows, 25,000 of each domain (paper C.1).

python -m routejax.fingerprint --config=configs/dolci.py --config.pool.paths=FILES
python -m routejax.select --config=configs/dolci.py --config.pool.paths=FILES

An even split over the pool's groups; over its four domains these are the 25,000.
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
    config.selection.n = 100_000
    config.selection.K = 40_000
    config.selection.variance_floor = 0.0
    return config
