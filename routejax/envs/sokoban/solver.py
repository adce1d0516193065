"""A Sokoban solver: A* over pushes, with as few pushes as possible.

A state is the set of boxes and the set of cells that the player can reach without a
push; walks cost nothing. States are told apart in a transposition table. The lower
bound (`least_pushes`) is consistent, so the first solution found needs the fewest
pushes. Among its walks each is as short as possible; the sum of pushes and steps need
not be.

Left out: tunnel and goal-room macros, and anything for boards with many boxes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

from routejax.envs.sokoban.board import WAYS, Board, bits, reachable, shifted, walk
from routejax.envs.sokoban.deadlock import (
    LOST,
    Ground,
    ground,
    is_frozen,
    least_pushes,
)
from routejax.errors import UserError

MOST_BOXES = 10  # the assignment is over subsets of goals
CAP = 60_000  # states expanded

State = tuple[int, int]  # boxes; cells in reach of the player


class Push(NamedTuple):
    """A box (its cell before the push, as a set) and the way it is pushed."""

    box: int
    way: str


class Search(NamedTuple):
    """What a search found.

    Attributes:
        status: "solved"; "unsolvable", which is proved; "unknown" where the cap ended
            the search.
        pushes: the pushes in order, the fewest there can be; None unless solved.
        expanded: states expanded.
    """

    status: str
    pushes: list[Push] | None
    expanded: int


def solve(board: Board, cap: int = CAP) -> Search:
    """A shortest solution in pushes; ties are broken by the order of the search.

    Raises:
        UserError: more boxes than the lower bound can be computed for.
    """
    if board.boxes.bit_count() > MOST_BOXES:
        raise UserError(
            f"the solver takes boards of 1 to {MOST_BOXES} boxes; got "
            f"{board.boxes.bit_count()}"
        )
    area = ground(board)
    bounds = {board.boxes: least_pushes(area, board.boxes)}
    start = _state(board, board.boxes, board.player)
    came: dict[State, tuple[State, Push] | None] = {start: None}
    cost = {start: 0}
    queue = [(bounds[board.boxes], 0, 0, start)]  # bound, −pushes, number, state
    closed: set[State] = set()
    added = 0
    if bounds[board.boxes] >= LOST:
        return Search("unsolvable", None, 0)
    while queue:
        _, _, _, state = heapq.heappop(queue)
        if state in closed:
            continue
        if state[0] == board.goals:
            return Search("solved", _back(came, state), len(closed))
        if len(closed) == cap:
            return Search("unknown", None, cap)
        closed.add(state)
        pushes = cost[state] + 1
        for push, boxes, box in _pushes(area, state):
            if boxes not in bounds:
                lost = is_frozen(area, boxes, box)
                bounds[boxes] = LOST if lost else least_pushes(area, boxes)
            if bounds[boxes] >= LOST:
                continue
            after = _state(board, boxes, push.box)
            if pushes < cost.get(after, LOST):
                cost[after], came[after] = pushes, (state, push)
                added += 1
                heapq.heappush(queue, (pushes + bounds[boxes], -pushes, added, after))
    return Search("unsolvable", None, len(closed))


def _state(board: Board, boxes: int, player: int) -> State:
    return boxes, reachable(player, board.floor & ~boxes, board.width)


def _pushes(area: Ground, state: State) -> Iterator[tuple[Push, int, int]]:
    """Every push that leaves no box on a dead cell: it, the boxes, the moved box."""
    boxes, reach = state
    free = area.alive & ~boxes
    for way, step in zip(WAYS, area.steps, strict=True):
        movable = boxes & shifted(reach, step) & shifted(free, -step)
        for box in bits(movable):
            there = shifted(box, step)
            yield Push(box, way), boxes ^ box | there, there


def _back(came: dict[State, tuple[State, Push] | None], state: State) -> list[Push]:
    """The pushes that led to a state."""
    pushes = []
    while (last := came[state]) is not None:
        state, push = last
        pushes.append(push)
    return pushes[::-1]


def moves(board: Board, pushes: list[Push]) -> list[tuple[str, Push]]:
    """For each push the walk that comes before it, in small letters, and the push.

    Raises:
        ValueError: a push that the player cannot reach.
    """
    found = []
    for push in pushes:
        step = board.steps[push.way]
        before = walk(board, shifted(push.box, -step))
        if before is None:
            raise ValueError(f"the player cannot get to {board.cell(push.box)}")
        found.append((before, push))
        board = board.at(board.boxes ^ push.box | shifted(push.box, step), push.box)
    return found


def lurd(board: Board, pushes: list[Push]) -> str:
    """The whole solution in letters: small ones are steps, capitals are pushes."""
    return "".join(walk + push.way.upper() for walk, push in moves(board, pushes))
