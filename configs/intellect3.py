r"""Fingerprints of INTELLECT-3 (paper C.2).

python -m routejax.fingerprint --config=configs/intellect3.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "intellect3"
    config.fingerprint.family = "corpus"
    config.fingerprint.testbed = "intellect3"
    config.fingerprint.moments_over = "all"
    return config
