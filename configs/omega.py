r"""OMEGA traces with annotated steps: fingerprints, and 50,000 rows (A.6, Table 7).

python -m routejax.fingerprint --config=configs/omega.py --config.pool.paths=FILES
python -m routejax.select --config=configs/omega.py --config.pool.paths=FILES

From the whole pool, without projection. K is 0.4 n (our choice: the paper gives none
here).
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus


def get_config() -> ConfigDict:
    config = corpus()
    config.name = "omega"
    config.fingerprint.family = "omega"
    config.fingerprint.testbed = "omega"
    config.fingerprint.moments_over = "eligible"
    config.selection.n = 50_000
    config.selection.group_by = "all"
    config.selection.r = None
    config.selection.variance_floor = 0.0
    return config
