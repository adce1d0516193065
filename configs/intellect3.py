r"""INTELLECT-3: fingerprints, and 100,000 rows of three domains (paper C.2).

python -m routejax.fingerprint --config=configs/intellect3.py --config.pool.paths=FILES
python -m routejax.select --config=configs/intellect3.py --config.pool.paths=FILES

The domains must be in the pool under these names, of which the paper's selector calls
the third "stem"; `--config.pool.columns.group` says in which column. The paper's other
baselines here are `embedding_fps` and `gradient_fps`.
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
    config.selection.methods = "diverse,similar,random,topology_clusters"
    config.selection.n = 100_000
    config.selection.K = 40_000
    config.selection.quotas = "math=33334,code=33333,stem=33333"
    return config
