"""Walk on a 10 by 10 torus: where does a sequence of moves end?

What happens at the border is one argument, `bound`, so that `fence` can share the rest.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from routejax.envs.local.form import environment, size
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced, symbols

SIDE = 10
MOVES = {"U": (0, 1), "D": (0, -1), "L": (-1, 0), "R": (1, 0)}
OPPOSITE = {"U": "D", "D": "U", "L": "R", "R": "L"}
AXES = (("X", "R", "L"), ("Y", "U", "D"))  # name, move that adds, move that takes

Bound = Callable[[int], int]  # a coordinate, perhaps one too far, to one in 0..9


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """A start cell and moves."""
    start = [rng.randrange(SIDE), rng.randrange(SIDE)]
    moves = [rng.choice("UDLR") for _ in range(size(difficulty))]
    return (
        f"Walk from {spaced(start)}: {spaced(moves)}",
        {"start": start, "moves": moves},
    )


def wrap(value: int) -> int:
    """The coordinate on the torus."""
    return value % SIDE


def go(cell: list[int], move: str, bound: Bound = wrap) -> list[int]:
    """The cell one move further."""
    dx, dy = MOVES[move]
    return [bound(cell[0] + dx), bound(cell[1] + dy)]


def destination(config: dict, bound: Bound = wrap) -> list[int]:
    """The cell after all moves."""
    cell = config["start"]
    for move in config["moves"]:
        cell = go(cell, move, bound)
    return cell


def check(config: dict, answer: str, bound: Bound = wrap) -> bool | None:
    """Whether the answer is the final cell, x then y."""
    got = symbols(answer, "0123456789")
    if got is None or len(got) != 2:
        return None
    return got == [str(x) for x in destination(config, bound)]


def _trail(
    cell: list[int],
    moves: list[str],
    say: str,
    rng: random.Random,
    bound: Bound = wrap,
) -> tuple[list[int], list[Step]]:
    """The cell after each move; the wrong version goes another way."""
    steps = []
    for move in moves:
        ends = [go(cell, m, bound) for m in MOVES if m != move]
        cell = go(cell, move, bound)
        wrong = say.format(move, spaced(rng.choice([e for e in ends if e != cell])))
        steps.append(Step(say.format(move, spaced(cell)), wrong))
    return cell, steps


def path(config: dict, rng: random.Random, bound: Bound = wrap) -> Work:
    """The cell after each move."""
    say = rng.choice(("{} {}.", "{}: {}."))
    cell, steps = _trail(config["start"], config["moves"], say, rng, bound)
    return Work(steps, spaced(cell))


def _reversed(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("So {} {}.", "Then {} {}."))
    cell, steps = _trail(config["start"], config["moves"][::-1], say, rng)
    return Work(steps, spaced(cell))


def axes(config: dict, rng: random.Random, bound: Bound = wrap) -> Work:
    """Each coordinate alone, through the moves that change it."""
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
                off, value = bound(value - change), bound(value + change)
                steps.append(Step(then.format(move, value), then.format(move, off)))
        final.append(value)
    return Work(steps, spaced(final))


def cancel(config: dict, rng: random.Random) -> Work:
    """Opposite moves go in pairs; the cell after each of the rest."""
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


def net(config: dict, rng: random.Random) -> Work:
    """Each coordinate from the numbers of its two moves."""
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


def by_count(config: dict, answer: str) -> str:
    """Each coordinate from the numbers of its two moves."""
    parts = []
    for (_, more, less), value in zip(AXES, config["start"], strict=True):
        up, down = config["moves"].count(more), config["moves"].count(less)
        parts.append(f"{value} + {up} - {down} = {(value + up - down) % SIDE}")
    return f"{', '.join(parts)}."


def by_path(config: dict, answer: str, bound: Bound = wrap) -> str:
    """The cell after each move."""
    cells, cell = [], config["start"]
    for move in config["moves"]:
        cell = go(cell, move, bound)
        cells.append(spaced(cell))
    return f"{', '.join(cells)}."


ROUTES = {
    "path": Route(("Run from the start.", "Run step by step."), path, by_count),
    "reversed": Route(
        ("Go backward from the right.", "Start at the end."), _reversed, by_count
    ),
    "axes": Route(
        ("Split into X and Y.", "Break down into X and Y."),
        axes,
        by_path,
        plan="First, compute X. Then compute Y.",
    ),
    "cancel": Route(
        ("Notice that pairs cancel.", "The trick is that pairs cancel."),
        cancel,
        by_count,
    ),
    "net": Route(
        ("Calculate from the count.", "Compute by count."),
        net,
        by_path,
    ),
}

ENVIRONMENT = environment(
    "walk", "follow moves on a 10 by 10 torus", generate, check, ROUTES
)
