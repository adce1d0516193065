r"""The pool of one teacher: fingerprints, and 10,000, 25,000 or 50,000 rows (Table 7).

At most eight solutions per prompt are eligible.

python -m routejax.fingerprint \
    --config=configs/single_teacher.py --config.pool.paths=FILES
python -m routejax.select \
    --config=configs/single_teacher.py:50k --config.pool.paths=FILES

The rows are split evenly over the pool's domains. K is 0.4 n (our choice: the paper
gives none here).
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.corpora import corpus
from routejax.errors import UserError

ROWS = {"10k": 10_000, "25k": 25_000, "50k": 50_000}


def get_config(variant: str = "50k") -> ConfigDict:
    """The config of a variant.

    Raises:
        UserError: there is no such variant.
    """
    if variant not in ROWS:
        raise UserError(
            f"configs/single_teacher.py has no variant {variant!r}; there are "
            f"{', '.join(ROWS)}"
        )
    config = corpus()
    config.name = "single_teacher"
    config.fingerprint.family = "dolci"
    config.fingerprint.testbed = "single_teacher"
    config.fingerprint.moments_over = "eligible"
    config.selection.n = ROWS[variant]
    config.selection.per_prompt = 8
    config.selection.variance_floor = 0.0
    return config
