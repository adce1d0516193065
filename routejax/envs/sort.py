"""Sort digits in ascending order: five sorting algorithms, each line one move."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import chain, pairwise

from routejax.envs.problem import Environment, size, spaced, symbols
from routejax.envs.route import Route, Step, Work

DIGITS = "0123456789"


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """Digits, at least two of them different (else no step could go wrong)."""
    while True:
        items = [rng.randrange(10) for _ in range(size(difficulty))]
        if len(set(items)) > 1:
            return f"Sort: {spaced(items)}", {"items": items}


def check(config: dict, answer: str) -> bool | None:
    """Whether the answer is the digits in ascending order."""
    got = symbols(answer, DIGITS)
    return None if got is None else got == [str(x) for x in sorted(config["items"])]


def _select(
    items: list[int], pick: Callable[[list[int]], int], say: str, rng: random.Random
) -> tuple[list[int], list[Step]]:
    """The digits in the order in which `pick` takes them, and the steps that say so."""
    rest, taken, steps = list(items), [], []

    def line(x: int) -> str:
        left = list(rest)
        left.remove(x)
        start, more = say.split("|")
        return start.format(x) + (more.format(spaced(left)) if left else "") + "."

    while rest:
        best = pick(rest)
        others = [x for x in rest if x != best]
        steps.append(Step(line(best), line(rng.choice(others)) if others else None))
        rest.remove(best)
        taken.append(best)
    return taken, steps


def _smallest(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("{}|, remaining {}", "{}| leaves {}"))
    taken, steps = _select(config["items"], min, say, rng)
    return Work(steps, spaced(taken))


def _largest(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("So {}| after {}", "Then {}| after {}"))
    taken, steps = _select(config["items"], max, say, rng)
    return Work(steps, spaced(taken[::-1]))


def _insert(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("{} gives {}.", "{} makes {}."))
    done: list[int] = []
    steps = []
    for x in config["items"]:
        places = [[*done[:i], x, *done[i:]] for i in range(len(done) + 1)]
        done = sorted([*done, x])
        bad = [say.format(x, spaced(p)) for p in places if p != done]
        steps.append(
            Step(say.format(x, spaced(done)), rng.choice(bad) if bad else None)
        )
    return Work(steps, spaced(done))


def _disorder(run: list[int], rng: random.Random) -> list[int] | None:
    """The run with two unequal neighbours swapped, if it has such."""
    at = [i for i, (a, b) in enumerate(pairwise(run)) if a != b]
    if not at:
        return None
    i = rng.choice(at)
    return [*run[:i], run[i + 1], run[i], *run[i + 2 :]]


def _merge(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Merge: {}.", "So {}."))
    runs = [[x] for x in config["items"]]
    steps = []
    while len(runs) > 1:
        pairs = [runs[i : i + 2] for i in range(0, len(runs), 2)]
        runs = [sorted(chain.from_iterable(pair)) for pair in pairs]
        bad = list(runs)
        for i, run in enumerate(runs):
            if other := _disorder(run, rng):
                bad[i] = other
                break
        wrong = say.format(", ".join(map(spaced, bad))) if bad != runs else None
        steps.append(Step(say.format(", ".join(map(spaced, runs))), wrong))
    return Work(steps, spaced(runs[0]))


def _bubble(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Swap to {}.", "Move to {}."))
    now = list(config["items"])
    steps = []
    while not steps or now != sorted(now):
        for i in range(len(now) - 1):
            now[i : i + 2] = sorted(now[i : i + 2])
        bad = _disorder(now, rng)
        steps.append(
            Step(say.format(spaced(now)), say.format(spaced(bad)) if bad else None)
        )
    return Work(steps, spaced(now))


def _descending(config: dict, answer: str) -> str:
    return f"backward {spaced(sorted(config['items'], reverse=True))}."


def _ascending(config: dict, answer: str) -> str:
    return f"forward {spaced(sorted(config['items']))}."


ROUTES = {
    "smallest": Route(
        ("Take the smallest each time.", "List all from the smallest."),
        _smallest,
        _descending,
    ),
    "largest": Route(
        ("Go backward from the largest.", "The largest must be last."),
        _largest,
        _ascending,
    ),
    "insert": Route(
        ("Insert them one by one.", "Build it step by step."),
        _insert,
        _descending,
    ),
    "merge": Route(
        ("Split into pairs.", "Break down into pairs."),
        _merge,
        _descending,
        plan="First, sort the pairs. Then merge the pairs.",
    ),
    "bubble": Route(
        ("Swap what is out of order.", "Rearrange pairs."),
        _bubble,
        _descending,
    ),
}

ENVIRONMENT = Environment(
    "sort", "sort digits in ascending order", generate, check, ROUTES
)
