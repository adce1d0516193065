"""Farthest-point picks inside every cluster of a partition (paper A.2, step 4).

A pool has tens of thousands of clusters of some dozen rows. What costs time there is
starting on each of them, so the engines take many at once.
"""

import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Int64, Num

from routejax.errors import UserError
from routejax.selection.farthest import farthest_picks

_CHUNK_ROWS = 65_536  # rows of the clusters that one thread takes at a time
_THREADS = 2  # reading rows from memory keeps no more busy
_PLAIN_WORK = 2**26  # rows times picks above which reading little wins


class ClusterPicks(NamedTuple):
    """The picks of all clusters, by cluster and within it in the order picked.

    Attributes:
        rows: rows of phi.
        cluster: the cluster of each.
        rank: 0 for the first pick of its cluster.
        distance: to the nearest earlier pick of the cluster; of the first pick, to the
            mean of the cluster.
    """

    rows: Int64[np.ndarray, "n"]
    cluster: Int64[np.ndarray, "n"]
    rank: Int64[np.ndarray, "n"]
    distance: Float64[np.ndarray, "n"]


class Members(NamedTuple):
    """Rows sorted by cluster, and where each cluster begins and ends among them."""

    rows: Int64[np.ndarray, "N"]
    begins: Int64[np.ndarray, "K"]
    ends: Int64[np.ndarray, "K"]


def cluster_picks(
    phi: Num[np.ndarray, "N R"],
    labels: Int[np.ndarray, "M"],
    quotas: Int[np.ndarray, "K"],
    *,
    engine: str = "cpu",
) -> ClusterPicks:
    """`quotas[c]` picks of every cluster c, the same as `farthest_picks` of its rows.

    A cluster taken whole is put in the same order.

    Args:
        labels: cluster of every row, in 0..K-1.
        engine: a name in `WITHIN`; all but "reference" need grid rows.

    Raises:
        UserError: labels that do not fit phi or the quotas, a quota below zero or above
            the size of its cluster, an engine that does not exist, or rows that it does
            not take.
    """
    if engine not in WITHIN:
        raise UserError(f"engine must be one of {', '.join(WITHIN)}, got {engine!r}")
    members = _members(phi, labels, quotas)
    quotas = np.asarray(quotas, np.int64)
    rows, distance = WITHIN[engine](phi, members, quotas)
    starts = np.repeat(np.cumsum(quotas) - quotas, quotas)
    cluster = np.repeat(np.arange(len(quotas)), quotas)
    return ClusterPicks(rows, cluster, np.arange(len(rows)) - starts, distance)


def gaps_to_means(
    rows: Num[np.ndarray, "K R"],
    totals: Int64[np.ndarray, "K R"],
    sizes: Int64[np.ndarray, "K"],
) -> Float64[np.ndarray, "K"]:
    """Distance of each row to the mean of its cluster, rounded as the reference's."""
    gaps = rows - totals / sizes[:, None]
    return np.sqrt(np.einsum("ij,ij->i", gaps, gaps))


def _members(
    phi: Num[np.ndarray, "N R"],
    labels: Int[np.ndarray, "M"],
    quotas: Int[np.ndarray, "K"],
) -> Members:
    if len(labels) != len(phi):
        raise UserError(
            f"labels must have one entry per row of phi ({len(phi)}), got {len(labels)}"
        )
    if len(labels) and not 0 <= labels.min() <= labels.max() < len(quotas):
        raise UserError(
            f"labels must be in 0..{len(quotas) - 1} (one quota per cluster), got "
            f"{labels.min()}..{labels.max()}"
        )
    sizes = np.bincount(labels, minlength=len(quotas))
    wrong = np.flatnonzero((quotas < 0) | (quotas > sizes))
    if len(wrong):
        cluster = int(wrong[0])
        raise UserError(
            f"the quota of cluster {cluster} must be in 0..{sizes[cluster]} (its "
            f"rows), got {quotas[cluster]}"
        )
    ends = np.cumsum(sizes)
    return Members(np.argsort(labels, kind="stable"), ends - sizes, ends)


Picked = tuple[Int64[np.ndarray, "n"], Float64[np.ndarray, "n"]]


def _reference(
    phi: Num[np.ndarray, "N R"], members: Members, quotas: Int64[np.ndarray, "K"]
) -> Picked:
    rows, distances = [np.empty(0, np.int64)], [np.empty(0)]
    for c in np.flatnonzero(quotas):
        inside = members.rows[members.begins[c] : members.ends[c]]
        picks, distance = farthest_picks(phi[inside], int(quotas[c]))
        rows.append(inside[picks])
        distances.append(distance)
    return np.concatenate(rows), np.concatenate(distances)


def _compiled(
    phi: Num[np.ndarray, "N R"], members: Members, quotas: Int64[np.ndarray, "K"]
) -> Picked:
    """Chunks of clusters through one compiled loop each, on two threads.

    Clusters too large for a plain loop go to the lazy engine, one by one.
    """
    kernels = importlib.import_module("routejax.selection.farthest_kernels")
    importlib.import_module("routejax.selection.farthest_start").grid_norms(phi)
    sizes = members.ends - members.begins
    places = np.cumsum(quotas) - quotas
    rows, squares = np.empty(quotas.sum(), np.int64), np.zeros(quotas.sum(), np.int64)
    small = np.where(sizes * quotas > _PLAIN_WORK, 0, quotas)
    near = np.zeros(len(quotas))

    def work(chunk: tuple[int, int]) -> None:
        some = slice(*chunk)
        totals = np.zeros((chunk[1] - chunk[0], phi.shape[1]), np.int64)
        where = members.begins[some], members.ends[some], small[some], places[some]
        kernels.within(phi, members.rows, *where, totals, rows, squares)
        used = np.flatnonzero(small[some])
        firsts = phi[rows[places[some][used]]]
        near[some][used] = gaps_to_means(firsts, totals[used], sizes[some][used])

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(work, _chunks(members.ends)))
    distance = np.sqrt(squares)
    used = small > 0
    distance[places[used]] = np.sqrt(near[used] ** 2)  # and back, as the reference
    for c in np.flatnonzero(small != quotas):
        inside = members.rows[members.begins[c] : members.ends[c]]
        out = slice(places[c], places[c] + quotas[c])
        picks, distance[out] = farthest_picks(phi[inside], int(quotas[c]), engine="cpu")
        rows[out] = inside[picks]
    return rows, distance


def _chunks(ends: Int64[np.ndarray, "K"]) -> list[tuple[int, int]]:
    """Ranges of clusters with about `_CHUNK_ROWS` rows, or with one larger cluster."""
    rows = int(ends[-1]) if len(ends) else 0
    wanted = np.arange(_CHUNK_ROWS, rows, _CHUNK_ROWS)
    inner = np.searchsorted(ends, wanted) + 1
    edges = np.unique(np.concatenate([[0], inner, [len(ends)]]))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def _bucketed(
    phi: Num[np.ndarray, "N R"], members: Members, quotas: Int64[np.ndarray, "K"]
) -> Picked:
    module = importlib.import_module("routejax.selection.farthest_buckets")
    return module.picks(phi, members, quotas)


Within = Callable[[np.ndarray, Members, np.ndarray], Picked]
WITHIN: dict[str, Within] = {
    "reference": _reference,
    "cpu": _compiled,
    "jax": _bucketed,
}
