"""Passes over the rows on the CPU: float32 BLAS, blocks of rows by tiles of centroids.

No product of all rows and all centroids is ever held, and the rows stay 16-bit
integers outside a block. Blocks run on Python threads, and BLAS should have one thread
in each. Every number is an exact integer and every block writes its own rows, so blocks
and threads change nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from jaxtyping import Float32, Int16, Int32, Int64
from scipy import sparse

from routejax.selection.clustering.exact import (
    WORST,
    Centroids,
    Gaps,
    Labels,
    Tile,
    full_score,
    squared_lengths,
    tile,
)

_TILE = 512  # centroids: with _STRIP rows a product of 2 MB, the fastest of nine shapes
_STRIP = 1024

Best = tuple[Int32[np.ndarray, "n"], Int32[np.ndarray, "n"]]  # scores, ids
Owners = Int32[np.ndarray, "K"]


class Blocks:
    """Rows of a pool, and the passes over them that `two_level` asks for."""

    def __init__(
        self, rows: Int16[np.ndarray, "N R"], batch: int, threads: int
    ) -> None:
        self.rows = rows
        self.threads = threads
        self.batch = max(1, min(batch, -(-len(rows) // threads)))
        self.squares = np.empty(len(rows), np.int32)
        self.cells = 0
        self.probes = np.empty((len(rows), 0), np.int16)
        self._each(self._measure)

    def probe(self, cells: Centroids, count: int) -> tuple[Labels, Gaps]:
        """The nearest cell of every row and its squared distance.

        From now on the `count` nearest cells of every row are its own, to which
        `nearest` can be limited; ties go to the lowest cell.
        """
        self.cells = len(cells)
        whole = tile(cells, np.arange(self.cells))
        self.probes = np.empty((len(self.rows), count), np.int16)
        gaps = np.empty(len(self.rows), np.int32)

        def work(block: slice) -> None:
            for strip in _strips(block):
                s = self._with_ones(strip) @ whole.columns
                at = np.arange(len(s))
                for place in range(count):
                    first = s.argmax(axis=1)
                    self.probes[strip, place] = whole.ids[first]
                    if place == 0:
                        scores = full_score(s[at, first], whole.odd[first])
                        gaps[strip] = self.squares[strip] - scores
                    s[at, first] = -np.inf

        self._each(work)
        return self.probes[:, 0].astype(np.int32), gaps

    def nearest(
        self, centroids: Centroids, owners: Owners | None = None
    ) -> tuple[Labels, Gaps]:
        """Every row's nearest centroid, ties to the first, and its squared distance.

        With `owners`, the cell of every centroid, only centroids of the row's own cells
        count; a row without such a centroid gets a negative distance.
        """
        if owners is None:
            parts = np.split(
                np.arange(len(centroids)), range(_TILE, len(centroids), _TILE)
            )
        else:
            parts = [np.flatnonzero(owners == cell) for cell in range(self.cells)]
        tiles = [tile(centroids, ids) for ids in parts]
        labels = np.empty(len(self.rows), np.int32)
        gaps = np.empty(len(self.rows), np.int32)
        find = self._among_all if owners is None else self._among_own

        def work(block: slice) -> None:
            scores, labels[block] = find(block, tiles)
            known = scores != WORST
            gaps[block] = np.where(known, self.squares[block] - scores, -1)

        self._each(work)
        return labels, gaps

    def sums(self, labels: Labels, k: int) -> Int64[np.ndarray, "K R"]:
        """The sum of the rows of each of k clusters."""
        total = np.zeros((k, self.rows.shape[1]), np.int64)
        for block in self._blocks():
            of = labels[block]
            ones = np.ones(len(of), np.int64)
            places = (of, np.arange(len(of)))
            members = sparse.csr_array((ones, places), shape=(k, len(of)))
            total += members @ self.rows[block].astype(np.int64)
        return total

    def _measure(self, block: slice) -> None:
        self.squares[block] = squared_lengths(self.rows[block])

    def _among_all(self, block: slice, tiles: list[Tile]) -> Best:
        best = _no_best(block.stop - block.start)
        for strip in _strips(block):
            rows = self._with_ones(strip)
            inside = slice(strip.start - block.start, strip.stop - block.start)
            for centroids in tiles:
                _improve(best, inside, _best_of(rows, centroids))
        return best

    def _among_own(self, block: slice, tiles: list[Tile]) -> Best:
        best = _no_best(block.stop - block.start)
        rows = self._with_ones(block)
        probes = self.probes[block]
        by_cell = np.argsort(probes, axis=None, kind="stable") // probes.shape[1]
        ends = np.cumsum(np.bincount(probes.ravel(), minlength=len(tiles)))
        for inside, centroids in zip(np.split(by_cell, ends[:-1]), tiles, strict=True):
            if len(inside) and len(centroids.ids):
                _improve(best, inside, _best_of(rows[inside], centroids))
        return best

    def _with_ones(self, block: slice) -> Float32[np.ndarray, "n features"]:
        rows = self.rows[block]
        out = np.ones((len(rows), rows.shape[1] + 1), np.float32)
        out[:, :-1] = rows
        return out

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self.rows), self.batch):
            yield slice(start, min(start + self.batch, len(self.rows)))

    def _each(self, work: Callable[[slice], None]) -> None:
        run_all(work, self._blocks(), self.threads)


def run_all(work: Callable, items: Iterable, threads: int) -> None:
    """Calls work(item) for every item, several at a time."""
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, items):
            pass


def _strips(block: slice) -> Iterator[slice]:
    for start in range(block.start, block.stop, _STRIP):
        yield slice(start, min(start + _STRIP, block.stop))


def _no_best(count: int) -> Best:
    return np.full(count, WORST, np.int32), np.zeros(count, np.int32)


def _best_of(rows: Float32[np.ndarray, "n features"], centroids: Tile) -> Best:
    s = rows @ centroids.columns
    first = s.argmax(axis=1)
    largest = s[np.arange(len(s)), first]
    return full_score(largest, centroids.odd[first]), centroids.ids[first]


def _improve(
    best: tuple[np.ndarray, np.ndarray], where: slice | np.ndarray, found: Best
) -> None:
    """Writes what was found over the best so far where it wins; ties to lower ids."""
    scores, ids = best[0][where], best[1][where]
    better = (found[0] > scores) | ((found[0] == scores) & (found[1] < ids))
    best[0][where] = np.where(better, found[0], scores)
    best[1][where] = np.where(better, found[1], ids)
