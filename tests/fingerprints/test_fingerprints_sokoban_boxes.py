"""How a trace handles the boxes: every feature by hand on small texts."""

from math import log, log1p

import pytest
from test_fingerprints_sokoban_traces import (
    BOARDS,
    VOICES,
    block,
    features,
)

from routejax.fingerprints.lexicon import phrases
from routejax.fingerprints.sokoban_boxes import TABLE
from routejax.fingerprints.sokoban_cues import BOXES

OBJECTS = (
    "Player at (1,1), box at (1,2), goal at (1,3), wall at (0,0), (5,5) is empty. "
    "See (7,7)."
)
PAIRS = "Box (1,1) to goal (2,2), box (3,3) to goal (4,4), box (1,1) to goal (2,2)"
BOX_WAY = "The box goes (1,1), (1,2), (1,3), (2,3), (2,3), (1,3)."
STRING = "Player at (1,1). Moves: rrRRUdl"

# Text → its features of the whole block, zeros left out.
WHOLE = {
    STRING: {
        "log_pushes": log(4),
        "pushes": 3 / 7,
        "log_push_run": log(2.5),  # RR, U
        "early_push": 1 - STRING.index("rr") / len(STRING),
        "cell_player": 1,
        "opens_player": 1,
    },
    OBJECTS: {
        **{f"cell_{role}": 1 / 6 for role in ("player", "box", "goal", "wall")},
        "cell_floor": 1 / 6,
        "cell_none": 1 / 6,
        "opens_player": 1,
        "box_to_goal": 1,
        "log_pairs": log(2),
        "lines": 1 / 6,
        "beside_box": 1 / 5,
        "log_box_cells": log(2),
        "player->box": 1,
        "box->goal": 1,
        "goal->other": 1,
        "other->other": 1,
    },
    PAIRS: {
        "cell_box": 1 / 2,
        "cell_goal": 1 / 2,
        "opens_box": 1,
        "goals_first": 1 / 2,
        "box_to_goal": 3 / 5,
        "goal_to_box": 2 / 5,
        "log_pairs": log(3),
        "pair_repeats": 1 / 3,
        "log_box_cells": log(3),
        "box_returns": 1 / 3,
        "box->goal": 1,
        "goal->box": 1,
    },
    BOX_WAY: {
        "cell_box": 1,
        "opens_box": 1,
        "lines": 1 / 6,
        "log_box_cells": log(5),
        "box_steps": 1,
        "box_straight": 1 / 3,
        "box_returns": 2 / 6,
        "box->box": 1,
    },
}

# Text → some of its features.
SOME = {
    "rRllUuR": {"log_approach": log(2.5), "log_push_run": log(2)},
    "RlRlllR": {"log_approach": log(3)},
    "rrlRRdd": {"log_approach": 0, "pushes": 2 / 7},
    "rrrrrrr": {"log_pushes": 0, "early_push": 0},
    "If I push right, no. Move up.": {"weighed": 1 / 2, "log_pushes": 0, "pushes": 0},
    "Push up, up. Go left.": {"pushes": 2 / 3, "early_push": 1 - 5 / 21},
    "Goals, goals, a box, a box.": {"opens_goal": 1, "goals_first": 1},
    "Goal, box, box, box.": {"goals_first": 1 / 2},
    "The box goes (1,1), (1,2), (1,3), (5,5).": {"box_straight": 1, "box_steps": 2 / 3},
    "Box A and box B, then box A.": {"log_labels": log(3), "label_switches": 1},
    "Box 1, box 1, first box, other box.": {
        "log_labels": log(3),
        "label_switches": 1 / 3,
    },
    # Two of four cells without a box lie beside the last named box.
    "Wall (1,1). Box (1,2). Go to (1,3), (2,2). Box (5,5). Go to (1,1)": {
        "beside_box": 2 / 4,
        "lines": 1 / 6,
    },
    # Three in a line, equally spaced, one of them a box.
    "Stand at (2,2). Box (2,3). Free: (2,4).": {"lines": 1 / 3},
    "Stand at (2,2), (2,3), (2,4).": {"lines": 0},
    "Box (2,2), box (2,4), box (2,6).": {"lines": 0, "box_steps": 0},
    "Fine. So pull it.": {
        "says_backward": log1p(1000 / 4),
        "early_backward": 1 - 6 / 17,
    },
    "Fine. Pair it. A pair.": {
        "says_pair": log1p(2000 / 5),
        "early_pair": 1 - 6 / 22,
    },
    "It is a deadlock.": {"says_deadlock": log1p(1000 / 4), "early_deadlock": 1},
    **{
        f"Zz {phrases(listed)[0]}": {
            f"says_{name}": log1p(1000 / (1 + len(phrases(listed)[0].split())))
        }
        for name, (_, listed) in BOXES.items()
    },
    # From object to object; floor, wall and none are one.
    "Wall (0,0). Player (1,1). Goal (2,2). Player (1,1). Box (3,3). Wall (0,0). "
    "Box (3,3)": {
        "other->player": 1 / 2,
        "other->box": 1 / 2,
        "player->goal": 1 / 2,
        "player->box": 1 / 2,
        "goal->player": 1,
        "box->other": 1,
    },
    "Player (1,1), player (2,2). (7,7). Goal (3,3), goal (3,4). Wall (0,0), goal (3,3)":
        {
        "player->player": 1 / 2,
        "player->other": 1 / 2,
        "goal->goal": 1 / 2,
        "goal->other": 1 / 2,
        "other->goal": 1,
    },
    "Box (3,3), player (4,4).": {"box->player": 1},
}  # fmt: skip


@pytest.mark.parametrize("text", WHOLE)
def test_whole_blocks(text):
    assert block("boxes", text) == pytest.approx(WHOLE[text])


@pytest.mark.parametrize("text", SOME)
def test_some_features(text):
    found = block("boxes", text)
    got = {name: found.get(name, 0) for name in SOME[text]}
    assert got == pytest.approx(SOME[text])


def test_every_feature_has_an_example():
    rows = [*WHOLE.values(), *SOME.values()]
    assert {name for row in rows for name, value in row.items() if value} == set(TABLE)


@pytest.mark.parametrize("here", BOARDS[1:])
def test_habits_are_told_apart(here):
    """The paper's habits, each highest in the voice that has it, on every board."""
    voices = {name: features(voice(here)) for name, voice in VOICES.items()}
    for habit, wanted in {
        "boxes/says_backward": "backward",
        "boxes/says_deadlock": "worrier",
        "boxes/says_corner": "worrier",
        "boxes/says_pair": "pairer",
        "boxes/weighed": "worrier",
        "boxes/pair_repeats": "pairer",
        "boxes/pushes": "walker",
    }.items():
        values = {name: found[habit] for name, found in voices.items()}
        best = max(values.values())
        assert values[wanted] == best > 0, (habit, values)
        assert sorted(values.values())[-2] < best or habit == "boxes/pushes"
