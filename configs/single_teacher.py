r"""Fingerprints of the pool of one teacher (paper, Table 7).

At most eight solutions per prompt are eligible.

python -m routejax.fingerprint \
    --config=configs/single_teacher.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "single_teacher"
    config.fingerprint.family = "dolci"
    config.fingerprint.testbed = "single_teacher"
    config.fingerprint.moments_over = "eligible"
    return config
