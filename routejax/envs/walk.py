"""Walk on a 10 by 10 torus: where does a sequence of moves end?"""

from __future__ import annotations

import random

from routejax.envs.problem import Environment, size, spaced, symbols
from routejax.envs.route import Route, Step, Work

SIDE = 10
MOVES = {"U": (0, 1), "D": (0, -1), "L": (-1, 0), "R": (1, 0)}
OPPOSITE = {"U": "D", "D": "U", "L": "R", "R": "L"}
AXES = (("X", "R", "L"), ("Y", "U", "D"))  # name, move that adds, move that takes


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """A start cell and moves."""
    start = [rng.randrange(SIDE), rng.randrange(SIDE)]
    moves = [rng.choice("UDLR") for _ in range(size(difficulty))]
    return (
        f"Walk from {spaced(start)}: {spaced(moves)}",
        {"start": start, "moves": moves},
    )


def go(cell: list[int], move: str) -> list[int]:
    """The cell one move further."""
    dx, dy = MOVES[move]
    return [(cell[0] + dx) % SIDE, (cell[1] + dy) % SIDE]


def destination(config: dict) -> list[int]:
    """The cell after all moves."""
    cell = config["start"]
    for move in config["moves"]:
        cell = go(cell, move)
    return cell


def check(config: dict, answer: str) -> bool | None:
    """Whether the answer is the final cell, x then y."""
    got = symbols(answer, "0123456789")
    if got is None or len(got) != 2:
        return None
    return got == [str(x) for x in destination(config)]


def _trail(
    cell: list[int], moves: list[str], say: str, rng: random.Random
) -> tuple[list[int], list[Step]]:
    """The cell after each move; the wrong version goes another way."""
    steps = []
    for move in moves:
        other = rng.choice([m for m in MOVES if m != move])
        wrong = say.format(move, spaced(go(cell, other)))
        cell = go(cell, move)
        steps.append(Step(say.format(move, spaced(cell)), wrong))
    return cell, steps


def _path(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("{} {}.", "{}: {}."))
    cell, steps = _trail(config["start"], config["moves"], say, rng)
    return Work(steps, spaced(cell))


def _reversed(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("So {} {}.", "Then {} {}."))
    cell, steps = _trail(config["start"], config["moves"][::-1], say, rng)
    return Work(steps, spaced(cell))


def _axes(config: dict, rng: random.Random) -> Work:
    first, then = rng.choice(
        (("Case {} {}.", "{} {}."), ("The part {} {}.", "{} makes {}."))
    )
    final, steps = [], []
    for (name, *own), start in zip(AXES, config["start"], strict=True):
        value = start
        steps.append(Step(first.format(name, start)))
        for move in config["moves"]:
            if move in own:
                change = 1 if move == own[0] else -1
                off, value = (value - change) % SIDE, (value + change) % SIDE
                steps.append(Step(then.format(move, value), then.format(move, off)))
        final.append(value)
    return Work(steps, spaced(final))


def _cancel(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Cancel {} {}, left with {}.", "{} {} cancel, remaining {}."))
    moves, steps = list(config["moves"]), []
    while True:
        ends = [j for j, m in enumerate(moves) if OPPOSITE[m] in moves[:j]]
        if not ends:
            break
        late = moves[ends[0]]
        moves.pop(ends[0])
        moves.remove(OPPOSITE[late])
        bad = spaced(moves[1:]) if moves else late
        text = say.format(OPPOSITE[late], late, spaced(moves))
        steps.append(Step(text, say.format(OPPOSITE[late], late, bad)))
    cell, trail = _trail(config["start"], moves, "{} {}.", rng)
    return Work(steps + trail, spaced(cell))


def _net(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("{} = {} + {} - {} = {}.", "Thus {} = {} + {} - {} = {}."))
    final, steps = [], []
    for (name, more, less), value in zip(AXES, config["start"], strict=True):
        up, down = config["moves"].count(more), config["moves"].count(less)
        end = (value + up - down) % SIDE
        off = (end + rng.choice((-1, 1))) % SIDE
        line = (name, value, up, down)
        steps.append(Step(say.format(*line, end), say.format(*line, off)))
        final.append(end)
    return Work(steps, spaced(final))


def _by_count(config: dict, answer: str) -> str:
    parts = []
    for (_, more, less), value in zip(AXES, config["start"], strict=True):
        up, down = config["moves"].count(more), config["moves"].count(less)
        parts.append(f"{value} + {up} - {down} = {(value + up - down) % SIDE}")
    return f"{', '.join(parts)}."


def _by_path(config: dict, answer: str) -> str:
    cells, cell = [], config["start"]
    for move in config["moves"]:
        cell = go(cell, move)
        cells.append(spaced(cell))
    return f"{', '.join(cells)}."


ROUTES = {
    "path": Route(("Run from the start.", "Run step by step."), _path, _by_count),
    "reversed": Route(
        ("Go backward from the right.", "Start at the end."), _reversed, _by_count
    ),
    "axes": Route(
        ("Split into X and Y.", "Break down into X and Y."),
        _axes,
        _by_path,
        plan="First, compute X. Then compute Y.",
    ),
    "cancel": Route(
        ("Notice that pairs cancel.", "The trick is that pairs cancel."),
        _cancel,
        _by_count,
    ),
    "net": Route(
        ("Calculate from the count.", "Compute by count."),
        _net,
        _by_path,
    ),
}

ENVIRONMENT = Environment(
    "walk", "follow moves on a 10 by 10 torus", generate, check, ROUTES
)
