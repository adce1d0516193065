r"""Fingerprints of Nemotron-Cascade 2 (paper C.2).

python -m routejax.fingerprint \
    --config=configs/nemotron_cascade2.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "nemotron_cascade2"
    config.fingerprint.family = "corpus"
    config.fingerprint.testbed = "nemotron_cascade2"
    config.fingerprint.moments_over = "all"
    return config
