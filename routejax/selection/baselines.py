"""The baselines of paper C.4: simpler rules on phi, one rule in other spaces.

They fill the same budgets as every method. All of them begin with the row that `random`
draws first (our choice of a random row), so what differs is the rule alone.
"""

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float64, Int64, Num

from routejax.selection.budgets import proportional_quotas
from routejax.selection.candidates import Candidates
from routejax.selection.clusters import kmeans
from routejax.selection.farthest import farthest_picks
from routejax.selection.picks import (
    Picks,
    Settings,
    draw,
    farthest_engine,
    joined,
    unclustered,
)
from routejax.selection.spaces import rows_at


def random(pool: Candidates, budgets: Mapping[str, int], settings: Settings) -> Picks:
    """Uniform draws without replacement within the budgets.

    A smaller budget draws a subset of a larger one. `rank` is the order of the draw.
    """
    parts = {}
    for name, rows in pool.groups.items():
        drawn = rows[draw(name, len(rows), settings.seed)[: budgets[name]]]
        parts[name] = unclustered(drawn, np.full(len(drawn), np.nan))
    return joined(parts, pool.unit)


def topology_fps(
    pool: Candidates, budgets: Mapping[str, int], settings: Settings
) -> Picks:
    """Farthest-point picks of phi in every group, without clusters, of pools of any
    size (the paper's own stops at 600,000 rows)."""

    def phi(rows: Int64[np.ndarray, "m"]) -> Num[np.ndarray, "m R"]:
        return rows_at(pool.phi, rows)

    return joined(_farthest(phi, pool.groups, budgets, settings), pool.unit)


def topology_clusters(
    pool: Candidates, budgets: Mapping[str, int], settings: Settings
) -> Picks:
    """Uniform draws within global clusters of phi, in proportion to a group's rows.

    All candidates are clustered at once, into `global_clusters` (200 in the paper) or
    as many as there are rows. A group's budget is split over the clusters by
    `proportional_quotas` of the group's own rows. Of each cluster those rows are taken
    which `random` would draw first, so with one cluster this is `random`. `rank` is the
    order of the draw in the cluster.
    """
    k = min(settings.global_clusters, len(pool.phi))
    fit = {name: getattr(settings, name) for name in _FIT}
    clusters = kmeans(pool.phi, k, **fit)
    parts = {}
    for name, rows in pool.groups.items():
        labels = clusters.labels[rows]
        sizes = np.bincount(labels, minlength=k)
        quotas = proportional_quotas(sizes, budgets[name])
        drawn = draw(name, len(rows), settings.seed)
        drawn = drawn[np.argsort(labels[drawn], kind="stable")]
        rank = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = rank < np.repeat(quotas, sizes)
        report = {"cluster_sizes": sizes.tolist(), "cluster_quotas": quotas.tolist()}
        taken = unclustered(rows[drawn[kept]], np.full(int(kept.sum()), np.nan))
        parts[name] = taken._replace(
            cluster=labels[drawn[kept]], rank=rank[kept], report=report
        )
    return joined(parts, pool.unit)._replace(labels=clusters.labels)


_FIT = ("seed", "n_init", "max_iter", "batch", "engine")


def in_space(
    space: str, pool: Candidates, budgets: Mapping[str, int], settings: Settings
) -> Picks:
    """Farthest-point picks in every group by the vectors of another space.

    The space is read in order of group and id; its hash is that of the candidates' grid
    rows in this order.
    """
    read = pool.spaces[space](pool.positions[np.concatenate([*pool.groups.values()])])
    ends = np.cumsum([len(rows) for rows in pool.groups.values()])
    starts = dict(zip(pool.groups, [0, *ends], strict=False))
    groups = {
        name: starts[name] + np.arange(len(rows)) for name, rows in pool.groups.items()
    }

    def vectors(rows: Int64[np.ndarray, "m"]) -> Num[np.ndarray, "m R"]:
        return rows_at(read.values, rows)

    parts = _farthest(vectors, groups, budgets, settings)
    for name, part in parts.items():
        parts[name] = part._replace(rows=pool.groups[name][part.rows - starts[name]])
    grid = read.sha256 and {"scale": read.unit, "sha256": read.sha256}
    facts = {"name": space, "features": read.values.shape[1], "grid": grid}
    return joined(parts, read.unit)._replace(space=facts)


def _farthest(
    vectors: Callable[[Int64[np.ndarray, "m"]], Num[np.ndarray, "m R"]],
    groups: Mapping[str, Int64[np.ndarray, "m"]],
    budgets: Mapping[str, int],
    settings: Settings,
) -> dict[str, Picks]:
    """Picks of every group from a random row on.

    `distance` is the one to the nearest earlier pick of the group, for the first pick
    the one to the group mean, which has no part in choosing it.
    """
    parts = {}
    for name, rows in groups.items():
        distance: Float64[np.ndarray, "n"] = np.empty(0)
        picks = rows[:0]
        if budgets[name]:
            start = int(draw(name, len(rows), settings.seed)[0])
            values = vectors(rows)
            engine = farthest_engine(values, settings)
            found, distance = farthest_picks(
                values, budgets[name], start, engine=engine
            )
            picks = rows[found]
        parts[name] = unclustered(picks, distance)
    return parts
