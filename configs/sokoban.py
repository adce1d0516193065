r"""Sokoban traces: fingerprints, and 86,792 rows (paper A.7, Table 7).

python -m routejax.fingerprint --config=configs/sokoban.py --config.pool.paths=FILES
python -m routejax.select --config=configs/sokoban.py --config.pool.paths=FILES

From the whole pool, without projection. K is 0.4 n (our choice: the paper gives none
here).
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
    config.selection.n = 86_792
    config.selection.group_by = "all"
    config.selection.r = None
    config.selection.variance_floor = 0.0
    return config
