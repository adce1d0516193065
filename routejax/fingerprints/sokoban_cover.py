"""First group of Sokoban signatures, second part: which cells a trace covers (A.7).

The habits are the paper's: cells listed along a row or a column, a corridor, the sweep
of a room, outward spread from a start. How each is measured is our choice. Lists are
measured on the cells in the order they are named, the rest on the walk.
"""

from __future__ import annotations

from math import log1p

import numpy as np
from jaxtyping import Int

from routejax.fingerprints.sokoban_path import (
    Path,
    log_most,
    path,
    per_word,
    run_lengths,
    share,
    stretches,
)
from routejax.fingerprints.sokoban_read import Reading

TABLE = {
    # Along a row or a column.
    "row_lists": "share of named cells in runs of 3 or more along a row",
    "column_lists": "share of named cells in runs of 3 or more along a column",
    "log_row_list": "log(1 + cells of the longest run along a row)",
    "log_column_list": "log(1 + cells of the longest run along a column)",
    "reading_order": "share of named cells that follow their neighbour on the left or "
    "begin the next row",
    # A corridor.
    "corridor_cells": "share of the distinct walked cells with two walked neighbours",
    "log_corridor": "log(1 + longest stretch of a stroll through new such cells)",
    "corridor_words": "words for narrow ways, per word",
    # The sweep of a room.
    "fill": "distinct cells of the walk over the rectangle around them; 0 for a line",
    "room_cells": "share of distinct cells in a full square of 2 × 2 visited cells",
    "lanes": "share of the walked steps in lanes walked to and fro side by side",
    "scan_words": "words for going cell by cell or row by row, per word",
    # Outward spread.
    "outward": "share of the walk's steps away from its first cell",
    "inward": "share of the walk's steps towards its first cell",
    "log_reach": "log(1 + greatest distance from the first cell)",
    "layered": "share of new cells as far from the first cell as the new cell before, "
    "or one farther",
    "fans": "share of named cells that are followed by three of their neighbours",
    "reach_words": "words for reach and neighbours, per word",
}


def cover(reading: Reading, walk: Path) -> dict[str, float]:
    """The values of `TABLE`."""
    named = path_of_named(reading)
    return {
        **_lists(named),
        **_corridor(reading, walk),
        **_sweep(reading, walk),
        **_spread(reading, walk, named),
    }


def path_of_named(reading: Reading) -> Path:
    """The path through the named cells, immediate repetitions taken as one."""
    cells = [named.cell for named in reading.named]
    kept = [c for i, c in enumerate(cells) if i == 0 or c != cells[i - 1]]
    return path(kept)


def _lists(named: Path) -> dict[str, float]:
    """Runs of named cells that keep one direction, a step at a time."""
    runs = []
    for start, end in named.strolls:
        ways = named.ways[start:end].tolist()
        at = 0
        for length in run_lengths(ways):
            runs.append((ways[at] >= 2, length + 1))
            at += length
    rows = [cells for along, cells in runs if along and cells >= 3]
    columns = [cells for along, cells in runs if not along and cells >= 3]
    steps = np.diff(named.cells, axis=0)
    reads = (steps[:, 0] == 0) & (steps[:, 1] == 1)
    breaks = (steps[:, 0] == 1) & (steps[:, 1] < 0)
    return {
        "row_lists": min(1.0, share(sum(rows), len(named.cells))),
        "column_lists": min(1.0, share(sum(columns), len(named.cells))),
        "log_row_list": log_most(rows),
        "log_column_list": log_most(columns),
        "reading_order": share((reads | breaks).sum(), len(named.cells)),
    }


def neighbours(walk: Path) -> Int[np.ndarray, "k"]:
    """How many neighbours of each distinct cell the walk steps to or from."""
    unit = walk.lengths == 1
    a, b = walk.visits[:-1][unit], walk.visits[1:][unit]
    pairs = np.unique(np.stack([np.minimum(a, b), np.maximum(a, b)], axis=1), axis=0)
    return np.bincount(pairs.ravel(), minlength=len(walk.distinct))


def _corridor(reading: Reading, walk: Path) -> dict[str, float]:
    two = neighbours(walk) == 2
    fresh = walk.is_new & two[walk.visits]
    steps = fresh[1:] & fresh[:-1] & (walk.lengths == 1)
    longest = max((b - a for a, b in stretches(steps)), default=0)
    words = len(reading.cues.get("corridor", ()))
    return {
        "corridor_cells": share(two.sum(), len(two)),
        "log_corridor": log1p(longest),
        "corridor_words": per_word(words, reading.words),
    }


def _sweep(reading: Reading, walk: Path) -> dict[str, float]:
    cells = {(row, column) for row, column in walk.distinct.tolist()}
    squares = [
        ((r, c), (r + 1, c), (r, c + 1), (r + 1, c + 1))
        for r, c in cells
        if {(r + 1, c), (r, c + 1), (r + 1, c + 1)} <= cells
    ]
    height, width = _extents(walk)
    area = height * width if min(height, width) > 1 else 0
    words = len(reading.cues.get("scan", ()))
    return {
        "fill": share(len(cells), area),
        "room_cells": share(len({c for s in squares for c in s}), len(cells)),
        "lanes": share(_lane_steps(walk), walk.walked),
        "scan_words": per_word(words, reading.words),
    }


def _extents(walk: Path) -> tuple[int, int]:
    """Height and width of the rectangle around the walk; 0 without cells."""
    if not len(walk.distinct):
        return 0, 0
    height, width = np.ptp(walk.distinct, axis=0) + 1
    return int(height), int(width)


def _lane_steps(walk: Path) -> int:
    """Steps in lanes of two steps or more, each parted from the next by one step aside
    and walked the other way."""
    inside = 0
    for start, end in walk.strolls:
        ways = walk.ways[start:end].tolist()
        runs, at = [], 0
        for length in run_lengths(ways):
            runs.append((ways[at], length))
            at += length
        lanes = set()
        for i in range(len(runs) - 2):
            (way, one), (_, aside), (back, two) = runs[i : i + 3]
            if back == way ^ 1 and aside == 1 and min(one, two) >= 2:
                lanes |= {i, i + 2}
        inside += sum(runs[i][1] for i in lanes)
    return inside


def _spread(reading: Reading, walk: Path, named: Path) -> dict[str, float]:
    """Distances are Manhattan, from the first cell of the walk."""
    away = np.abs(walk.cells - walk.cells[:1]).sum(axis=1)
    change = np.diff(away)
    first = away[walk.is_new]
    further = np.diff(first)
    words = len(reading.cues.get("reach", ()))
    return {
        "outward": share((change > 0).sum(), len(change)),
        "inward": share((change < 0).sum(), len(change)),
        "log_reach": log_most(away),
        "layered": share(((further == 0) | (further == 1)).sum(), len(further)),
        "fans": _fans(named),
        "reach_words": per_word(words, reading.words),
    }


def _fans(named: Path) -> float:
    cells = named.cells
    if len(cells) < 4:
        return 0.0
    near = [
        np.abs(cells[ahead : len(cells) - 3 + ahead] - cells[: len(cells) - 3]).sum(
            axis=1
        )
        == 1
        for ahead in (1, 2, 3)
    ]
    return share(np.logical_and.reduce(near).sum(), len(cells))
