"""k-means on grid rows: seeds in cells, passes among near cells, one full pass.

1. Cells: about sqrt(k) centroids of a sample, by k-means++ and Lloyd's iterations.
2. Seeds: every cell gets a share of the k by its sum of squared distances, and chooses
   its seeds among its rows by k-means++.
3. Refinement: Lloyd's iterations over all rows, in which a row is compared with the
   centroids of its 8 nearest cells only. At k = 40,000 that is 1/25 of a full pass, and
   the answer is within 0.2 % of full passes in inertia.
4. One full pass. Clusters it leaves empty start anew at the farthest rows, until none
   is empty.

All numbers are integers and all draws come from the seed on the host, so whatever
computes the passes finds the same clusters. Left out: mini-batches, which at two rows
per cluster and batch converge more slowly than these passes.
"""

import heapq
import math
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int16, Int64

from routejax.selection.clustering.blocks import Blocks, Owners, run_all
from routejax.selection.clustering.exact import (
    Centroids,
    Gaps,
    Labels,
    farthest_rows,
    means,
)
from routejax.selection.seeding import plusplus

PROBES = 8
_SAMPLE = 256  # rows per cell that the cells are made from
_CELL_PASSES = 10
_LEAST_GAIN = 2000  # ends where a pass lowers the inertia by under 1/2000 of it

Grid16 = Int16[np.ndarray, "N R"]


@runtime_checkable
class Passes(Protocol):
    """What computes the passes over the rows; see `blocks.Blocks`."""

    def probe(self, cells: Centroids, count: int) -> tuple[Labels, Gaps]: ...

    def nearest(
        self, centroids: Centroids, owners: Owners | None = None
    ) -> tuple[Labels, Gaps]: ...

    def sums(self, labels: Labels, k: int) -> Int64[np.ndarray, "K R"]: ...


def two_level(
    rows: Grid16,
    k: int,
    passes: Passes,
    *,
    seed: int,
    n_init: int,
    max_iter: int,
    threads: int,
) -> tuple[Labels, Gaps]:
    """The cluster of every row and its squared distance to the centroid.

    No cluster is empty where at least k rows are distinct.

    Args:
        rows: with |q|^2 <= 2^24.
        k: clusters, at most N.
        passes: over the same rows.
        seed: of every draw.
        n_init: samples to make cells from, of which the best cells are used.
        max_iter: passes of the refinement at most.
        threads: of what is computed on the host.
    """
    cells = _cells(rows, math.isqrt(k), seed, n_init, threads)
    cell_of, gaps = passes.probe(cells, min(PROBES, len(cells)))
    shares = seed_shares(cell_of, gaps, k, len(cells))
    centroids = _seeds(rows, cell_of, shares, seed, threads)
    before = None
    for _ in range(max_iter):
        owners = Blocks(centroids, len(centroids), threads).nearest(cells)[0]
        labels, gaps = passes.nearest(centroids, owners)
        _find_strays(rows, centroids, labels, gaps, threads)
        centroids = _moved(rows, centroids, labels, gaps, passes)
        inertia = int(gaps.sum(dtype=np.int64))
        if before is not None and (before - inertia) * _LEAST_GAIN < before:
            break
        before = inertia
    return _without_empty(rows, k, *passes.nearest(centroids), passes)


def seed_shares(
    cell_of: Labels, gaps: Gaps, k: int, cells: int
) -> Int64[np.ndarray, "cells"]:
    """Seeds of each cell, k in all, in proportion to the sum of its squared distances.

    A cell with rows has at least one seed and at most its rows. Beyond the first, a
    seed goes to the cell with the largest sum per seed it has (d'Hondt), ties to the
    lowest cell.
    """
    sizes = np.bincount(cell_of, minlength=cells)
    costs = np.bincount(cell_of, weights=gaps, minlength=cells)
    shares = (sizes > 0).astype(np.int64)
    heap = [(-costs[cell], cell) for cell in np.flatnonzero(sizes > 1)]
    heapq.heapify(heap)
    for _ in range(k - int(shares.sum())):
        _, cell = heap[0]
        shares[cell] += 1
        if shares[cell] < sizes[cell]:
            heapq.heapreplace(heap, (-costs[cell] / shares[cell], cell))
        else:
            heapq.heappop(heap)
    return shares


