"""Sort the distinct digits: `sort`, but each digit stands in the answer once.

A variant to hold out of SFT: who only sorts is right where no digit has a copy.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

from routejax.envs.local import sort
from routejax.envs.local.form import environment
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced, symbols


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """The digits of a `sort` problem; copies come as they are drawn."""
    _, config = sort.generate(rng, difficulty)
    return f"Sort distinct: {spaced(config['items'])}", config


def check(config: dict, answer: str) -> bool | None:
    """Whether the answer is every digit that occurs, once, in ascending order."""
    got = symbols(answer, sort.DIGITS)
    return None if got is None else got == list(map(str, _distinct(config)))


def _distinct(config: dict) -> list[int]:
    return sort.ascending(config["items"], distinct=True)


def _cancel(config: dict, rng: random.Random) -> Work:
    """Sort as always, then the copies of one digit after the other go."""
    say, drop = rng.choice(
        (
            ("Rearrange: {}.", "Cancel {}, left with {}."),
            ("We have {}.", "{} cancel, remaining {}."),
        )
    )
    items = sorted(config["items"])
    bad = sort.disorder(items, rng)
    steps = [Step(say.format(spaced(items)), say.format(spaced(bad)) if bad else None)]
    for x in _distinct(config):
        copies = [x] * (items.count(x) - 1)
        if not copies:
            continue
        none_left = [y for y in items if y != x]
        items = sorted([*none_left, x])
        text = drop.format(spaced(copies), spaced(items))
        steps.append(Step(text, drop.format(spaced(copies), spaced(none_left))))
    return Work(steps, spaced(items))


def _keep(config: dict, rng: random.Random) -> Work:
    """Read from the left and skip what was seen; then sort what was kept."""
    keep, skip = rng.choice((("Keep {}.", "Skip {}."), ("Take {}.", "Pass {}.")))
    kept: list[int] = []
    steps = []
    for x in config["items"]:
        if x in kept:
            steps.append(Step(skip.format(x), keep.format(x)))
        else:
            kept.append(x)
            steps.append(Step(keep.format(x), skip.format(x)))
    final = _distinct(config)
    bad = sort.disorder(final, rng)
    steps.append(Step(f"Left with {spaced(kept)}."))
    steps.append(
        Step(f"Thus {spaced(final)}.", f"Thus {spaced(bad)}." if bad else None)
    )
    return Work(steps, spaced(final))


def _descending(config: dict, answer: str) -> str:
    return f"backward {spaced(_distinct(config)[::-1])}."


def _ascending(config: dict, answer: str) -> str:
    return f"forward {spaced(_distinct(config))}."


# Routes of `sort` in which copies go as soon as equal digits meet.
_SHARED = {
    "smallest": (sort.smallest, _descending),
    "largest": (sort.largest, _ascending),
    "insert": (sort.insert, _descending),
    "merge": (sort.merge, _descending),
}
ROUTES = {
    name: replace(sort.ROUTES[name], work=partial(work, distinct=True), recheck=again)
    for name, (work, again) in _SHARED.items()
} | {
    "cancel": Route(
        ("Cancel what is equal.", "Notice what is equal."),
        _cancel,
        _descending,
        plan="First, sort all of them. Then cancel what is equal.",
    ),
    "keep": Route(
        ("Keep one of each.", "Skip what is equal."),
        _keep,
        _descending,
    ),
}

ENVIRONMENT = environment(
    "distinct", "sort the distinct digits in ascending order", generate, check, ROUTES
)
