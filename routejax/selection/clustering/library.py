"""scikit-learn's MiniBatchKMeans, and a final assignment that is one exact pass.

What is exact and what is not: on grid rows, k-means++ and the final pass are exact. The
mini-batch steps are float32 and the stopping rule reads a sum that depends on the
number of threads, so the fit runs on one thread: the same processor then gives the same
centroids whatever the number of threads. Another kind of processor may round a step
differently, which rounding the centroids to the grid often hides but cannot rule out.
"""

from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64, Num
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from routejax.selection.seeding import plusplus

_PASS_ENTRIES = 4_000_000  # entries of one block of the rows-by-centroids product


def fitted(
    phi: Num[np.ndarray, "N R"],
    k: int,
    *,
    seed: int,
    n_init: int,
    max_iter: int,
    batch: int,
) -> Float32[np.ndarray, "K R"]:
    """Centroids by MiniBatchKMeans, the paper's own; seeds from min(N, 3 batch) rows.

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
        "init": seeds if np.issubdtype(phi.dtype, np.integer) else "k-means++",
        "n_init": n_init,
        "max_iter": max_iter,
        "batch_size": batch,
        "random_state": seed,
        "compute_labels": False,
    }
    with threadpool_limits(limits=1):
        estimator = MiniBatchKMeans(k, **options).fit(phi.astype(np.float32))
    return np.asarray(estimator.cluster_centers_)


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
