"""Sort digits in ascending order: five sorting algorithms, each line one move.

Four of them can also drop copies where digits meet, which is how `distinct` is solved.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import chain, pairwise

from routejax.envs.local.form import environment, size
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced, symbols

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


def ascending(items: Iterable[int], distinct: bool) -> list[int]:
    """The digits in ascending order; each once if they shall be distinct."""
    return sorted(set(items) if distinct else items)


def _without(items: list[int], x: int, distinct: bool) -> list[int]:
    """The digits after one has been taken; its copies go with it if `distinct`."""
    if distinct:
        return [y for y in items if y != x]
    at = items.index(x)
    return items[:at] + items[at + 1 :]


def _select(
    items: list[int],
    pick: Callable[[list[int]], int],
    say: str,
    rng: random.Random,
    distinct: bool,
) -> tuple[list[int], list[Step]]:
    """The digits in the order in which `pick` takes them, and the steps that say so."""
    rest, taken, steps = list(items), [], []

    def line(x: int) -> str:
        left = _without(rest, x, distinct)
        start, more = say.split("|")
        return start.format(x) + (more.format(spaced(left)) if left else "") + "."

    while rest:
        best = pick(rest)
        others = [x for x in rest if x != best]
        steps.append(Step(line(best), line(rng.choice(others)) if others else None))
        rest = _without(rest, best, distinct)
        taken.append(best)
    return taken, steps


def smallest(config: dict, rng: random.Random, distinct: bool = False) -> Work:
    """Take the smallest again and again."""
    say = rng.choice(("{}|, remaining {}", "{}| leaves {}"))
    taken, steps = _select(config["items"], min, say, rng, distinct)
    return Work(steps, spaced(taken))


def largest(config: dict, rng: random.Random, distinct: bool = False) -> Work:
    """Take the largest again and again, and read backward."""
    say = rng.choice(("So {}| after {}", "Then {}| after {}"))
    taken, steps = _select(config["items"], max, say, rng, distinct)
    return Work(steps, spaced(taken[::-1]))


def insert(config: dict, rng: random.Random, distinct: bool = False) -> Work:
    """Insert one digit after the other."""
    say = rng.choice(("{} gives {}.", "{} makes {}."))
    done: list[int] = []
    steps = []
    for x in config["items"]:
        places = [[*done[:i], x, *done[i:]] for i in range(len(done) + 1)]
        done = ascending([*done, x], distinct)
        bad = [say.format(x, spaced(p)) for p in places if p != done]
        steps.append(
            Step(say.format(x, spaced(done)), rng.choice(bad) if bad else None)
        )
    return Work(steps, spaced(done))


def disorder(run: list[int], rng: random.Random) -> list[int] | None:
    """The run with two unequal neighbours swapped, if it has such."""
    at = [i for i, (a, b) in enumerate(pairwise(run)) if a != b]
    if not at:
        return None
    i = rng.choice(at)
    return [*run[:i], run[i + 1], run[i], *run[i + 2 :]]


def merge(config: dict, rng: random.Random, distinct: bool = False) -> Work:
    """Merge neighbouring runs until one is left."""
    say = rng.choice(("Merge: {}.", "So {}."))
    runs = [[x] for x in config["items"]]
    steps = []
    while len(runs) > 1:
        pairs = [runs[i : i + 2] for i in range(0, len(runs), 2)]
        runs = [ascending(chain.from_iterable(pair), distinct) for pair in pairs]
        bad = list(runs)
        for i, run in enumerate(runs):
            if other := disorder(run, rng):
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
        bad = disorder(now, rng)
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
        smallest,
        _descending,
    ),
    "largest": Route(
        ("Go backward from the largest.", "The largest must be last."),
        largest,
        _ascending,
    ),
    "insert": Route(
        ("Insert them one by one.", "Build it step by step."),
        insert,
        _descending,
    ),
    "merge": Route(
        ("Split into pairs.", "Break down into pairs."),
        merge,
        _descending,
        plan="First, sort the pairs. Then merge the pairs.",
    ),
    "bubble": Route(
        ("Swap what is out of order.", "Rearrange pairs."),
        _bubble,
        _descending,
    ),
}

ENVIRONMENT = environment(
    "sort", "sort digits in ascending order", generate, check, ROUTES
)
