r"""Fingerprints of OpenThoughts3 (paper C.2).

python -m routejax.fingerprint \
    --config=configs/openthoughts3.py --config.pool.paths=FILES
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "openthoughts3"
    config.fingerprint.family = "corpus"
    config.fingerprint.testbed = "openthoughts3"
    config.fingerprint.moments_over = "all"
    return config
