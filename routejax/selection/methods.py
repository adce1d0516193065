"""The selection methods: candidates and budgets in, chosen rows out.

Every method has the same shape and fills the same budgets, so conditions of a
comparison differ in nothing but the rule that picks the rows. Rows are in canonical
order here (by id); "lowest row" in a tie means lowest id. The baselines of the released
corpora stand in `baselines`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Num

from routejax.selection.baselines import (
    in_space,
    random,
    topology_clusters,
    topology_fps,
)
from routejax.selection.budgets import cluster_counts, cluster_quotas
from routejax.selection.candidates import Candidates
from routejax.selection.clusters import kmeans
from routejax.selection.farthest_within import cluster_picks
from routejax.selection.nearness import gaps_to_mean, nearness_to_mean
from routejax.selection.picks import (
    Picks,
    Settings,
    farthest_engine,
    joined,
    unclustered,
)
from routejax.selection.spaces import rows_at


def diverse(pool: Candidates, budgets: Mapping[str, int], settings: Settings) -> Picks:
    """Farthest-point picks within every k-means cluster, quotas by cluster size.

    Steps 2 to 5 of paper A.2. `rank` counts the picks of a cluster from 0; `distance`
    is the one to the nearest earlier pick of the cluster, for the first pick the one to
    the cluster mean. A cluster taken whole is put in the same order.
    """
    sizes = {name: len(rows) for name, rows in pool.groups.items()}
    counts = cluster_counts(settings.K, budgets, sum(budgets.values()), sizes)
    parts, labels = {}, np.full(len(pool.phi), -1)
    for name, rows in pool.groups.items():
        if budgets[name]:
            phi = rows_at(pool.phi, rows)
            part = _spread_out(phi, budgets[name], counts[name], settings)
            parts[name] = part._replace(rows=rows[part.rows], labels=None)
            labels[rows] = part.labels
        else:
            parts[name] = unclustered(rows[:0], np.empty(0))
    return joined(parts, pool.unit)._replace(labels=labels)


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
    engine = farthest_engine(phi, settings)
    picks = cluster_picks(phi, clusters.labels, quotas, engine=engine)
    report = {
        "clusters_asked": clusters.asked,
        "clusters_formed": clusters.formed,
        "clusters_empty": clusters.empty,
        "clusters_singleton": clusters.singletons,
        "inertia": clusters.inertia,
        "cluster_sizes": sizes.tolist(),
        "cluster_quotas": quotas.tolist(),
    }
    made = Picks(picks.rows, picks.cluster, picks.rank, picks.distance, report)
    return made._replace(labels=clusters.labels)


def similar(pool: Candidates, budgets: Mapping[str, int], settings: Settings) -> Picks:
    """The rows of every group nearest to its mean, ties to the lowest row (A.2, 5).

    `rank` is the order of nearness within the group, `distance` the one to the mean.
    """
    del settings  # the mean decides everything
    parts = {}
    for name, rows in pool.groups.items():
        phi = rows_at(pool.phi, rows)
        order = np.argsort(nearness_to_mean(phi), kind="stable")
        nearest = order[: budgets[name]]
        parts[name] = unclustered(rows[nearest], gaps_to_mean(phi, nearest))
    return joined(parts, pool.unit)


class Method(NamedTuple):
    """How a method picks, the space it needs beside phi (or None), and one sentence."""

    pick: Callable[[Candidates, Mapping[str, int], Settings], Picks]
    space: str | None
    sentence: str


SELECTORS: dict[str, Method] = {
    "diverse": Method(
        diverse,
        None,
        "Rows far apart within every cluster of phi, quotas by the size of clusters.",
    ),
    "similar": Method(
        similar, None, "The rows nearest the mean of phi in every group."
    ),
    "random": Method(random, None, "Rows drawn uniformly in every group."),
    "topology_fps": Method(
        topology_fps, None, "Rows far apart in phi in every group, without clusters."
    ),
    "topology_clusters": Method(
        topology_clusters,
        None,
        "Rows drawn uniformly within 200 clusters of phi, in proportion to their size.",
    ),
    "lexical_fps": Method(
        partial(in_space, "lexical"),
        "lexical",
        "Rows far apart in the words they use: TF-IDF of tokens and pairs of tokens.",
    ),
    "embedding_fps": Method(
        partial(in_space, "embedding"),
        "embedding",
        "Rows far apart in sentence embeddings that are read from a file.",
    ),
    "gradient_fps": Method(
        partial(in_space, "gradient"),
        "gradient",
        "Rows far apart in approximate gradients that are read from a file.",
    ),
}
