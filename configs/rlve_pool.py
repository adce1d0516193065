r"""RLVE traces: fingerprints, and 50,000 or 200,000 rows (paper A.5, Table 7).

python -m routejax.fingerprint --config=configs/rlve_pool.py --config.pool.paths=FILES
python -m routejax.select --config=configs/rlve_pool.py:50k --config.pool.paths=FILES

From the whole pool. The 64 pattern indicators are not scaled (A.5). K is 0.4 n (our
choice: the paper gives none here). The study that trains on such rows is
`configs/rlve.py`.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus
from routejax.errors import UserError

ROWS = {"50k": 50_000, "200k": 200_000}


def get_config(variant: str = "50k") -> ConfigDict:
    """The config of a variant.

    Raises:
        UserError: there is no such variant.
    """
    if variant not in ROWS:
        raise UserError(
            f"configs/rlve_pool.py has no variant {variant!r}; there are "
            f"{', '.join(ROWS)}"
        )
    config = corpus()
    config.name = "rlve_pool"
    config.fingerprint.family = "rlve"
    config.fingerprint.testbed = "rlve"
    config.fingerprint.moments_over = "eligible"
    config.selection.n = ROWS[variant]
    config.selection.group_by = "all"
    config.selection.unscaled = 64
    config.selection.variance_floor = 0.0
    return config
