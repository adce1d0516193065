"""Solutions of Sokoban boards written down: five procedures with the same moves.

    push     run after run: where the box is, the walk to it, the push
    cells    every single move with the cell it leads to
    goals    back from the goals: which box belongs where, the last push first
    redraw   the board is drawn again after every run of pushes
    dead     the dead cells first, then every push is held against them

A run is a row of pushes of one box along one way. Cells are (row, column), counted from
1. The moves are those of the board's stored solution, so all five end in one answer;
what differs is the way over the board, which is what the fingerprints of the family
`sokoban` measure.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from routejax.envs.route import Route, Step, Work
from routejax.envs.sokoban.board import WAYS, Board, Cell, bits
from routejax.envs.sokoban.deadlock import ground
from routejax.envs.sokoban.moves import WORDS, replay, write
from routejax.envs.sokoban.notation import draw, parse

_NAMES = {way: word for word, way in WORDS.items()}


class Run(NamedTuple):
    """Pushes of one box along one way, without a step between.

    `walk` leads up to them, `before` and `after` are the board before the walk and
    after the last push, `box` and `end` the box's cells.
    """

    walk: str
    way: str
    count: int
    box: Cell
    end: Cell
    before: Board
    after: Board


def runs(board: Board, solution: str) -> list[Run]:
    """The runs of a solution in letters (capitals are pushes), in order."""
    found: list[Run] = []
    at = 0
    while at < len(solution):
        start = at
        while solution[at].islower():
            at += 1
        way, end = solution[at], at + 1
        while end < len(solution) and solution[end] == way:
            end += 1
        after = replay(board, solution[start:end].lower()).board
        box = _towards(after, way.lower(), 1 - (end - at))
        found.append(
            Run(
                solution[start:at],
                way.lower(),
                end - at,
                box,
                _towards(after, way.lower(), 1),
                board,
                after,
            )
        )
        board, at = after, end
    return found


def _towards(board: Board, way: str, steps: int) -> Cell:
    """The cell so many steps from the player's; 1 is the box it has just pushed."""
    row, column = board.cell(board.player)
    return row + steps * WAYS[way][0], column + steps * WAYS[way][1]


def _said(cell: Cell) -> str:
    return f"({cell[0] + 1}, {cell[1] + 1})"


def _listed(board: Board, cells: int) -> str:
    return ", ".join(_said(board.cell(bit)) for bit in bits(cells)) or "none"


def _steps(walk: str) -> str:
    return ", ".join(_NAMES[way] for way in walk)


def _further(run: Run) -> Cell:
    """The cell behind the one that a run ends on."""
    return run.end[0] + WAYS[run.way][0], run.end[1] + WAYS[run.way][1]


def _answer(config: dict) -> str:
    return write(config["solution"], config["notation"])


def _read(config: dict) -> tuple[Board, list[Run]]:
    board = parse(config["rows"])
    return board, runs(board, config["solution"])


def _push(config: dict, rng: random.Random) -> Work:
    """Run after run; wrong where the box ends one cell too far."""
    go = rng.choice(("Move {}.", "Walk {}."))
    to = rng.choice(("Push {} to {}.", "Push the box {} to {}."))
    steps = []
    for run in _read(config)[1]:
        first = f"Box at {_said(run.box)}." + (
            f" {go.format(_steps(run.walk))}" if run.walk else ""
        )
        pushed = ", ".join([_NAMES[run.way]] * run.count)
        text, wrong = (
            f"{first} {to.format(pushed, _said(end))}"
            for end in (run.end, _further(run))
        )
        steps.append(Step(text, wrong))
    return Work(steps, _answer(config))


def _cells(config: dict, rng: random.Random) -> Work:
    """Every move with its cell; wrong where a move leads the other way."""
    board = parse(config["rows"])
    row, column = board.cell(board.player)
    start = rng.choice(("Player at {}.", "I am at {}."))
    steps = [Step(start.format(_said((row, column))))]
    for move in config["solution"]:
        down, right = WAYS[move.lower()]
        back = (row - down, column - right)
        row, column = row + down, column + right
        verb, name = "Push" if move.isupper() else "Move", _NAMES[move.lower()]
        text, wrong = (f"{verb} {name} to {_said(c)}." for c in ((row, column), back))
        steps.append(Step(text, wrong))
    return Work(steps, _answer(config))


