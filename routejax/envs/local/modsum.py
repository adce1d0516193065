"""Sum digits modulo 7: the order of the additions is the route."""

from __future__ import annotations

import random

from routejax.envs.local.form import environment, size
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced, symbols

MODULUS = 7
RESIDUES = "0123456"


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """Residues to sum."""
    items = [rng.randrange(MODULUS) for _ in range(size(difficulty))]
    return f"Sum mod 7: {spaced(items)}", {"items": items}


def check(config: dict, answer: str) -> bool | None:
    """Whether the answer is the sum modulo 7; a number from 7 on is no residue."""
    got = symbols(answer, RESIDUES)
    if got is None or len(got) != 1:
        return None
    return got == [str(sum(config["items"]) % MODULUS)]


def _add(a: int, b: int, say: str, rng: random.Random) -> tuple[int, Step]:
    """One addition, and the step that says it."""
    total = (a + b) % MODULUS
    off = (total + rng.randrange(1, MODULUS)) % MODULUS
    return total, Step(say.format(a, b, total), say.format(a, b, off))


def _fold(items: list[int], say: str, rng: random.Random) -> tuple[int, list[Step]]:
    """The additions of the items from left to right."""
    total, steps = items[0], []
    for x in items[1:]:
        total, step = _add(total, x, say, rng)
        steps.append(step)
    return total, steps


def _left(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("{} + {} = {}.", "Add {} + {} = {}."))
    total, steps = _fold(config["items"], say, rng)
    return Work(steps, str(total))


def _right(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("So {} and {} give {}.", "{} and {} make {}."))
    total, steps = _fold(config["items"][::-1], say, rng)
    return Work(steps, str(total))


def _pairs(config: dict, rng: random.Random) -> Work:
    left = rng.choice(("Left with {}.", "Remaining {}."))
    items, steps = list(config["items"]), []
    while len(items) > 1:
        sums = []
        for i in range(0, len(items) - 1, 2):
            total, step = _add(items[i], items[i + 1], "{} + {} = {}.", rng)
            sums.append(total)
            steps.append(step)
        items = sums + (items[-1:] if len(items) % 2 else [])
        if len(items) > 1:
            steps.append(Step(left.format(spaced(items))))
    return Work(steps, str(items[0]))


def _halves(config: dict, rng: random.Random) -> Work:
    half = rng.choice(("Half {}.", "The part {}."))
    items = config["items"]
    middle = len(items) // 2
    totals, steps = [], []
    for part in (items[:middle], items[middle:]):
        total, more = _fold(part, "{} + {} = {}.", rng)
        totals.append(total)
        steps += [Step(half.format(spaced(part))), *more]
    total, step = _add(totals[0], totals[1], "Thus {} + {} = {}.", rng)
    return Work([*steps, step], str(total))


def _cancelling(items: list[int]) -> list[int] | None:
    """The first pair (in order of its second member) with sum 0 mod 7, or a 0."""
    for j, y in enumerate(items):
        if y == 0:
            return [y]
        for x in items[:j]:
            if (x + y) % MODULUS == 0:
                return [x, y]
    return None


def _sevens(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Cancel {}, left with {}.", "{} cancel, remaining {}."))
    items, steps = list(config["items"]), []
    while gone := _cancelling(items):
        for x in gone:
            items.remove(x)
        bad = items[1:] if items else gone[-1:]
        text = say.format(spaced(gone), spaced(items))
        steps.append(Step(text, say.format(spaced(gone), spaced(bad))))
    total, more = _fold(items or [0], "{} + {} = {}.", rng)
    return Work(steps + more, str(total))


def _chain(items: list[int]) -> str:
    """Running sum as one line: `3 + 5 = 1 + 2 = 3`."""
    text, total = str(items[0]), items[0]
    for x in items[1:]:
        total = (total + x) % MODULUS
        text += f" + {x} = {total}"
    return text


def _forward(config: dict, answer: str) -> str:
    return f"{_chain(config['items'])}."


def _backward(config: dict, answer: str) -> str:
    return f"{_chain(config['items'][::-1])}."


ROUTES = {
    "left": Route(("Add from the left.", "Compute from the left."), _left, _backward),
    "right": Route(
        ("Go backward from the right.", "Start at the end."), _right, _forward
    ),
    "pairs": Route(
        ("Split into pairs.", "Break down into pairs."),
        _pairs,
        _forward,
        plan="First, add the pairs. Then add the sums.",
    ),
    "halves": Route(
        ("Split into halves.", "Break down into parts."),
        _halves,
        _backward,
        plan="First, add each half. Then add the sums.",
    ),
    "sevens": Route(
        ("Notice that 7 is 0.", "The trick is that 7 is 0."),
        _sevens,
        _forward,
    ),
}

ENVIRONMENT = environment("modsum", "sum digits modulo 7", generate, check, ROUTES)
