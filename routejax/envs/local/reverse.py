"""Reverse a row of letters: four procedures that show the row as it changes."""

from __future__ import annotations

import random

from routejax.envs.local.form import environment, size
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced, symbols

LETTERS = "FGHKMNPQ"


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """A row of letters that differs from its reverse."""
    while True:
        items = [rng.choice(LETTERS) for _ in range(size(difficulty))]
        if items != items[::-1]:
            return f"Reverse: {spaced(items)}", {"items": items}


def check(config: dict, answer: str) -> bool | None:
    """Whether the answer is the row from its end to its start."""
    got = symbols(answer, LETTERS)
    return None if got is None else got == config["items"][::-1]


def _last(config: dict, rng: random.Random) -> Work:
    more, end = rng.choice(
        (
            ("{}, remaining {}.", "{}."),
            ("{} leaves {}.", "{}."),
        )
    )
    rest, steps = list(config["items"]), []
    while rest:
        *left, x = rest
        wrong = more.format(rest[0], spaced(rest[1:])) if rest[0] != x else None
        steps.append(
            Step(more.format(x, spaced(left)) if left else end.format(x), wrong)
        )
        rest = left
    return Work(steps, spaced(config["items"][::-1]))


def _front(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("{} gives {}.", "{} makes {}."))
    done: list[str] = []
    steps = []
    for x in config["items"]:
        bad = [*done, x]
        done = [x, *done]
        wrong = say.format(x, spaced(bad)) if bad != done else None
        steps.append(Step(say.format(x, spaced(done)), wrong))
    return Work(steps, spaced(done))


def _halves(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Half {} gives {}.", "The part {} gives {}."))
    items = config["items"]
    middle = len(items) // 2
    parts = items[:middle], items[middle:]
    steps = []
    for part in parts:
        back = part[::-1]
        wrong = say.format(spaced(part), spaced(part)) if back != part else None
        steps.append(Step(say.format(spaced(part), spaced(back)), wrong))
    first, second = (part[::-1] for part in parts)
    done, bad = second + first, first + second
    wrong = f"Join: {spaced(bad)}." if bad != done else None
    steps.append(Step(f"Join: {spaced(done)}.", wrong))
    return Work(steps, spaced(done))


def _swap(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Swap to {}.", "Move to {}."))
    now, steps = list(config["items"]), []
    for i in range(len(now) // 2):
        j = len(now) - 1 - i
        a, b = now[i], now[j]
        before = list(now)
        now[i], now[j] = b, a
        wrong = say.format(spaced(before)) if a != b else None
        steps.append(Step(say.format(spaced(now)), wrong))
    return Work(steps, spaced(now))


def _read_back(config: dict, answer: str) -> str:
    return f"{answer} backward is {spaced(answer.split()[::-1])}."


ROUTES = {
    "last": Route(
        ("Go backward from the right.", "Start at the end."), _last, _read_back
    ),
    "front": Route(
        ("Insert them one by one.", "Build it step by step."), _front, _read_back
    ),
    "halves": Route(
        ("Split into halves.", "Break down into parts."),
        _halves,
        _read_back,
        plan="First, reverse each half. Then join.",
    ),
    "swap": Route(("Swap the ends.", "Rearrange the ends."), _swap, _read_back),
}

ENVIRONMENT = environment(
    "reverse", "reverse a row of letters", generate, check, ROUTES
)
