"""Positions that can never be solved: distances of pushes, dead cells, frozen boxes.

All three are sound: a position that they call lost is lost. They are not complete, and
the rest is left to the search.
"""

from __future__ import annotations

from dataclasses import dataclass

from routejax.envs.sokoban.board import Board, bits, shifted

LOST = 1 << 30  # more than any number of pushes


@dataclass(frozen=True)
class Ground:
    """What stays the same while boxes move.

    Attributes:
        floor, goals, width: as in `Board`.
        steps: bits by which a cell moves, in the order of `WAYS`.
        distances: for each goal, from the top left, the pushes that a box needs to get
            there from a cell if it is alone and the player can be anywhere; a cell from
            which it cannot get there is absent.
        alive: cells from which a box can get to some goal; all other floor is dead.
    """

    floor: int
    goals: int
    width: int
    steps: tuple[int, ...]
    distances: tuple[dict[int, int], ...]
    alive: int


def ground(board: Board) -> Ground:
    """The ground of a board."""
    steps = tuple(board.steps.values())
    distances = tuple(_distances(board.floor, g, steps) for g in bits(board.goals))
    alive = 0
    for cells in distances:
        for cell in cells:
            alive |= cell
    return Ground(board.floor, board.goals, board.width, steps, distances, alive)


def _distances(floor: int, goal: int, steps: tuple[int, ...]) -> dict[int, int]:
    """The pushes from every cell to the goal, by pulling a box away from it."""
    found = {goal: 0}
    layer, depth = goal, 0
    while layer:
        depth += 1
        pulled = 0
        for step in steps:  # the player goes ahead, so two cells must be free
            ahead = shifted(layer, step) & floor
            pulled |= ahead & shifted(floor, -step)
        layer = 0
        for cell in bits(pulled):
            if cell not in found:
                found[cell] = depth
                layer |= cell
    return found


def least_pushes(ground: Ground, boxes: int) -> int:
    """A lower bound of the pushes left: the cheapest way to give each box its own goal.

    Exact minimum of the assignment, over subsets of goals; `LOST` if there is none. A
    push changes it by one at most, so it is a consistent heuristic.
    """
    costs = {0: 0}  # goals taken so far, as a set → the least sum
    for box in bits(boxes):
        after: dict[int, int] = {}
        for taken, cost in costs.items():
            for number, distances in enumerate(ground.distances):
                mark = 1 << number
                if not taken & mark and box in distances:
                    total = cost + distances[box]
                    if total < after.get(taken | mark, LOST):
                        after[taken | mark] = total
        costs = after
    return min(costs.values(), default=LOST)


def is_frozen(ground: Ground, boxes: int, box: int) -> bool:
    """Whether this box and others with it stay where they are, one of them off a goal.

    A square of four boxes and walls is the smallest case of it.
    """
    return bool(_frozen(ground, boxes, box, 0) & ~ground.goals)


def _frozen(ground: Ground, boxes: int, box: int, held: int) -> int:
    """The boxes that hold each other in place together with this one; 0 if it is free.

    A box is held along an axis by a wall on one side, by dead cells on both, or by a
    box that is itself held while the boxes found so far (`held`) count as walls. No box
    of the result can be the first that moves without getting onto a dead cell.
    """
    held |= box
    for step in (1, ground.width):
        sides = box << step | box >> step
        if sides & ~ground.floor or not sides & ground.alive or sides & held:
            continue
        for side in bits(sides & boxes):
            more = _frozen(ground, boxes, side, held)
            if more:
                held |= more
                break
        else:
            return 0
    return held
