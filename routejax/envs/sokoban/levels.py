"""Levels of Sokoban boards by the pushes of a shortest solution, and drawing a board.

The paper has boards that are easy, medium, hard and expert; where the limits lie is our
choice. The difficulties 1 to 15 divide the same range further, and each has a size of
room in which its number of pushes is common.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

from routejax.envs.sokoban.board import Board, bits
from routejax.envs.sokoban.rooms import pull_layers, solved_room
from routejax.envs.sokoban.solver import Push, State, solve

# Fewest and most pushes of a level.
LEVELS = {"easy": (1, 5), "medium": (6, 12), "hard": (13, 24), "expert": (25, 48)}


@dataclass(frozen=True)
class Size:
    """Rooms of one difficulty: dug cells within a rectangle, boxes, pushes."""

    rows: int
    columns: int
    cells: int
    boxes: int
    pushes: tuple[int, int]


SIZES = {
    1: Size(4, 4, 10, 1, (1, 2)),
    2: Size(4, 5, 12, 1, (3, 3)),
    3: Size(4, 5, 13, 2, (4, 4)),
    4: Size(4, 6, 15, 2, (5, 5)),
    5: Size(5, 5, 16, 2, (6, 7)),
    6: Size(5, 6, 18, 2, (8, 9)),
    7: Size(5, 6, 19, 2, (10, 10)),
    8: Size(6, 6, 20, 3, (11, 12)),
    9: Size(6, 6, 21, 3, (13, 15)),
    10: Size(6, 7, 24, 3, (16, 18)),
    11: Size(6, 7, 25, 3, (19, 21)),
    12: Size(7, 7, 27, 3, (22, 24)),
    13: Size(8, 9, 36, 3, (25, 27)),
    # Rooms like these are deep more often than small ones of four boxes, whose boards
    # take four times as long to find.
    14: Size(9, 9, 40, 3, (28, 30)),
    15: Size(9, 10, 44, 3, (31, 48)),
}
POSITIONS = 20_000  # of one room; a room that has more is searched less deep


class Puzzle(NamedTuple):
    """A board and the shortest solution that the solver found."""

    board: Board
    pushes: list[Push]


def level_of(pushes: int) -> str | None:
    """The level of a board that needs that many pushes; None beyond all levels."""
    return next((n for n, (low, high) in LEVELS.items() if low <= pushes <= high), None)


def puzzle(rng: random.Random, difficulty: int) -> Puzzle:
    """A board of that difficulty.

    A room is dug and all its positions are found by pulling; one at a depth within the
    band is drawn and given to the solver. A room that is too shallow, or that the
    solver leaves unknown at its cap, is replaced by another one.
    """
    size = SIZES[difficulty]
    while True:
        room = solved_room(rng, size.rows, size.columns, size.cells, size.boxes)
        layers = pull_layers(room, size.pushes[1], POSITIONS)
        if len(layers) <= size.pushes[0]:
            continue
        depth = rng.randrange(size.pushes[0], len(layers))
        boxes, area = rng.choice(_farthest(room, layers[depth]))
        board = room.at(boxes, rng.choice(list(bits(area))))
        found = solve(board)
        if found.pushes is None:
            continue
        if len(found.pushes) != depth:
            raise AssertionError(f"{len(found.pushes)} pushes after {depth} pulls")
        return Puzzle(board, found.pushes)


def _farthest(room: Board, states: list[State]) -> list[State]:
    """The states with the fewest boxes on goals."""
    placed = [(boxes & room.goals).bit_count() for boxes, _ in states]
    fewest = min(placed)
    return [s for s, n in zip(states, placed, strict=True) if n == fewest]
