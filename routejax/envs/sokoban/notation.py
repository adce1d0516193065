"""How boards are written: signs, legends, reading, drawing, and the form for splits.

The signs of the notations contradict each other ("O", "X", "*"), so a board is always
shown together with the legend of its notation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from routejax.envs.sokoban.board import Board, Cell, build, reachable
from routejax.errors import UserError


@dataclass(frozen=True)
class Notation:
    """One sign for each thing that a cell can show, and what stands between signs."""

    wall: str
    floor: str
    goal: str
    box: str
    box_on_goal: str
    player: str
    player_on_goal: str
    between: str = ""

    @property
    def legend(self) -> str:
        """The signs with their meanings, in a line."""
        return (
            f"{self.wall} wall, {self.floor} floor, {self.goal} goal, {self.box} box, "
            f"{self.box_on_goal} box on a goal, {self.player} player, "
            f"{self.player_on_goal} player on a goal"
        )


# `xsb` is the usual format of level files. It writes floor as a blank or a hyphen; the
# hyphen is taken here, as blanks get lost where white space is folded. `ragen` has the
# signs of the RAGEN agent environments.
NOTATIONS = {
    "xsb": Notation("#", "-", ".", "$", "*", "@", "+"),
    "ragen": Notation("#", "_", "O", "X", "√", "P", "S", between=" "),
}
XSB = NOTATIONS["xsb"]
_FLOOR = frozenset("-_ ")
_GOAL = frozenset((XSB.goal, XSB.box_on_goal, XSB.player_on_goal))
_BOX = frozenset((XSB.box, XSB.box_on_goal))
_PLAYER = frozenset((XSB.player, XSB.player_on_goal))
_KNOWN = _FLOOR | _GOAL | _BOX | _PLAYER | {XSB.wall}
_SIDES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class _Seen(NamedTuple):
    """The cells of a drawing by what they show."""

    open: set[Cell]
    goals: set[Cell]
    boxes: set[Cell]
    players: set[Cell]


def parse(rows: Sequence[str]) -> Board:
    """The board of rows in `xsb`; floor may be a blank, and rows may end early.

    Raises:
        UserError: an unknown sign, not one player, no box, other numbers of boxes and
            goals, a gap in the outer walls, a box or a goal behind walls.
    """
    seen = _Seen(set(), set(), set(), set())
    for row, line in enumerate(rows):
        for column, sign in enumerate(line):
            _note(seen, (row, column), sign)
    if len(seen.players) != 1 or not seen.boxes or len(seen.boxes) != len(seen.goals):
        raise UserError(
            "a board has one player, and as many boxes as goals, at least one; got "
            f"{len(seen.players)} players, {len(seen.boxes)} boxes and "
            f"{len(seen.goals)} goals in {list(rows)}"
        )
    (player,) = seen.players
    floor = _inside(seen.open, player, rows)
    outside = sorted((seen.boxes | seen.goals) - floor)
    if outside:
        raise UserError(
            f"every box and goal must be inside the walls around the player; the one "
            f"in row {outside[0][0] + 1}, column {outside[0][1] + 1} of {list(rows)} "
            "is not"
        )
    return build(floor, seen.goals, seen.boxes, player)


def _note(seen: _Seen, cell: Cell, sign: str) -> None:
    if sign not in _KNOWN:
        raise UserError(
            f"a board in xsb has the signs {XSB.legend}; got {sign!r} in row "
            f"{cell[0] + 1}, column {cell[1] + 1}"
        )
    if sign != XSB.wall:
        seen.open.add(cell)
    for signs, cells in ((_GOAL, seen.goals), (_BOX, seen.boxes)):
        if sign in signs:
            cells.add(cell)
    if sign in _PLAYER:
        seen.players.add(cell)


def _inside(cells: set[Cell], player: Cell, rows: Sequence[str]) -> set[Cell]:
    """The open cells connected with the player's."""
    found, waiting = {player}, [player]
    while waiting:
        row, column = waiting.pop()
        for down, right in _SIDES:
            there = (row + down, column + right)
            if not 0 <= there[0] < len(rows) or not 0 <= there[1] < len(rows[there[0]]):
                raise UserError(
                    f"the walls of a board must be closed; {list(rows)} is open at row "
                    f"{row + 1}, column {column + 1}"
                )
            if there in cells and there not in found:
                found.add(there)
                waiting.append(there)
    return found


def draw(board: Board, notation: str = "xsb") -> list[str]:
    """The rows of the board, walls around it."""
    signs = NOTATIONS[notation]
    return [signs.between.join(row) for row in _grid(board, signs, board.player)]


def _grid(board: Board, signs: Notation, players: int) -> Iterator[list[str]]:
    """The signs row by row, with the player's sign on all cells of `players`."""
    for row in range(board.height):
        line = []
        for column in range(board.width):
            bit = 1 << row * board.width + column
            on_goal = bool(board.goals & bit)
            if board.boxes & bit:
                line.append((signs.box, signs.box_on_goal)[on_goal])
            elif players & bit:
                line.append((signs.player, signs.player_on_goal)[on_goal])
            elif board.floor & bit:
                line.append((signs.floor, signs.goal)[on_goal])
            else:
                line.append(signs.wall)
        yield line


def canonical(board: Board) -> str:
    """One text for all boards that are the same puzzle.

    Equal for the eight rotations and reflections of a board, and wherever the player
    stands among the cells that can be reached without a push.
    """
    free = board.floor & ~board.boxes
    players = reachable(board.player, free, board.width)
    grid = list(_grid(board, XSB, players))
    forms = []
    for _ in range(4):
        grid = [list(column) for column in zip(*grid[::-1], strict=True)]  # turned
        forms += ["/".join(map("".join, g)) for g in (grid, grid[::-1])]
    return min(forms)
