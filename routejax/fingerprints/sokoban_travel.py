"""First group of Sokoban signatures: how a trace travels over the board (A.7).

The habits are the paper's: straight to a target, backtracking, loops, returns to one
central cell. How each is measured is our choice. Strolls, loops and jumps are those of
`sokoban_path`; what the walk covers is in `sokoban_cover`.
"""

from __future__ import annotations

from itertools import groupby
from math import log1p

import numpy as np
from jaxtyping import Bool, Int

from routejax.fingerprints.sokoban_path import (
    Path,
    log_mean,
    loops,
    per_word,
    reversed_way,
    share,
)
from routejax.fingerprints.sokoban_read import Reading

TABLE = {
    # Extent.
    "log_cells": "log(1 + cells of the walk)",
    "log_moves": "log(1 + moves described, walked or not)",
    "denied": "share of described moves that are denied",
    "places": "directions that only say where something is, per word",
    "log_strolls": "log(1 + strolls)",
    "log_mean_stroll": "log(1 + mean steps of a stroll)",
    "longest_stroll": "share of the walked steps in the longest stroll",
    # Straight to a target.
    "directness": "distance between the ends of strolls over their steps",
    "direct_strolls": "share of strolls of 3 steps or more that are shortest ways",
    "one_line": "share of strolls of 3 steps or more along one line",
    "to_target": "share of strolls of 2 steps or more that end on or beside a box or "
    "goal",
    "direct_to_target": "share of strolls of 2 steps or more that end so by a shortest "
    "way",
    "straight_on": "share of the turns between walked steps that keep the direction",
    "quarter_turns": "share of the turns between walked steps by a right angle",
    "staircase": "share of steps between two right angles that cancel each other",
    # Backtracking.
    "reversals": "share of the turns between walked steps by half a turn",
    "retraced": "share of the walked steps that are taken back or take back",
    "longest_retreat": "longest run of steps taken back over the walked steps",
    # Loops.
    "log_loops": "log(1 + loops of four steps or more)",
    "loop_steps": "share of the walked steps in such loops",
    "log_mean_loop": "log(1 + mean steps of such a loop)",
    "closed_strolls": "share of strolls of 4 steps or more that end where they began",
    # A central cell.
    "home_visits": "share of the walk on its most visited cell, if it is visited again",
    "log_home_returns": "log(1 + returns to that cell)",
    "log_excursion": "log(1 + mean steps between two visits of it)",
    "home_centrality": "1 − its distance from the middle of the walk over the greatest",
    "start_returns": "share of the walk's later cells that are its first cell",
}


def travel(reading: Reading, walk: Path) -> dict[str, float]:
    """The values of `TABLE`."""
    return {
        **_extent(reading, walk),
        **_strolls(reading, walk),
        **_turns(walk),
        **_loops(walk),
        **_home(walk),
    }


def _extent(reading: Reading, walk: Path) -> dict[str, float]:
    steps = [b - a for a, b in walk.strolls]
    moves = sum(len(moves.ways) for moves in reading.moves)
    denied = sum(len(m.ways) for m in reading.moves if m.state == "denied")
    return {
        "log_cells": log1p(len(walk.cells)),
        "log_moves": log1p(moves),
        "denied": share(denied, moves),
        "places": per_word(reading.places, reading.words),
        "log_strolls": log1p(len(steps)),
        "log_mean_stroll": log_mean(steps),
        "longest_stroll": share(max(steps, default=0), walk.walked),
    }


def _strolls(reading: Reading, walk: Path) -> dict[str, float]:
    ends = np.array(walk.strolls, np.int64).reshape(-1, 2)
    steps = ends[:, 1] - ends[:, 0]
    apart = np.abs(walk.cells[ends[:, 1]] - walk.cells[ends[:, 0]])
    shortest = apart.sum(axis=1) == steps
    some, more, four = steps >= 2, steps >= 3, steps >= 4
    there = beside(walk.cells[ends[:, 1]], reading)
    return {
        "directness": share(apart.sum(), steps.sum()),
        "direct_strolls": share((more & shortest).sum(), more.sum()),
        "one_line": share(
            (more & shortest & (apart == 0).any(axis=1)).sum(), more.sum()
        ),
        "to_target": share((some & there).sum(), some.sum()),
        "direct_to_target": share((some & there & shortest).sum(), some.sum()),
        "closed_strolls": share((four & (apart.sum(axis=1) == 0)).sum(), four.sum()),
    }


def beside(cells: Int[np.ndarray, "n 2"], reading: Reading) -> Bool[np.ndarray, "n"]:
    """Whether each cell is, or touches, one that is named as a box or a goal."""
    near = {
        (row + down, column + right)
        for row, column in {n.cell for n in reading.named if n.role in ("box", "goal")}
        for down, right in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
    }
    return np.array([(r, c) in near for r, c in cells.tolist()], bool)


def _turns(walk: Path) -> dict[str, float]:
    """Turns between two steps of length 1, and steps with a turn at both ends."""
    before, after = walk.ways[:-1], walk.ways[1:]
    both = (before < 4) & (after < 4)
    count = both.sum()
    back = both & (after == reversed_way(before))
    quarter = both & (after != before) & ~back
    stairs = quarter[:-1] & quarter[1:] & (walk.ways[:-2] == walk.ways[2:])
    return {
        "straight_on": share((both & (after == before)).sum(), count),
        "quarter_turns": share(quarter.sum(), count),
        "reversals": share(back.sum(), count),
        "staircase": share(stairs.sum(), walk.walked),
    }


def _loops(walk: Path) -> dict[str, float]:
    """By loop erasure within each stroll."""
    visits = walk.visits.tolist()
    found = [loops(visits[a : b + 1]) for a, b in walk.strolls]
    lengths = [length for one in found for length in one]
    real = [length for length in lengths if length >= 4]
    retreats = [
        sum(1 for _ in run)
        for one in found
        for length, run in groupby(one)
        if length == 2
    ]
    return {
        "retraced": share(2 * lengths.count(2), walk.walked),
        "longest_retreat": share(max(retreats, default=0), walk.walked),
        "log_loops": log1p(len(real)),
        "loop_steps": share(sum(real), walk.walked),
        "log_mean_loop": log_mean(real),
    }


def _home(walk: Path) -> dict[str, float]:
    """About the most visited cell, the first of several; zeros if none is revisited."""
    counts = np.bincount(walk.visits)
    if not len(counts) or counts.max() < 2:
        names = ("home_visits", "log_home_returns", "log_excursion", "home_centrality")
        return dict.fromkeys((*names, "start_returns"), 0.0)
    home = int(counts.argmax())
    at = np.flatnonzero(walk.visits == home)
    away = np.abs(walk.distinct - walk.distinct.mean(axis=0)).sum(axis=1)
    return {
        "home_visits": share(counts[home], len(walk.visits)),
        "log_home_returns": log1p(counts[home] - 1),
        "log_excursion": log_mean(np.diff(at)),
        "home_centrality": 1 - share(away[home], away.max()),
        "start_returns": share(counts[0] - 1, len(walk.visits) - 1),
    }
