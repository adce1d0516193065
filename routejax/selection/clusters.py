"""k-means by one of three engines; every row ends at its nearest centroid (paper A.2).

* `sklearn`: scikit-learn's MiniBatchKMeans, the paper's own (C.2).
* `cpu`: two levels of k-means on exact integers, with BLAS on blocks (`clustering`).
* `jax`: the same clusters as `cpu`, bit for bit, on the devices of this process.

`sklearn` is the reference for what the paper did; `cpu` and `jax` are another algorithm
with the same aim, a lower inertia at a small part of the time, and one answer on every
machine.
"""

import importlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, Num
from threadpoolctl import threadpool_info, threadpool_limits

from routejax.errors import UserError
from routejax.selection.clustering.blocks import Blocks
from routejax.selection.clustering.library import assign, fitted
from routejax.selection.clustering.two_level import Passes, two_level
from routejax.selection.grid import LIMIT

_CHECKED_ROWS = 65_536  # rows looked at together by the checks


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
    """Clusters of grid rows (integers: exact) or, by `sklearn` alone, of float32 rows.

    Centroids of grid rows are rounded to the grid (our choice), then every row goes to
    its nearest centroid, ties to the lowest cluster index. Where at most k rows are
    distinct, each distinct row is a cluster, in order of first appearance, and the
    clusters beyond that stay empty. Otherwise `cpu` and `jax` leave no cluster empty,
    and `sklearn` may.

    Args:
        phi: the rows, all finite.
        k: clusters to ask for.
        seed: of the engine.
        n_init: initialisations, of which the best is refined. `cpu` and `jax` make as
            many coarse partitions of sqrt(k) cells, each from a sample of its own.
        max_iter: passes over the rows at most. `sklearn` counts mini-batches, N / batch
            of them to a pass; `cpu` and `jax` stop earlier where a pass lowers the
            inertia by less than 0.05 %.
        batch: rows of a mini-batch, at most N. `cpu` and `jax` use every row in every
            pass; to them it is the rows held as float32 at a time, which limits memory
            and changes nothing else.
        engine: a name in `ENGINES`.

    Raises:
        UserError: k not in 1..N, an engine that does not exist or cannot take such
            rows, a number below one, or a row with a value that is not finite or, on
            `cpu` and `jax`, with |q|^2 above 2^24.
    """
    if not 1 <= k <= len(phi):
        raise UserError(f"k must be in 1..{len(phi)} (rows), got {k}")
    if engine not in ENGINES:
        raise UserError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    for name, value in (("n_init", n_init), ("max_iter", max_iter), ("batch", batch)):
        if value < 1:
            raise UserError(f"{name} must be at least 1, got {value}")
    if seed < 0:
        raise UserError(f"seed must be at least 0, got {seed}")
    _check_finite(phi)
    if engine != "sklearn":
        _check_grid(phi, engine)
    if not _surely_more_distinct(phi, k):
        distinct = _distinct_labels(phi)
        if distinct.max() < k:
            return _counted(distinct, k, 0.0)
    labels, inertia = ENGINES[engine](phi, k, Fit(seed, n_init, max_iter, batch))
    return _counted(labels, k, inertia)


Found = tuple[Int64[np.ndarray, "N"], float]  # labels, inertia


def _sklearn(phi: Num[np.ndarray, "N R"], k: int, fit: Fit) -> Found:
    centroids = fitted(phi, k, **fit._asdict()).astype(np.float64)
    return assign(phi, np.rint(centroids) if _on_grid(phi) else centroids)


def _cpu(phi: Num[np.ndarray, "N R"], k: int, fit: Fit) -> Found:
    return _two_level(phi, k, fit, Blocks)


def _jax(phi: Num[np.ndarray, "N R"], k: int, fit: Fit) -> Found:
    # Loaded on demand: the other engines run where jax is not wanted.
    sharded = importlib.import_module("routejax.selection.clustering.sharded")
    return _two_level(phi, k, fit, sharded.Shards)


def _two_level(
    phi: Num[np.ndarray, "N R"],
    k: int,
    fit: Fit,
    passes: Callable[[np.ndarray, int, int], Passes],
) -> Found:
    rows = phi.astype(np.int16, copy=False)
    pools = (pool for pool in threadpool_info() if pool["user_api"] == "blas")
    threads = max((pool["num_threads"] for pool in pools), default=1)
    with threadpool_limits(limits=1):  # more only wait for each other: small products
        labels, gaps = two_level(
            rows,
            k,
            passes(rows, fit.batch, threads),
            seed=fit.seed,
            n_init=fit.n_init,
            max_iter=fit.max_iter,
            threads=threads,
        )
    return labels.astype(np.int64), float(gaps.sum(dtype=np.int64))


Engine = Callable[[np.ndarray, int, Fit], Found]
ENGINES: dict[str, Engine] = {"sklearn": _sklearn, "cpu": _cpu, "jax": _jax}


def _on_grid(phi: Num[np.ndarray, "N R"]) -> bool:
    return np.issubdtype(phi.dtype, np.integer)


def _check_finite(phi: Num[np.ndarray, "N R"]) -> None:
    if _on_grid(phi):
        return
    for start in range(0, len(phi), _CHECKED_ROWS):
        wrong = np.argwhere(~np.isfinite(phi[start : start + _CHECKED_ROWS]))
        if len(wrong):
            row, column = start + int(wrong[0, 0]), int(wrong[0, 1])
            raise UserError(
                f"phi must be finite, got {phi[row, column]} in row {row}, "
                f"column {column}"
            )


def _check_grid(phi: Num[np.ndarray, "N R"], engine: str) -> None:
    if not _on_grid(phi):
        raise UserError(
            f"engine {engine!r} clusters grid rows (integers, see to_grid), got "
            f"{phi.dtype}; use engine 'sklearn' or precision 'exact'"
        )
    for start in range(0, len(phi), _CHECKED_ROWS):
        rows = phi[start : start + _CHECKED_ROWS].astype(np.float64)
        squares = np.einsum("ij,ij->i", rows, rows)
        if squares.max() > LIMIT:
            row = int((squares > LIMIT).argmax())
            raise UserError(
                f"grid rows must have |q|^2 <= 2^24, got {squares[row]:.0f} in row "
                f"{start + row}; see to_grid"
            )


def _surely_more_distinct(phi: Num[np.ndarray, "N R"], k: int) -> bool:
    """Whether a hash shows more than k distinct grid rows, without sorting rows."""
    if not _on_grid(phi):
        return False
    stream = np.random.Generator(np.random.PCG64(0))
    weights = stream.integers(0, 2**63, phi.shape[1])
    hashes = np.empty(len(phi), np.int64)
    for start in range(0, len(phi), _CHECKED_ROWS):
        block = slice(start, start + _CHECKED_ROWS)
        hashes[block] = phi[block].astype(np.int64) @ weights  # wraps around
    return len(np.unique(hashes)) > k


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
