"""Mini-batch k-means with a final assignment that is one exact pass (paper A.2, C.2).

An engine turns rows into k centroids and nothing else; `kmeans` does the rest the same
way for all of them: duplicates, rounding the centroids to the grid, the final pass and
the counts. Left out: engines for meshes.

What is exact and what is not: on grid rows, k-means++ and the final pass are exact. The
mini-batch steps of scikit-learn are float32 and its stopping rule reads a sum that
depends on the number of threads, so the fit runs on one thread: the same processor then
gives the same centroids whatever the number of threads. Another kind of processor may
round a step differently, which rounding the centroids to the grid often hides but
cannot rule out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float32, Float64, Int64, Num
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from routejax.errors import UserError
from routejax.selection.seeding import plusplus

_PASS_ENTRIES = 4_000_000  # entries of one block of the rows-by-centroids product


class Clusters(NamedTuple):
    """A partition of the rows, and what became of the clusters that were asked for.

    Attributes:
        labels: cluster of every row, in 0..asked-1.
        asked: clusters asked for; formed: those with a row; empty: those without;
            singletons: those with one row.
        inertia: sum over rows of the squared distance to the assigned centroid, in
            squared units of the rows.
    """

    labels: Int64[np.ndarray, "N"]
    asked: int
    formed: int
    empty: int
    singletons: int
    inertia: float


class Fit(NamedTuple):
    """What an engine is told besides the rows and k; see `kmeans`."""

    seed: int
    n_init: int
    max_iter: int
    batch: int


def kmeans(
    phi: Num[np.ndarray, "N R"],
    k: int,
    *,
    seed: int = 42,
    n_init: int = 3,
    max_iter: int = 50,
    batch: int = 65_536,
    engine: str = "sklearn",
) -> Clusters:
    """Clusters of grid rows (integers: exact) or of float32 rows.

    Centroids of grid rows are rounded to the grid (our choice), then every row goes to
    its nearest centroid, ties to the lowest cluster index. Where at most k rows are
    distinct, each distinct row is a cluster, in order of first appearance, and the
    clusters beyond that stay empty.

    Args:
        phi: the rows; no value may be NaN.
        k: clusters to ask for.
        seed: of the engine.
        n_init: initialisations, of which the best is refined.
        max_iter: passes over the rows at most.
        batch: rows of a mini-batch, at most N.
        engine: a name in `ENGINES`.

    Raises:
        UserError: k not in 1..N, an engine that does not exist, or a number below one.
    """
    if not 1 <= k <= len(phi):
        raise UserError(f"k must be in 1..{len(phi)} (rows), got {k}")
    if engine not in ENGINES:
        raise UserError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    for name, value in (("n_init", n_init), ("max_iter", max_iter), ("batch", batch)):
        if value < 1:
            raise UserError(f"{name} must be at least 1, got {value}")
    distinct = _distinct_labels(phi)
    if distinct.max() < k:
        return _counted(distinct, k, 0.0)
    centroids = ENGINES[engine](phi, k, Fit(seed, n_init, max_iter, batch))
    if _on_grid(phi):
        centroids = np.rint(centroids)
    labels, inertia = assign(phi, centroids.astype(np.float64))
    return _counted(labels, k, inertia)


def assign(
    phi: Num[np.ndarray, "N R"], centroids: Float64[np.ndarray, "K R"]
) -> tuple[Int64[np.ndarray, "N"], float]:
    """Nearest centroid of every row, ties to the lowest index, and the inertia.

    Exact where rows and centroids are on the grid: ||q - c||^2 = |q|^2 - 2 q.c + |c|^2
    in float64 integers.
    """
    labels = np.empty(len(phi), np.int64)
    norms = np.einsum("ij,ij->i", centroids, centroids)
    inertia = 0.0
    step = max(1, _PASS_ENTRIES // len(centroids))
    for first in range(0, len(phi), step):
        rows = phi[first : first + step].astype(np.float64)
        score = rows @ (-2 * centroids.T)
        score += norms
        nearest = score.argmin(axis=1)
        labels[first : first + step] = nearest
        best = np.take_along_axis(score, nearest[:, None], axis=1).sum()
        inertia += float(best + np.einsum("ij,ij->", rows, rows))
    return labels, max(inertia, 0.0)


def _sklearn(
    phi: Num[np.ndarray, "N R"], k: int, fit: Fit
) -> Float32[np.ndarray, "K R"]:
    """scikit-learn's MiniBatchKMeans, the paper's own; seeds from min(N, 3 batch) rows.

    On grid rows the seeds come from `seeding.plusplus`, which makes the library's own
    picks faster. On float32 rows everything is the library's.
    """

    def seeds(
        rows: Float32[np.ndarray, "N R"],
        count: int,
        random_state: np.random.RandomState,
    ) -> Float32[np.ndarray, "K R"]:
        return rows[plusplus(rows, count, random_state)]

    options: dict[str, Any] = {
        "init": seeds if _on_grid(phi) else "k-means++",
        "n_init": fit.n_init,
        "max_iter": fit.max_iter,
        "batch_size": fit.batch,
        "random_state": fit.seed,
        "compute_labels": False,
    }
    with threadpool_limits(limits=1):
        estimator = MiniBatchKMeans(k, **options).fit(phi.astype(np.float32))
    return np.asarray(estimator.cluster_centers_)


Engine = Callable[[np.ndarray, int, Fit], np.ndarray]
ENGINES: dict[str, Engine] = {"sklearn": _sklearn}


def _on_grid(phi: Num[np.ndarray, "N R"]) -> bool:
    return np.issubdtype(phi.dtype, np.integer)


def _distinct_labels(phi: Num[np.ndarray, "N R"]) -> Int64[np.ndarray, "N"]:
    """Number of each row's value among the distinct rows, by first appearance."""
    rows = np.ascontiguousarray(phi + np.zeros(1, phi.dtype))  # -0.0 becomes 0.0
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _counted(labels: Int64[np.ndarray, "N"], asked: int, inertia: float) -> Clusters:
    sizes = np.bincount(labels, minlength=asked)
    formed = int((sizes > 0).sum())
    singletons = int((sizes == 1).sum())
    return Clusters(labels, asked, formed, asked - formed, singletons, inertia)
