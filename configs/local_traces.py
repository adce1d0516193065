r"""Traces at hand: 900 rows of any pool, in minutes on two cores.

python -m routejax.select --config=configs/local_traces.py --config.pool.paths=FILES

Without paths it reads the folder `../shared/data/traces` beside the clone, 7,971 traces
of open models in three groups. Rules and features are those of released corpora.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "local_traces"
    config.pool.paths = "../shared/data/traces"
    config.fingerprint.family = "corpus"
    config.fingerprint.testbed = "openthoughts3"
    config.fingerprint.moments_over = "all"
    config.selection.methods = "diverse,similar,random,topology_fps,topology_clusters"
    config.selection.n = 900
    return config
