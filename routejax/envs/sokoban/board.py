"""A Sokoban position as sets of cells, and what can be done with such sets.

A set of cells is an integer: bit `row * width + column` stands for a cell, so that a
whole region moves by one shift. The outermost rows and columns of a board are walls;
therefore no shift by one step leads around an edge.

Left out: how boards are written (`notation`) and how they are solved (`solver`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

Cell = tuple[int, int]  # row and column, both from 0

# The four ways in the order in which everything tries them.
WAYS: dict[str, Cell] = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}


@dataclass(frozen=True)
class Board:
    """One position: the floor, the goals on it, the boxes, and the player's cell.

    There are as many boxes as goals, and at least one. Floor is what the player could
    reach without boxes; there is no row or column to spare around it. Boards are
    therefore equal exactly when they are the same puzzle in the same orientation.
    """

    height: int
    width: int
    floor: int
    goals: int
    boxes: int
    player: int

    @property
    def is_solved(self) -> bool:
        """Whether every box stands on a goal."""
        return self.boxes == self.goals

    @property
    def steps(self) -> dict[str, int]:
        """By how many bits a cell moves along each way."""
        return {way: d * self.width + r for way, (d, r) in WAYS.items()}

    def cell(self, bit: int) -> Cell:
        """Row and column of a set of one cell."""
        return divmod(bit.bit_length() - 1, self.width)

    def at(self, boxes: int, player: int) -> Board:
        """The same room with the boxes and the player elsewhere."""
        return replace(self, boxes=boxes, player=player)


def build(
    floor: Iterable[Cell], goals: Iterable[Cell], boxes: Iterable[Cell], player: Cell
) -> Board:
    """The board of these cells, with one ring of walls; all must be floor."""
    floor = list(floor)
    top, left = min(row for row, _ in floor) - 1, min(column for _, column in floor) - 1
    height = max(row for row, _ in floor) + 2 - top
    width = max(column for _, column in floor) + 2 - left

    def union(cells: Iterable[Cell]) -> int:
        return sum(1 << (row - top) * width + column - left for row, column in cells)

    return Board(
        height, width, union(floor), union(goals), union(boxes), union([player])
    )


def shifted(cells: int, step: int) -> int:
    """The cells, each `step` bits further."""
    return cells << step if step > 0 else cells >> -step


def reachable(start: int, free: int, width: int) -> int:
    """The cells of `free` that are connected with the cells of `start` in it."""
    while True:
        grown = start | start << 1 | start >> 1 | start << width | start >> width
        grown &= free
        if grown == start:
            return start
        start = grown


def regions(free: int, width: int) -> Iterator[int]:
    """The connected parts of `free`, the one of the first cell first."""
    while free:
        yield (part := reachable(free & -free, free, width))
        free ^= part


def bits(cells: int) -> Iterator[int]:
    """The cells of a set, from the top left, each as a set of its own."""
    while cells:
        yield (lowest := cells & -cells)
        cells ^= lowest


def walk(board: Board, end: int) -> str | None:
    """A shortest way of the player to a cell past all boxes; None if there is none.

    Of several shortest ones it is the first in the order of `WAYS`.
    """
    free, steps = board.floor & ~board.boxes, board.steps
    layers, seen = [end], end  # cells by their distance from the end
    while not layers[-1] & board.player:
        layer = 0
        for step in steps.values():
            layer |= shifted(layers[-1], step)
        layer &= free & ~seen
        if not layer:
            return None
        seen |= layer
        layers.append(layer)
    at, ways = board.player, []
    for layer in layers[-2::-1]:
        way, at = next(
            (way, there)
            for way, step in steps.items()
            if (there := shifted(at, step)) & layer
        )
        ways.append(way)
    return "".join(ways)
