"""Walk on a fenced 10 by 10 grid: a move that would leave the grid does nothing.

A variant of `walk` to hold out of SFT: who walks on the torus is right where no move
meets the fence. Moves no longer commute, so the routes of `walk` that reorder or count
them hold only once the moves that do nothing are skipped.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from routejax.envs.local import walk
from routejax.envs.local.form import environment
from routejax.envs.local.walk import AXES, OPPOSITE, SIDE
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced


def stop(value: int) -> int:
    """The coordinate inside the fence."""
    return min(max(value, 0), SIDE - 1)


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """The start cell and moves of a `walk` problem; some meet the fence as drawn."""
    _, config = walk.generate(rng, difficulty)
    start, moves = spaced(config["start"]), spaced(config["moves"])
    return f"Walk fenced from {start}: {moves}", config


def _skips(config: dict) -> tuple[dict, list[tuple[str, str]]]:
    """The walk without the moves that do nothing; each of those with its cell."""
    cell, inside, skipped = config["start"], [], []
    for move in config["moves"]:
        after = walk.go(cell, move, stop)
        if after == cell:
            skipped.append((move, spaced(cell)))
        else:
            inside.append(move)
        cell = after
    return {**config, "moves": inside}, skipped


def _skipping(
    work: Callable[[dict, random.Random], Work], config: dict, rng: random.Random
) -> Work:
    """A route of `walk` on the moves that stay inside."""
    say = rng.choice(("Skip {} at {}.", "Pass {} at {}."))
    inside, skipped = _skips(config)
    steps = [
        Step(say.format(move, cell), say.format(OPPOSITE[move], cell))
        for move, cell in skipped
    ]
    wrong = f"Left with {spaced(config['moves'])}." if skipped else None
    steps.append(Step(f"Left with {spaced(inside['moves'])}.", wrong))
    rest = work(inside, rng)
    return Work(steps + rest.steps, rest.answer)


def _beside(value: int, rng: random.Random) -> int:
    """A neighbouring coordinate inside the fence."""
    return rng.choice([x for x in (value - 1, value + 1) if stop(x) == x])


def _last(config: dict, rng: random.Random) -> Work:
    """Each coordinate from where it last met the fence; what came before is void."""
    say = rng.choice(("{} {}, left with {}.", "{} {}, remaining {}."))
    final, steps = [], []
    for (name, more, less), start in zip(AXES, config["start"], strict=True):
        own = [m for m in config["moves"] if m in (more, less)]
        value, known, rest = start, start, own
        for i, move in enumerate(own, 1):
            after = stop(value + (1 if move == more else -1))
            if after == value:
                known, rest = value, own[i:]
            value = after
        value = known + rest.count(more) - rest.count(less)
        text = say.format(name, known, spaced(rest))
        wrong = say.format(name, _beside(known, rng), spaced(rest))
        end = f"So {name} {value}.", f"So {name} {_beside(value, rng)}."
        steps += [Step(text, wrong), Step(*end)]
        final.append(value)
    return Work(steps, spaced(final))


def _by_count(config: dict, answer: str) -> str:
    return walk.by_count(_skips(config)[0], answer)


_by_path = partial(walk.by_path, bound=stop)

ROUTES = {
    "path": replace(
        walk.ROUTES["path"], work=partial(walk.path, bound=stop), recheck=_by_count
    ),
    "axes": replace(
        walk.ROUTES["axes"], work=partial(walk.axes, bound=stop), recheck=_by_path
    ),
    "cancel": Route(
        ("Skip what is out. Then cancel.", "Notice what is out. Then cancel."),
        partial(_skipping, walk.cancel),
        _by_path,
        plan="First, cancel what is out. Then cancel the pairs.",
    ),
    "net": Route(
        ("Skip what is out. Then count.", "Notice what is out. Then count."),
        partial(_skipping, walk.net),
        _by_path,
        plan="First, cancel what is out. Then count.",
    ),
    "last": Route(
        ("Start at the last out.", "Notice what is out last."),
        _last,
        _by_count,
    ),
}

ENVIRONMENT = environment(
    "fence",
    "follow moves on a fenced 10 by 10 grid",
    generate,
    partial(walk.check, bound=stop),
    ROUTES,
)
