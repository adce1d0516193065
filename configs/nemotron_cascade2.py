r"""Nemotron-Cascade 2: fingerprints, and 100,000 rows of mathematics (paper C.2).

python -m routejax.fingerprint \
    --config=configs/nemotron_cascade2.py --config.pool.paths=FILES
python -m routejax.select \
    --config=configs/nemotron_cascade2.py --config.pool.paths=FILES

The paper's other baseline here is `gradient_fps`.
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
    config.selection.methods = "diverse,similar,random,topology_clusters"
    config.selection.n = 100_000
    config.selection.K = 40_000
    config.selection.quotas = "math=100000"
    return config
