"""The door of the package: a matrix of fingerprints in, the chosen rows out.

Puts the rows in order of their ids, applies the cap per prompt, splits the budget over
the groups and calls one method. Left out: fingerprints (they come as phi) and files.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, Num

from routejax.errors import UserError
from routejax.selection.budgets import cluster_total, group_budgets
from routejax.selection.candidates import Candidates, candidates
from routejax.selection.grid import Grid
from routejax.selection.methods import SELECTORS, Picks, Settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """The chosen rows in order of their ids, one entry per row in every column.

    Attributes:
        rows: position in the arrays given to `select`.
        ids, group: as given.
        cluster: cluster within the group, -1 for methods without clusters.
        rank: 0 for the row picked first in its cluster (in its group, where there are
            no clusters).
        distance: what the method chose by, in units of phi: to the nearest earlier pick
            of the cluster (first pick: to the cluster mean) for `diverse`, to the group
            mean for `similar`, NaN for `random`.
        capped_ids: ids left out by `per_prompt`, in order.
        report: counts and settings, ready for JSON.
    """

    rows: Int64[np.ndarray, "n"]
    ids: list[str]
    group: list[str]
    cluster: Int64[np.ndarray, "n"]
    rank: Int64[np.ndarray, "n"]
    distance: Float64[np.ndarray, "n"]
    capped_ids: list[str]
    report: dict[str, Any]


def select(
    method: str,
    *,
    ids: Sequence[str],
    groups: Sequence[str],
    prompt_ids: Sequence[str],
    phi: Num[np.ndarray, "N R"] | Grid,
    n: int,
    K: int | None = None,
    seed: int = 42,
    quotas: Mapping[str, int] | None = None,
    per_prompt: int | None = None,
    precision: str = "exact",
    n_init: int = 3,
    max_iter: int = 50,
    batch: int = 65_536,
    engine: str = "sklearn",
) -> Selection:
    """`n` rows of the eligible pool by `method`; the input order changes nothing.

    Args:
        method: a name in `SELECTORS`.
        ids, groups, prompt_ids, phi: the eligible pool, one entry or row per candidate;
            phi as `project` makes it, or already a `Grid`.
        n, quotas: rows to choose, and budgets set by hand; see `group_budgets`.
        K: clusters over all groups; 0.4 n if None.
        seed: of k-means (the same in every group) and of `random`.
        per_prompt: cap on the rows of one prompt, see `candidates`.
        precision: "exact" rounds phi to the integer grid, after which the ids are the
            same for any number of threads; "float32" leaves phi as it is.
        n_init, max_iter, batch, engine: of k-means, see `kmeans`.

    Raises:
        UserError: an unknown method or seed, and what those functions raise.
    """
    _check(method, seed)
    pool = candidates(
        ids, groups, prompt_ids, phi, precision=precision, per_prompt=per_prompt
    )
    sizes = {name: len(rows) for name, rows in pool.groups.items()}
    budgets = group_budgets(sizes, n, quotas)
    total = cluster_total(n) if K is None else K
    settings = Settings(total, seed, n_init, max_iter, batch, engine)
    picks = SELECTORS[method](pool, budgets, settings)
    asked = {"method": method, "n": n, "quotas": dict(quotas or {})}
    asked |= {"per_prompt": per_prompt, "precision": precision}
    order = np.argsort(picks.rows)
    rows = pool.positions[picks.rows[order]]
    return Selection(
        rows=rows,
        ids=[ids[int(row)] for row in rows],
        group=[groups[int(row)] for row in rows],
        cluster=picks.cluster[order],
        rank=picks.rank[order],
        distance=picks.distance[order] / _unit(pool),
        capped_ids=[ids[int(row)] for row in pool.capped],
        report=asked | settings._asdict() | _counts(pool, budgets, picks),
    )


def _check(method: str, seed: int) -> None:
    if method not in SELECTORS:
        raise UserError(f"method must be one of {', '.join(SELECTORS)}, got {method!r}")
    if not 0 <= seed < 2**32:
        raise UserError(f"seed must be in 0..{2**32 - 1}, got {seed}")


def _unit(pool: Candidates) -> int:
    """Length in the rows of what has length 1 in phi."""
    return 1 if pool.grid is None else pool.grid.scale


def _counts(
    pool: Candidates, budgets: Mapping[str, int], picks: Picks
) -> dict[str, Any]:
    """What was there and what was taken, per group; inertia in units of phi."""
    groups: dict[str, dict[str, Any]] = {}
    for name, rows in pool.groups.items():
        entry = {"eligible": len(rows), "budget": budgets[name]} | picks.report[name]
        if "inertia" in entry:
            entry["inertia"] /= _unit(pool) ** 2
        groups[name] = entry
    grid = pool.grid and {"scale": pool.grid.scale, "sha256": pool.grid.sha256}
    return {
        "rows": len(pool.positions) + len(pool.capped),
        "capped": len(pool.capped),
        "grid": grid,
        "groups": groups,
    }
