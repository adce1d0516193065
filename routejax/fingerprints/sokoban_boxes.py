"""Second group of Sokoban signatures: how a trace handles the boxes (A.7).

The habits are the paper's: starts from the goals, starts from a box and pushes forward,
pairs boxes with goals, tests the line a box can be pushed along, checks for positions
where a box would be stuck. How each is measured is our choice: pushes by the moves that
are told, pairs and lines by the cells named for boxes and goals, the rest by what the
trace says (`sokoban_cues.BOXES`).
"""

from __future__ import annotations

from itertools import pairwise
from math import log1p

import numpy as np

from routejax.fingerprints.sokoban_cues import BOXES, ROLES
from routejax.fingerprints.sokoban_path import (
    earliness,
    log_mean,
    per_word,
    row_shares,
    run_lengths,
    share,
    way_numbers,
)
from routejax.fingerprints.sokoban_read import Named, Reading

_CELL_ROLES = (*ROLES, "")
_PLAIN = {"": "none"}
_TRANSITION_ROLES = ("player", "box", "goal", "other")
_EARLY = ("backward", "pair", "deadlock")

TABLE = {
    # Pushes.
    "log_pushes": "log(1 + pushes told)",
    "pushes": "share of the walked moves that are pushes",
    "weighed": "share of described moves that are only weighed",
    "log_push_run": "log(1 + mean pushes in one direction in a row)",
    "log_approach": "log(1 + mean moves without a push between two runs of pushes)",
    "early_push": "share of the text after the first push; 0 without one",
    # What it says.
    **{
        f"says_{name}": f"signs of '{what}', per word"
        for name, (what, _) in BOXES.items()
    },
    **{
        f"early_{name}": f"share of the text after the first sign of '{BOXES[name][0]}'"
        for name in _EARLY
    },
    # Which objects.
    **{
        f"cell_{_PLAIN.get(role, role)}": "share of named cells "
        + (f"named for a {role}" if role else "named for no object")
        for role in _CELL_ROLES
    },
    **{
        f"opens_{role}": f"1 if the first object named is a {role}"
        for role in ("player", "box", "goal")
    },
    "goals_first": "share of goals among the first third of all words for boxes and "
    "goals",
    # Pairs of boxes and goals.
    "box_to_goal": "share of steps between box and goal cells from a box to a goal",
    "goal_to_box": "share of steps between box and goal cells from a goal to a box",
    "log_pairs": "log(1 + different pairs of a box cell and the goal cell named next)",
    "pair_repeats": "share of such pairs that were named before",
    # Lines and stances.
    "lines": "share of named cells that end three in a line, one of them a box",
    "beside_box": "share of named cells without a box that touch the last named box",
    # The ways of boxes.
    "log_box_cells": "log(1 + distinct cells named for a box)",
    "box_steps": "share of changes from box cell to box cell that are one step",
    "box_straight": "share of such steps that go as the one before",
    "box_returns": "share of box cells that were named before",
    "log_labels": "log(1 + different names of boxes: 'box A', 'first box')",
    "label_switches": "share of the names of boxes that differ from the one before",
    # From object to object.
    **{
        f"{a}->{b}": f"share of {b} cells among the cells named after {a} cells"
        for a in _TRANSITION_ROLES
        for b in _TRANSITION_ROLES
    },
}


def boxes(reading: Reading) -> dict[str, float]:
    """The values of `TABLE`."""
    return {
        **_pushes(reading),
        **_said(reading),
        **_objects(reading),
        **_pairs(reading.named),
        **_lines(reading.named),
        **_box_ways(reading),
        **_transitions(reading.named),
    }


def _pushes(reading: Reading) -> dict[str, float]:
    made = [moves for moves in reading.moves if moves.state == "walked"]
    told = "".join(moves.ways for moves in made)
    pushes = [way for way in told if way.isupper()]
    described = sum(len(moves.ways) for moves in reading.moves)
    weighed = sum(len(m.ways) for m in reading.moves if m.state == "weighed")
    return {
        "log_pushes": log1p(len(pushes)),
        "pushes": share(len(pushes), len(told)),
        "weighed": share(weighed, described),
        "log_push_run": log_mean(run_lengths(pushes)),
        "log_approach": log_mean(_approaches(told)),
        "early_push": earliness(
            next((m.at for m in made if not m.ways.islower()), None), reading.characters
        ),
    }


