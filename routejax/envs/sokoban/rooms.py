"""Random rooms, and all positions from which they are solved in a number of pushes.

A room is dug by a walk that turns now and then and opens small shapes around it. From
the solved position boxes are then pulled, breadth first over all positions: a position
first met after n pulls needs exactly n pushes. A random sequence of pulls would mostly
come back near to where it began; the layers reach as deep as the room is.
"""

from __future__ import annotations

import random

from routejax.envs.sokoban.board import (
    WAYS,
    Board,
    Cell,
    bits,
    build,
    reachable,
    regions,
    shifted,
)
from routejax.envs.sokoban.solver import State

TURN = 0.35  # chance that the walk turns
# What the walk opens: cells beside the one it stands on. Repeated ones come more often.
SHAPES: tuple[tuple[Cell, ...], ...] = (
    ((0, 0),),
    ((0, 0),),
    ((0, 0), (0, 1)),
    ((0, 0), (1, 0)),
    ((0, 0), (0, 1), (1, 0), (1, 1)),
)


def dig(rng: random.Random, rows: int, columns: int, cells: int) -> list[Cell]:
    """Connected cells within `rows` x `columns`, at least `cells` of them, sorted."""
    at = (rng.randrange(rows), rng.randrange(columns))
    way = rng.choice(list(WAYS))
    dug: set[Cell] = set()
    while len(dug) < cells:
        for down, right in rng.choice(SHAPES):
            row, column = at[0] + down, at[1] + right
            if row < rows and column < columns:
                dug.add((row, column))
        if rng.random() < TURN:
            way = rng.choice(list(WAYS))
        there = (at[0] + WAYS[way][0], at[1] + WAYS[way][1])
        if 0 <= there[0] < rows and 0 <= there[1] < columns:
            at = there
        else:
            way = rng.choice(list(WAYS))
    return sorted(dug)


def solved_room(
    rng: random.Random, rows: int, columns: int, cells: int, boxes: int
) -> Board:
    """A dug room with all boxes on their goals, the player on some free cell."""
    floor = dig(rng, rows, columns, cells)
    *goals, player = rng.sample(floor, boxes + 1)
    return build(floor, goals, goals, player)


def pull_layers(solved: Board, deepest: int, cap: int) -> list[list[State]]:
    """The positions by the least number of pushes that solves them, from 0.

    Ends after layer `deepest`, after the last position there is, or before a layer that
    would make the positions more than `cap`; every layer given is whole.
    """
    free = solved.floor & ~solved.goals
    layer: list[State] = [(solved.goals, part) for part in regions(free, solved.width)]
    seen = set(layer)
    layers = []
    while layer and len(seen) <= cap:
        layers.append(layer)
        if len(layers) > deepest:
            break
        layer = []
        for state in layers[-1]:
            for before in _pulls(solved, state):
                if before not in seen:
                    seen.add(before)
                    layer.append(before)
    return layers


def _pulls(board: Board, state: State) -> list[State]:
    """The positions one pull away: the player steps back and the box follows."""
    boxes, reach = state
    free = board.floor & ~boxes
    found = []
    for step in board.steps.values():
        ahead = shifted(reach, -step) & shifted(free, -2 * step)
        for box in bits(boxes & ahead):
            there = shifted(box, step)
            pulled = boxes ^ box | there
            player = shifted(there, step)
            area = reachable(player, board.floor & ~pulled, board.width)
            found.append((pulled, area))
    return found
