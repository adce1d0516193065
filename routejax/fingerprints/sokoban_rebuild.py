"""Third group of Sokoban signatures: how a trace rebuilds the board (A.7).

The habits are the paper's: repeats the same coordinates, re-reads walls or landmarks,
locates the objects, lists the state briefly, corrects an earlier reading. How each is
measured is our choice: by the cells it names, the boards it draws, the rows it speaks
of, and what it says (`sokoban_cues.REBUILD`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence
from itertools import pairwise
from math import log1p

import numpy as np

from routejax.fingerprints.sokoban_board import Board
from routejax.fingerprints.sokoban_cues import REBUILD
from routejax.fingerprints.sokoban_notation import Cell
from routejax.fingerprints.sokoban_path import (
    earliness,
    evenness,
    log_mean,
    per_word,
    share,
)
from routejax.fingerprints.sokoban_read import Named, Reading

NEAR = 8  # cells back in which a repetition is near
CHANGES = 6  # characters that one move changes in a drawn board, at most

TABLE = {
    # Coordinates again.
    "cells_per_word": "cells named, per word",
    "repeats": "share of named cells that were named before",
    "near_repeats": f"share of named cells among the {NEAR} named before",
    "at_once": "share of named cells that are the cell named just before",
    "most_named": "share of named cells that are the most named one, if named again",
    "pair_repeats": "share of pairs of neighbouring named cells that came before",
    "evenness": "entropy of the counts of named cells over that of even ones",
    # Drawn boards.
    "log_boards": "log(1 + boards drawn)",
    "log_rows": "log(1 + rows drawn)",
    "board_text": "share of the characters in drawn rows",
    "same_boards": "share of boards drawn before",
    "moved_boards": "share of boards that differ from the one before in 1 to "
    f"{CHANGES} places",
    "single_rows": "share of boards that are a single row",
    "early_board": "share of the text after the first board; 0 without one",
    "last_board": "share of the text up to the last board; 0 without one",
    # Rows and columns.
    "rows_per_word": "rows and columns spoken of by number, per word",
    "row_rereads": "share of such rows spoken of before",
    "rows_in_order": "share of such rows that are one on from the row before",
    # What it says.
    **{
        f"says_{name}": f"signs of '{what}', per word"
        for name, (what, _) in REBUILD.items()
    },
    # Walls and objects.
    "wall_repeats": "share of wall cells that were named as wall before",
    "player_stays": "share of player cells that are the player cell named before",
    "object_repeats": "share of box and goal cells named in the same role before",
    "log_roll_calls": "log(1 + times that player, box and goal come within 6 cells)",
    # The state in brief.
    "log_brief": "log(1 + clauses with cells of two of player, box and goal)",
    "brief": "share of the clauses that are such",
    "log_brief_words": "log(1 + mean words of such a clause)",
    # Corrections.
    "early_correct": "share of the text after the first sign of a correction",
    "late_correct": "share of the signs of correction in the second half of the text",
    "corrected_cells": "share of them followed by a cell of a role other than the last "
    "one named in it",
}


def rebuild(reading: Reading) -> dict[str, float]:
    """The values of `TABLE`."""
    return {
        **_coordinates(reading),
        **_boards(reading.boards, reading.characters),
        **_lines(reading),
        **_said(reading),
        **_objects(reading.named),
        **_brief(reading),
        **_corrections(reading),
    }


def _coordinates(reading: Reading) -> dict[str, float]:
    cells = [one.cell for one in reading.named]
    counts = Counter(cells)
    most = max(counts.values(), default=0)
    pairs = list(pairwise(cells))
    return {
        "cells_per_word": per_word(len(cells), reading.words),
        "repeats": share(sum(repeats(cells)), len(cells)),
        "near_repeats": share(_near(cells), len(cells)),
        "at_once": share(sum(a == b for a, b in pairs), len(cells)),
        "most_named": share(most if most > 1 else 0, len(cells)),
        "pair_repeats": share(sum(repeats(pairs)), len(pairs)),
        "evenness": evenness(np.array(list(counts.values()), np.int64)),
    }


def repeats(values: Sequence[object]) -> list[bool]:
    """Whether each value came before."""
    seen: set[object] = set()
    found = []
    for value in values:
        found.append(value in seen)
        seen.add(value)
    return found


def _near(cells: Sequence[Cell]) -> int:
    recent: deque[Cell] = deque(maxlen=NEAR)
    count = 0
    for cell in cells:
        count += cell in recent
        recent.append(cell)
    return count


def _boards(boards: Sequence[Board], characters: int) -> dict[str, float]:
    rows = [board.rows for board in boards]
    drawn = sum(len(row) for board in rows for row in board)
    moved = sum(_moved(a, b) for a, b in pairwise(rows))
    return {
        "log_boards": log1p(len(rows)),
        "log_rows": log1p(sum(map(len, rows))),
        "board_text": share(drawn, characters),
        "same_boards": share(sum(repeats(rows)), len(rows)),
        "moved_boards": share(moved, len(rows)),
        "single_rows": share(sum(len(board) == 1 for board in rows), len(rows)),
        "early_board": earliness(boards[0].at if boards else None, characters),
        "last_board": share(boards[-1].at, characters) if boards else 0.0,
    }


def _moved(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether two boards of one shape differ in few characters."""
    if [len(row) for row in before] != [len(row) for row in after]:
        return False
    changed = sum(
        a != b
        for one, two in zip(before, after, strict=True)
        for a, b in zip(one, two, strict=True)
    )
    return 1 <= changed <= CHANGES