def _approaches(told: str) -> list[int]:
    """Lengths of the runs of other moves that stand between two pushes."""
    between = told.strip("udlr")
    lengths = run_lengths(way.isupper() for way in between)
    return lengths[1::2]  # pushes begin and end, so every other run is of moves


def _said(reading: Reading) -> dict[str, float]:
    cues, words = reading.cues, reading.words
    said = {f"says_{name}": per_word(len(cues.get(name, ())), words) for name in BOXES}
    early = {
        f"early_{name}": earliness(
            next(iter(cues.get(name, ())), None), reading.characters
        )
        for name in _EARLY
    }
    return said | early


def _objects(reading: Reading) -> dict[str, float]:
    roles = [named.role for named in reading.named]
    words = [role for _, role in reading.objects]
    pushed = [role for role in words if role in ("box", "goal")]
    third = -(-len(pushed) // 3)
    return {
        **{
            f"cell_{_PLAIN.get(role, role)}": share(roles.count(role), len(roles))
            for role in _CELL_ROLES
        },
        **{
            f"opens_{role}": float(words[:1] == [role])
            for role in ("player", "box", "goal")
        },
        "goals_first": share(pushed[:third].count("goal"), third),
    }


def _pairs(named: list[Named]) -> dict[str, float]:
    """Steps between cells of boxes and goals, other cells left aside."""
    objects = [one for one in named if one.role in ("box", "goal")]
    steps = list(pairwise(objects))
    roles = [(a.role, b.role) for a, b in steps]
    pairs = [(a.cell, b.cell) for a, b in steps if (a.role, b.role) == ("box", "goal")]
    return {
        "box_to_goal": share(roles.count(("box", "goal")), len(roles)),
        "goal_to_box": share(roles.count(("goal", "box")), len(roles)),
        "log_pairs": log1p(len(set(pairs))),
        "pair_repeats": share(len(pairs) - len(set(pairs)), len(pairs)),
    }


def _lines(named: list[Named]) -> dict[str, float]:
    cells = np.array([one.cell for one in named], np.int64).reshape(-1, 2)
    steps = np.diff(cells, axis=0)
    is_box = np.array([one.role == "box" for one in named], bool)
    unit = np.abs(steps).sum(axis=1) == 1
    alike = (steps[1:] == steps[:-1]).all(axis=1) & unit[1:] & unit[:-1]
    with_box = is_box[2:] | is_box[1:-1] | is_box[:-2]
    beside = others = 0
    box = None
    for one in named:
        if one.role == "box":
            box = one.cell
        else:
            others += 1
            beside += box is not None and (
                abs(box[0] - one.cell[0]) + abs(box[1] - one.cell[1]) == 1
            )
    return {
        "lines": share((alike & with_box).sum(), len(named)),
        "beside_box": share(beside, others),
    }


def _box_ways(reading: Reading) -> dict[str, float]:
    cells = [one.cell for one in reading.named if one.role == "box"]
    path = np.array(cells, np.int64).reshape(-1, 2)
    steps = np.diff(path, axis=0)
    steps = steps[np.abs(steps).sum(axis=1) > 0]
    ways = way_numbers(steps)
    unit = ways < 4
    both = unit[1:] & unit[:-1]
    labels = reading.labels
    switches = sum(a != b for a, b in pairwise(labels))
    return {
        "log_box_cells": log1p(len(set(cells))),
        "box_steps": share(unit.sum(), len(unit)),
        "box_straight": share((both & (ways[1:] == ways[:-1])).sum(), both.sum()),
        "box_returns": share(len(cells) - len(set(cells)), len(cells)),
        "log_labels": log1p(len(set(labels))),
        "label_switches": share(switches, len(labels) - 1),
    }


def _transitions(named: list[Named]) -> dict[str, float]:
    number = {role: i for i, role in enumerate(_TRANSITION_ROLES)}
    roles = np.array([number.get(one.role, 3) for one in named], np.int64)
    counts = np.bincount(4 * roles[:-1] + roles[1:], minlength=16).reshape(4, 4)
    rates = row_shares(counts).ravel().tolist()
    names = [f"{a}->{b}" for a in _TRANSITION_ROLES for b in _TRANSITION_ROLES]
    return dict(zip(names, rates, strict=True))
