"""Count a letter: how many times it occurs in a row of letters."""

from __future__ import annotations

import random

from routejax.envs.local.form import environment, size
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced, symbols

LETTERS = "FGH"
NUMBERS = [str(n) for n in range(100)]


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """A letter and a row of letters that holds it at least once."""
    letter = rng.choice(LETTERS)
    items = [rng.choice(LETTERS) for _ in range(size(difficulty) + 2)]
    if letter not in items:
        items[rng.randrange(len(items))] = letter
    return f"Count {letter}: {spaced(items)}", {"letter": letter, "items": items}


def check(config: dict, answer: str) -> bool | None:
    """Whether the answer is the number of occurrences."""
    got = symbols(answer, NUMBERS)
    if got is None or len(got) != 1:
        return None
    return got == [str(config["items"].count(config["letter"]))]


def _tally(
    items: list[str], letter: str, say: str, rng: random.Random
) -> tuple[int, list[Step]]:
    """A running count over the items."""
    total, steps = 0, []
    for x in items:
        off = total + (x != letter)
        total += x == letter
        steps.append(Step(say.format(x, total), say.format(x, off)))
    return total, steps


def _left(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("{} {}.", "{} makes {}."))
    total, steps = _tally(config["items"], config["letter"], say, rng)
    return Work(steps, str(total))


def _right(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("So {} {}.", "Then {} {}."))
    total, steps = _tally(config["items"][::-1], config["letter"], say, rng)
    return Work(steps, str(total))


def _keep(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Cancel {}, left with {}.", "{} cancel, remaining {}."))
    letter, items, steps = config["letter"], list(config["items"]), []
    for other in LETTERS:
        if other == letter or other not in items:
            continue
        bad = list(items)
        bad.remove(letter)
        items = [x for x in items if x != other]
        steps.append(
            Step(say.format(other, spaced(items)), say.format(other, spaced(bad)))
        )
    total = len(items)
    steps.append(Step(f"Thus {total}.", f"Thus {total + 1}."))
    return Work(steps, str(total))


def _halves(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Half {} has {}.", "The part {} has {}."))
    letter, items = config["letter"], config["items"]
    middle = len(items) // 2
    counts, steps = [], []
    for part in (items[:middle], items[middle:]):
        n = part.count(letter)
        counts.append(n)
        steps.append(Step(say.format(spaced(part), n), say.format(spaced(part), n + 1)))
    a, b = counts
    steps.append(Step(f"{a} + {b} = {a + b}.", f"{a} + {b} = {a + b + 1}."))
    return Work(steps, str(a + b))


def _places(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("{} at {}.", "Observe {} at {}."))
    letter, items = config["letter"], config["items"]
    places = [i + 1 for i, x in enumerate(items) if x == letter]
    other = [i + 1 for i, x in enumerate(items) if x != letter]
    steps = []
    for place in places:
        wrong = say.format(letter, rng.choice(other)) if other else None
        steps.append(Step(say.format(letter, place), wrong))
    total = len(places)
    steps.append(Step(f"Thus {total}.", f"Thus {total + 1}."))
    return Work(steps, str(total))


def _matches(config: dict, answer: str) -> str:
    return f"{spaced([config['letter']] * int(answer))} is {answer}."


def _from_right(config: dict, answer: str) -> str:
    total, parts = 0, []
    for x in config["items"][::-1]:
        total += x == config["letter"]
        parts.append(f"{x} {total}")
    return f"{', '.join(parts)}."


ROUTES = {
    "left": Route(("Count from the left.", "Go step by step."), _left, _matches),
    "right": Route(
        ("Go backward from the right.", "Start at the end."), _right, _matches
    ),
    "keep": Route(("Cancel the others.", "The others cancel."), _keep, _from_right),
    "halves": Route(
        ("Split into halves.", "Break down into parts."),
        _halves,
        _matches,
        plan="First, count each half. Then add.",
    ),
    "places": Route(
        ("List all of them.", "Notice each."),
        _places,
        _from_right,
    ),
}

ENVIRONMENT = environment(
    "count", "count how often a letter occurs", generate, check, ROUTES
)
