"""Paths of board cells: steps, strolls, loops, and the small sums features are made of.

A step leads from one cell of a path to the next; one of length 1 (Manhattan distance)
goes up, down, left or right, and a longer one is a jump. A stroll is a longest stretch
of steps of length 1. Nothing here depends on where the board's origin lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import log, log1p
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from routejax.fingerprints.sokoban_notation import Cell

WAYS = ("up", "down", "left", "right", "jump")
JUMP = 4


class Path(NamedTuple):
    """A path of n cells over k distinct ones, numbered by their first visit.

    `ways` are numbers of `WAYS` and `lengths` Manhattan distances, both of the n − 1
    steps; `strolls` are (first, last) places of cells, with one step or more between.
    """

    cells: Int[np.ndarray, "n 2"]
    visits: Int[np.ndarray, "n"]
    distinct: Int[np.ndarray, "k 2"]
    ways: Int[np.ndarray, "n-1"]
    lengths: Int[np.ndarray, "n-1"]
    strolls: list[tuple[int, int]]

    @property
    def is_new(self) -> Bool[np.ndarray, "n"]:
        """Whether each place is the first visit of its cell."""
        seen = np.maximum.accumulate(self.visits) if len(self.visits) else self.visits
        return np.diff(seen, prepend=-1) > 0

    @property
    def walked(self) -> int:
        """Steps of length 1."""
        return int((self.lengths == 1).sum())


def path(walk: Sequence[Cell]) -> Path:
    """The path through cells of which no two neighbours are equal."""
    cells = np.array(walk, np.int64).reshape(-1, 2)
    numbers: dict[Cell, int] = {}
    visits = [numbers.setdefault(cell, len(numbers)) for cell in walk]
    steps = np.diff(cells, axis=0)
    lengths = np.abs(steps).sum(axis=1)
    return Path(
        cells,
        np.array(visits, np.int64),
        np.array(list(numbers), np.int64).reshape(-1, 2),
        way_numbers(steps),
        lengths,
        stretches(lengths == 1),
    )


def way_numbers(steps: Int[np.ndarray, "n 2"]) -> Int[np.ndarray, "n"]:
    """The number of each step's way in `WAYS`."""
    down, right = steps[:, 0], steps[:, 1]
    unit = np.abs(down) + np.abs(right) == 1
    vertical, horizontal = np.where(down < 0, 0, 1), np.where(right < 0, 2, 3)
    return np.where(unit, np.where(down != 0, vertical, horizontal), JUMP)


def stretches(flags: Bool[np.ndarray, "n"]) -> list[tuple[int, int]]:
    """Start and end of each longest run of true flags."""
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def reversed_way(ways: Int[np.ndarray, "n"]) -> Int[np.ndarray, "n"]:
    """Up for down, left for right."""
    return ways ^ 1


def loops(visits: Sequence[int]) -> list[int]:
    """Lengths of the loops that are cut out of a stroll as it closes them, in order.

    A loop is closed by coming back to a cell that is still part of the path; its steps
    are cut out and the path goes on from there (loop erasure). Loops of length 2 are
    steps retraced at once; real loops have four steps or more.
    """
    place: dict[int, int] = {}
    kept: list[int] = []
    found = []
    for cell in visits:
        if cell in place:
            found.append(len(kept) - place[cell])
            for gone in kept[place[cell] + 1 :]:
                del place[gone]
            del kept[place[cell] + 1 :]
        else:
            place[cell] = len(kept)
            kept.append(cell)
    return found


def run_lengths(values: Iterable[object]) -> list[int]:
    """Lengths of the runs of equal values, in order."""
    return [sum(1 for _ in run) for _, run in groupby(values)]


def share(part: float, whole: float) -> float:
    """part / whole; 0 where there is nothing."""
    return float(part) / float(whole) if whole else 0.0


def log_mean(values: Sequence[float] | Int[np.ndarray, "n"]) -> float:
    """log(1 + mean); 0 for none."""
    return log1p(float(sum(values)) / len(values)) if len(values) else 0.0


def log_most(values: Sequence[float] | Int[np.ndarray, "n"]) -> float:
    """log(1 + greatest); 0 for none."""
    return log1p(float(max(values))) if len(values) else 0.0


def per_word(hits: int, words: int) -> float:
    """log(1 + 1000 · hits / words), as the densities of other families."""
    return log1p(1000 * hits / max(1, words))


def earliness(first: int | None, characters: int) -> float:
    """Share of the text that lies after the first of something; 0 without one."""
    return 0.0 if first is None else 1 - first / max(1, characters)


def evenness(counts: Int[np.ndarray, "k"]) -> float:
    """Entropy of counts over that of even ones; 0 for fewer than two."""
    if len(counts) < 2:
        return 0.0
    shares = counts[counts > 0] / max(1, counts.sum())
    return float(abs((shares * np.log(shares)).sum())) / log(len(counts))


def row_shares(counts: Int[np.ndarray, "a b"]) -> Float[np.ndarray, "a b"]:
    """Counts over the sum of their row; a row of zeros stays zero."""
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