def _cells(rows: Grid16, count: int, seed: int, n_init: int, threads: int) -> Centroids:
    """Of n_init samples the cells that fit their own sample best, ties to the first."""
    found = []
    for start in range(n_init):
        stream = np.random.PCG64([seed, 0, start])
        order = np.random.Generator(stream).permutation(len(rows))
        sample = rows[np.sort(order[: _SAMPLE * count])]
        picks = plusplus(sample.astype(np.float32), count, _stream(seed, 1, start))
        passes = Blocks(sample, len(sample), threads)
        cells = sample[picks]
        for _ in range(_CELL_PASSES):
            labels, gaps = passes.nearest(cells)
            cells = _moved(sample, cells, labels, gaps, passes)
        found.append((int(gaps.sum(dtype=np.int64)), start, cells))
    return min(found, key=lambda one: one[:2])[2]


def _seeds(
    rows: Grid16,
    cell_of: Labels,
    shares: Int64[np.ndarray, "cells"],
    seed: int,
    threads: int,
) -> Centroids:
    """Rows to start from, cell after cell."""
    by_cell = np.argsort(cell_of, kind="stable")
    ends = np.cumsum(np.bincount(cell_of, minlength=len(shares)))
    starts = np.cumsum(shares) - shares
    picked = np.empty(int(shares.sum()), np.int64)

    def work(cell: int) -> None:
        inside = by_cell[ends[cell - 1] if cell else 0 : ends[cell]]
        stream = _stream(seed, 2, cell)
        picks = plusplus(rows[inside].astype(np.float32), int(shares[cell]), stream)
        picked[starts[cell] : starts[cell] + shares[cell]] = inside[picks]

    run_all(work, np.flatnonzero(shares).tolist(), threads)
    return rows[picked]


def _stream(seed: int, use: int, number: int) -> np.random.RandomState:
    return np.random.RandomState(np.random.PCG64([seed, use, number]))


def _find_strays(
    rows: Grid16, centroids: Centroids, labels: Labels, gaps: Gaps, threads: int
) -> None:
    """Compares rows in whose cells no centroid lies with all centroids, in place."""
    strays = np.flatnonzero(gaps < 0)
    if len(strays):
        near = Blocks(rows[strays], len(strays), threads).nearest(centroids)
        labels[strays], gaps[strays] = near


def _moved(
    rows: Grid16, centroids: Centroids, labels: Labels, gaps: Gaps, passes: Passes
) -> Centroids:
    """The means of the clusters; empty ones move to `farthest_rows`, or stay."""
    counts = np.bincount(labels, minlength=len(centroids))
    filled = counts > 0
    new = centroids.copy()
    new[filled] = means(passes.sums(labels, len(centroids))[filled], counts[filled])
    empty = np.flatnonzero(~filled)
    far = farthest_rows(labels, gaps, len(empty))
    new[empty[: len(far)]] = rows[far]
    return new


def _without_empty(
    rows: Grid16, k: int, labels: Labels, gaps: Gaps, passes: Passes
) -> tuple[Labels, Gaps]:
    """The same assignment where no cluster is empty, else with clusters at far rows.

    Only the new centroids are compared, which is exact: the old centroid of an empty
    cluster was nobody's nearest. Every round lowers the inertia, an integer, so there
    is a last one. Then no cluster is empty, or every row lies on its centroid.
    """
    while True:
        empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
        far = farthest_rows(labels, gaps, len(empty))
        if not len(far):
            return labels, gaps
        ids = empty[: len(far)].astype(np.int32)
        nearest, new_gaps = passes.nearest(rows[far])
        new = ids[nearest]
        better = (new_gaps < gaps) | ((new_gaps == gaps) & (new < labels))
        labels = np.where(better, new, labels)
        gaps = np.where(better, new_gaps, gaps)
