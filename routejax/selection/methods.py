"""The selection methods: candidates and budgets in, chosen rows out.

Every method has the same shape and fills the same budgets, so conditions of a
comparison differ in nothing but the rule that picks the rows. Rows are in canonical
order here (by id); "lowest row" in a tie means lowest id.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64, Num

from routejax.selection.budgets import cluster_counts, cluster_quotas
from routejax.selection.candidates import Candidates
from routejax.selection.clusters import kmeans
from routejax.selection.farthest import (
    distance_to_mean,
    farthest_picks,
    nearness_to_mean,
)


class Settings(NamedTuple):
    """What methods may read besides the candidates; see `select`."""

    K: int
    seed: int
    n_init: int
    max_iter: int
    batch: int
    engine: str


class Picks(NamedTuple):
    """Chosen rows in any order, with columns of the same length, and a report.

    `cluster` is -1 and `distance` NaN where a method has none; `report` is JSON-able:
    of one group, or of all groups by name.
    """

    rows: Int64[np.ndarray, "n"]
    cluster: Int64[np.ndarray, "n"]
    rank: Int64[np.ndarray, "n"]
    distance: Float64[np.ndarray, "n"]
    report: dict[str, Any]


def diverse(pool: Candidates, budgets: Mapping[str, int], settings: Settings) -> Picks:
    """Farthest-point picks within every k-means cluster, quotas by cluster size.

    Steps 2 to 5 of paper A.2. `rank` counts the picks of a cluster from 0; `distance`
    is the one to the nearest earlier pick of the cluster, for the first pick the one to
    the cluster mean. A cluster taken whole is put in the same order.
    """
    sizes = {name: len(rows) for name, rows in pool.groups.items()}
    counts = cluster_counts(settings.K, budgets, sum(budgets.values()), sizes)
    parts = {}
    for name, rows in pool.groups.items():
        if budgets[name]:
            part = _spread_out(pool.phi[rows], budgets[name], counts[name], settings)
            parts[name] = part._replace(rows=rows[part.rows])
        else:
            parts[name] = _unclustered(rows[:0], np.empty(0))
    return _joined(parts)


def _spread_out(
    phi: Num[np.ndarray, "m R"], budget: int, k: int, settings: Settings
) -> Picks:
    """Picks among the rows of one group."""
    clusters = kmeans(
        phi,
        k,
        seed=settings.seed,
        n_init=settings.n_init,
        max_iter=settings.max_iter,
        batch=settings.batch,
        engine=settings.engine,
    )
    sizes = np.bincount(clusters.labels, minlength=k)
    quotas = cluster_quotas(sizes, budget)
    by_cluster = np.argsort(clusters.labels, kind="stable")
    rows, distances = [], []
    for quota, end, size in zip(quotas, np.cumsum(sizes), sizes, strict=True):
        if quota:
            inside = by_cluster[end - size : end]
            picks, distance = farthest_picks(phi[inside], int(quota))
            rows.append(inside[picks])
            distances.append(distance)
    report = {
        "clusters_asked": clusters.asked,
        "clusters_formed": clusters.formed,
        "clusters_empty": clusters.empty,
        "clusters_singleton": clusters.singletons,
        "inertia": clusters.inertia,
        "cluster_sizes": sizes.tolist(),
        "cluster_quotas": quotas.tolist(),
    }
    return Picks(
        np.concatenate(rows),
        np.repeat(np.arange(k), quotas),
        np.concatenate([np.arange(quota) for quota in quotas]),
        np.concatenate(distances),
        report,
    )


def similar(pool: Candidates, budgets: Mapping[str, int], settings: Settings) -> Picks:
    """The rows of every group nearest to its mean, ties to the lowest row (A.2, 5).

    `rank` is the order of nearness within the group, `distance` the one to the mean.
    """
    del settings  # the mean decides everything
    parts = {}
    for name, rows in pool.groups.items():
        order = np.argsort(nearness_to_mean(pool.phi[rows]), kind="stable")
        nearest = order[: budgets[name]]
        distance = distance_to_mean(pool.phi[rows])[nearest]
        parts[name] = _unclustered(rows[nearest], distance)
    return _joined(parts)


def random(pool: Candidates, budgets: Mapping[str, int], settings: Settings) -> Picks:
    """Uniform draws without replacement within the budgets (paper C.4).

    Each group has its own stream of PCG64, made from the seed and the SHA-256 of the
    group's name, so its draw does not depend on the other groups; a smaller budget
    draws a subset of a larger one (our choices). `rank` is the order of the draw.
    """
    parts = {}
    for name, rows in pool.groups.items():
        digest = hashlib.sha256(name.encode()).digest()
        stream = np.random.PCG64([settings.seed, int.from_bytes(digest[:8], "big")])
        order = np.random.Generator(stream).permutation(len(rows))
        drawn = rows[order[: budgets[name]]]
        parts[name] = _unclustered(drawn, np.full(len(drawn), np.nan))
    return _joined(parts)


Selector = Callable[[Candidates, Mapping[str, int], Settings], Picks]
SELECTORS: dict[str, Selector] = {
    "diverse": diverse,
    "similar": similar,
    "random": random,
}


def _unclustered(
    rows: Int64[np.ndarray, "n"], distance: Float64[np.ndarray, "n"]
) -> Picks:
    return Picks(rows, np.full_like(rows, -1), np.arange(len(rows)), distance, {})


def _joined(parts: Mapping[str, Picks]) -> Picks:
    """The picks of all groups in one record, their reports by group name."""
    return Picks(
        np.concatenate([part.rows for part in parts.values()]),
        np.concatenate([part.cluster for part in parts.values()]),
        np.concatenate([part.rank for part in parts.values()]),
        np.concatenate([part.distance for part in parts.values()]),
        {name: part.report for name, part in parts.items()},
    )
