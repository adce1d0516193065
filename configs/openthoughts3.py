r"""OpenThoughts3: fingerprints, and 100,000 rows of three domains (paper C.2).

python -m routejax.fingerprint \
    --config=configs/openthoughts3.py --config.pool.paths=FILES
python -m routejax.select --config=configs/openthoughts3.py --config.pool.paths=FILES

The paper trains all baselines here; those that need more than the pool are added with
`--config.selection.methods=diverse,…,lexical_fps,embedding_fps,gradient_fps` and the
files that `configs/corpora.py` names.
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
    config.selection.methods = "diverse,similar,random,topology_fps"
    config.selection.n = 100_000
    config.selection.K = 40_000
    config.selection.quotas = "math=33334,code=33333,science=33333"
    return config
