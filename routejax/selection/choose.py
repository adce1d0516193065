"""The door of the package: a matrix of fingerprints in, the chosen rows out.

Puts the rows in order of their ids, applies the cap per prompt and splits the budget
over the groups, once for all methods, and calls them one after the other. Left out:
fingerprints (they come as phi) and what is written of a selection.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int64, Num

from routejax.errors import UserError
from routejax.selection.budgets import cluster_counts, cluster_total, group_budgets
from routejax.selection.candidates import PRECISIONS, Candidates, candidates
from routejax.selection.clusters import ENGINES
from routejax.selection.columns import Column, taken, texts
from routejax.selection.grid import Grid
from routejax.selection.methods import SELECTORS
from routejax.selection.picks import Picks, Settings
from routejax.selection.spaces import Source


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """The chosen rows in order of their ids, one entry per row in every column.

    Attributes:
        rows: position in the arrays given to `select`.
        ids, group: as given.
        cluster: cluster within the group (over all groups for `topology_clusters`), -1
            for methods without clusters.
        rank: 0 for the row picked first in its cluster (in its group, where there are
            no clusters).
        distance: what the method chose by, where phi, or a vector of the space, has
            length 1: to the nearest earlier pick of the cluster (first pick: to the
            cluster mean) for `diverse`, of the group for the others that pick what is
            far, to the group mean for `similar`, NaN for random draws.
        capped_ids: ids left out by `per_prompt`, in order.
        report: counts and settings, ready for JSON.
        labels: cluster of every row given to `select`, chosen or not; -1 for rows left
            out by `per_prompt` and in groups without a budget. None for methods without
            clusters.
    """

    rows: Int64[np.ndarray, "n"]
    ids: list[str]
    group: list[str]
    cluster: Int64[np.ndarray, "n"]
    rank: Int64[np.ndarray, "n"]
    distance: Float64[np.ndarray, "n"]
    capped_ids: list[str]
    report: dict[str, Any]
    labels: Int64[np.ndarray, "N"] | None


def select(method: str, **asked: Any) -> Selection:
    """`n` rows of the eligible pool by one method; arguments as of `select_all`."""
    [(_, selection)] = select_all([method], **asked)
    return selection


def select_all(
    methods: Sequence[str],
    *,
    ids: Column,
    groups: Column,
    prompt_ids: Column,
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
    global_clusters: int = 200,
    spaces: Mapping[str, Source] | None = None,
) -> Iterator[tuple[str, Selection]]:
    """(method, `n` rows of the eligible pool), each made when it is asked for.

    The order of the input changes nothing. Candidates, cap and budgets are made once,
    and everything but the vectors of spaces is checked at the call.
    `dict(select_all(...))` holds all selections at once.

    Args:
        methods: names in `SELECTORS`, each once.
        ids, groups, prompt_ids, phi: the eligible pool, one entry or row per candidate;
            texts in lists or Arrow arrays, phi as `project` makes it, or already a
            `Grid`.
        n, quotas: rows to choose, and budgets set by hand; see `group_budgets`.
        K: clusters over all groups; 0.4 n if None.
        seed: of k-means (the same in every group) and of all random draws.
        per_prompt: cap on the rows of one prompt, see `candidates`.
        precision: "exact" rounds phi and other vectors to the integer grid, after which
            the ids are the same for any number of threads; "float32" leaves them, and
            needs the engine "sklearn".
        n_init, max_iter, batch, engine: of k-means, see `kmeans`.
        global_clusters: of `topology_clusters`.
        spaces: the vectors that methods need beside phi (`SELECTORS[name].space`): a
            `Grid` or a matrix with a row per candidate, `open_vectors(...)`, or a
            function that makes one of these when a method asks.

    Raises:
        UserError: an unknown or repeated method, a seed, a space that is not given, and
            what those functions raise.
    """
    _check_methods(methods, spaces or {})
    _check_settings(seed, engine, precision, global_clusters)
    names = {"ids": texts("ids", ids), "groups": texts("groups", groups)}
    pool = candidates(
        names["ids"],
        names["groups"],
        prompt_ids,
        phi,
        precision=precision,
        per_prompt=per_prompt,
        spaces=_needed(methods, spaces or {}),
    )
    sizes = {name: len(rows) for name, rows in pool.groups.items()}
    budgets = group_budgets(sizes, n, quotas)
    total = cluster_total(n) if K is None else K
    cluster_counts(total, budgets, n, sizes)  # so that a wrong K is told of now
    settings = Settings(total, seed, n_init, max_iter, batch, engine, global_clusters)
    asked = {"n": n, "quotas": dict(quotas or {}), "per_prompt": per_prompt}
    asked |= {"precision": precision} | settings._asdict()

    def chosen() -> Iterator[tuple[str, Selection]]:
        for method in methods:
            picks = SELECTORS[method].pick(pool, budgets, settings)
            report = {"method": method} | asked | _counts(pool, budgets, picks)
            yield method, _selection(pool, picks, report, **names)

    return chosen()


def _check_methods(methods: Sequence[str], spaces: Mapping[str, Source]) -> None:
    for place, method in enumerate(methods):
        if method not in SELECTORS:
            raise UserError(
                f"method must be one of {', '.join(SELECTORS)}, got {method!r}"
            )
        if method in methods[:place]:
            raise UserError(f"methods must be named once, got {method!r} twice")
        space = SELECTORS[method].space
        if space is not None and space not in spaces:
            raise UserError(
                f"{method} needs vectors of the space {space!r}, got "
                f"{', '.join(spaces) or 'none'}; give them, or leave {method} out"
            )


def _check_settings(
    seed: int, engine: str, precision: str, global_clusters: int
) -> None:
    if engine not in ENGINES:
        raise UserError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if precision not in PRECISIONS:
        raise UserError(
            f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}"
        )
    if precision == "float32" and engine != "sklearn":
        raise UserError(
            f"engine {engine!r} works on integers; for precision 'float32' it must be "
            "'sklearn'"
        )
    if not 0 <= seed < 2**32:
        raise UserError(f"seed must be in 0..{2**32 - 1}, got {seed}")
    if global_clusters < 1:
        raise UserError(f"global_clusters must be at least 1, got {global_clusters}")


def _needed(methods: Sequence[str], spaces: Mapping[str, Source]) -> dict[str, Source]:
    names = {SELECTORS[method].space for method in methods}
    return {name: source for name, source in spaces.items() if name in names}


def _selection(
    pool: Candidates,
    picks: Picks,
    report: dict[str, Any],
    *,
    ids: pa.LargeStringArray,
    groups: pa.LargeStringArray,
) -> Selection:
    order = np.argsort(picks.rows)
    rows = pool.positions[picks.rows[order]]
    return Selection(
        rows=rows,
        ids=taken(ids, rows).to_pylist(),
        group=taken(groups, rows).to_pylist(),
        cluster=picks.cluster[order],
        rank=picks.rank[order],
        distance=picks.distance[order] / picks.unit,
        capped_ids=taken(ids, pool.capped).to_pylist(),
        report=report,
        labels=_labels(pool, picks, len(ids)),
    )


def _labels(pool: Candidates, picks: Picks, rows: int) -> Int64[np.ndarray, "N"] | None:
    """The cluster of every row in the order of the input."""
    if picks.labels is None:
        return None
    found = np.full(rows, -1)
    found[pool.positions] = picks.labels
    return found


def _counts(
    pool: Candidates, budgets: Mapping[str, int], picks: Picks
) -> dict[str, Any]:
    """What was there and what was taken, per group; inertia in units of phi."""
    groups: dict[str, dict[str, Any]] = {}
    for name, rows in pool.groups.items():
        entry = {"eligible": len(rows), "budget": budgets[name]} | picks.report[name]
        if "inertia" in entry:
            entry["inertia"] /= pool.unit**2
        groups[name] = entry
    grid = pool.grid and {"scale": pool.grid.scale, "sha256": pool.grid.sha256}
    return {
        "rows": len(pool.positions) + len(pool.capped),
        "capped": len(pool.capped),
        "grid": grid,
        "space": picks.space,
        "groups": groups,
    }