def _goals(config: dict, rng: random.Random) -> Work:
    """Boxes and their goals, then the runs from the last to the first."""
    pair = rng.choice(("Box {} goes to goal {}.", "Goal {1} takes box {0}."))
    back = rng.choice(("Before that", "One run earlier"))
    board, found = _read(config)
    ends = {board.cell(bit): board.cell(bit) for bit in bits(board.boxes)}
    for run in found:
        first = next(box for box, end in ends.items() if end == run.box)
        ends[first] = run.end
    steps = [Step(pair.format(_said(a), _said(b))) for a, b in ends.items()]
    for number, run in enumerate(reversed(found)):
        when = back if number else "At the end"
        text, wrong = (
            f"{when} a box comes {_NAMES[run.way]} from {_said(start)} to "
            f"{_said(run.end)}."
            for start in (run.box, _further(run))
        )
        steps.append(Step(text, wrong))
    steps.append(Step(f"Forward, the moves are {config['solution']}."))
    return Work(steps, _answer(config))


def _redraw(config: dict, rng: random.Random) -> Work:
    """The board after every run; wrong where it is still the board before."""
    say = rng.choice(("After {}:\n{}\n", "The moves {} give\n{}\n"))
    steps = []
    for run in _read(config)[1]:
        made = run.walk + run.way.upper() * run.count
        text, wrong = (
            say.format(made, "\n".join(draw(b, config["notation"])))
            for b in (run.after, run.before)
        )
        steps.append(Step(text, wrong))
    return Work([*steps, Step("All boxes are on goals.")], _answer(config))


def _dead(config: dict, rng: random.Random) -> Work:
    """Dead cells, then the runs; wrong where a run ends on a cell that it passes."""
    say = rng.choice(("which is not dead", "which is no dead cell"))
    board, found = _read(config)
    dead = board.floor & ~ground(board).alive
    steps = [Step(f"A box is stuck for good on {_listed(board, dead)}.")]
    for run in found:
        walk = f"Move {_steps(run.walk)}. " if run.walk else ""
        text, wrong = (
            f"{walk}Push {_NAMES[run.way]} x{run.count}: the box is at {_said(end)}, "
            f"{say}."
            for end in (run.end, run.box)
        )
        steps.append(Step(text, wrong))
    return Work(steps, _answer(config))


def _counted(config: dict, answer: str) -> str:
    board = parse(config["rows"])
    end = replay(board, config["solution"].lower())
    boxes = _listed(board, end.board.boxes)
    return f"{end.legal} moves, {end.pushes} of them pushes, leave boxes on {boxes}."


def _unplaced(config: dict, answer: str) -> str:
    board = parse(config["rows"])
    end = replay(board, config["solution"].lower()).board
    return (
        f"goals at {_listed(board, end.goals)}, without a box: "
        f"{_listed(board, end.goals & ~end.boxes)}."
    )


ROUTES = {
    "push": Route(
        ("Start with the box and push it.", "Push box by box."), _push, _unplaced
    ),
    "cells": Route(
        ("Follow the player cell by cell.", "Go one cell after the other."),
        _cells,
        _unplaced,
    ),
    "goals": Route(
        ("Work backwards from the goals.", "Start with the goals, go backwards."),
        _goals,
        _counted,
        plan="First, give each box its goal. Then find the last push and go backwards.",
    ),
    "redraw": Route(
        ("Draw the board after every push.", "Keep the board up to date."),
        _redraw,
        _counted,
    ),
    "dead": Route(
        ("Find the dead cells first.", "Avoid deadlocks."),
        _dead,
        _counted,
        plan="First, list the dead cells. Then push around them.",
    ),
}