def _lines(reading: Reading) -> dict[str, float]:
    rows = reading.rows
    on = sum(b - a == 1 for a, b in pairwise(rows))
    return {
        "rows_per_word": per_word(len(rows) + len(reading.columns), reading.words),
        "row_rereads": share(sum(repeats(rows)), len(rows)),
        "rows_in_order": share(on, len(rows)),
    }


def _said(reading: Reading) -> dict[str, float]:
    return {
        f"says_{name}": per_word(
            len(reading.cues.get(f"rebuild {name}", ())), reading.words
        )
        for name in REBUILD
    }


def _objects(named: Sequence[Named]) -> dict[str, float]:
    walls = [one.cell for one in named if one.role == "wall"]
    player = [one.cell for one in named if one.role == "player"]
    objects = [(one.role, one.cell) for one in named if one.role in ("box", "goal")]
    stays = sum(a == b for a, b in pairwise(player))
    return {
        "wall_repeats": share(sum(repeats(walls)), len(walls)),
        "player_stays": share(stays, len(player)),
        "object_repeats": share(sum(repeats(objects)), len(objects)),
        "log_roll_calls": log1p(_roll_calls(named)),
    }


def _roll_calls(named: Sequence[Named]) -> int:
    """How often all three objects come within six cells, each cell used once."""
    count = 0
    recent: deque[str] = deque(maxlen=6)
    for one in named:
        recent.append(one.role)
        if {"player", "box", "goal"}.issubset(recent):
            count += 1
            recent.clear()
    return count


def _brief(reading: Reading) -> dict[str, float]:
    return {
        "log_brief": log1p(len(reading.brief)),
        "brief": share(len(reading.brief), reading.clauses),
        "log_brief_words": log_mean(reading.brief),
    }


def _corrections(reading: Reading) -> dict[str, float]:
    signs = reading.cues.get("rebuild correct", [])
    late = sum(2 * at >= reading.characters for at in signs)
    return {
        "early_correct": earliness(signs[0] if signs else None, reading.characters),
        "late_correct": share(late, len(signs)),
        "corrected_cells": share(_corrected(signs, reading.named), len(signs)),
    }


def _corrected(signs: Sequence[int], named: Sequence[Named]) -> int:
    """Signs whose next named cell moves an object from where it was last named."""
    starts = [one.at for one in named]
    before: list[Cell | None] = []
    last: dict[str, Cell] = {}
    for one in named:
        before.append(last.get(one.role))
        last[one.role] = one.cell
    count = 0
    for sign in signs:
        at = bisect_left(starts, sign)
        if at < len(named) and named[at].role in ("player", "box", "goal", "wall"):
            count += before[at] not in (None, named[at].cell)
    return count
