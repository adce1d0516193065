"""How a trace rebuilds the board: every feature by hand on small texts."""

from math import log, log1p

import pytest
from test_fingerprints_sokoban_traces import BOARDS, VOICES, block, features

from routejax.fingerprints.lexicon import phrases
from routejax.fingerprints.sokoban_cues import REBUILD
from routejax.fingerprints.sokoban_rebuild import TABLE

CELLS = "(1,1), (1,1), (1,2), (1,1), (1,2)"
ONE, TWO = "####\n#@ #\n####", "####\n# @#\n####"
DRAWN = f"{ONE}\n\nthen\n{TWO}\n\nso\n{ONE}"
LINES = "Row 1 is free. Row 2 is free. Row 1 again. Column 3."
NAMED = (
    "Walls (0,0), (0,1), (0,0). Player (1,1). Player (1,1). Player (1,2). "
    "Box (2,2). Box (2,2). Goal (2,2)."
)
BRIEF = "Player (1,1), box (2,2).\nSee (3,3).\nBox (2,2), goal (4,4)."
CORRECTED = (
    "The box is at (1,1). I misread it. The box is at (1,2). Actually, see (9,9)."
)

# Text → its features of the whole block, zeros left out.
WHOLE = {
    CELLS: {
        "cells_per_word": log(1001),
        "repeats": 3 / 5,
        "near_repeats": 3 / 5,
        "at_once": 1 / 5,
        "most_named": 3 / 5,
        "pair_repeats": 1 / 4,
        "evenness": -(0.6 * log(0.6) + 0.4 * log(0.4)) / log(2),
    },
    DRAWN: {
        "log_boards": log(4),
        "log_rows": log(10),
        "board_text": 36 / len(DRAWN),
        "same_boards": 1 / 3,
        "moved_boards": 2 / 3,
        "early_board": 1,
        "last_board": DRAWN.rindex(ONE) / len(DRAWN),
    },
    LINES: {
        "rows_per_word": log1p(4000 / 13),
        "row_rereads": 1 / 3,
        "rows_in_order": 1 / 3,
    },
}

# Text → some of its features.
SOME = {
    # The first cell again after eight others is near no more, after seven it is.
    " ".join(f"({i},0)" for i in (*range(9), 0)): {"repeats": 0.1, "near_repeats": 0},
    " ".join(f"({i},0)" for i in (*range(8), 0)): {"near_repeats": 1 / 9},
    "(1,1) (1,2) (1,1)": {"most_named": 2 / 3},
    "(1,1) (1,2)": {"most_named": 0, "evenness": 1, "pair_repeats": 0},
    # Boards that change in seven places, in none, or in shape have not moved.
    "#aa#".replace("a", " ") + "\n\n" + "#$#": {"moved_boards": 0, "single_rows": 1},
    "#       $#\n\n#@@@@@@@$#": {"moved_boards": 0},
    "#      .$#\n\n#@@@@@@.$#": {"moved_boards": 1 / 2, "single_rows": 1},
    "#@ #\n\n#@$#": {"moved_boards": 1 / 2},
    "#@#\n\n#@ #": {"moved_boards": 0},
    "#@#\n#@#\n\n#@#": {"moved_boards": 0},
    "#  $#\n\n#  $#": {"moved_boards": 0, "same_boards": 1 / 2},
    "Look:\n#@#\n#.#\n": {"single_rows": 0, "early_board": 1 - 6 / 14},
    "Row 1. Row 2. Row 3. Row 3.": {"rows_in_order": 2 / 4},
    "Player (1,1). Player (1,2). Player (1,3).": {"player_stays": 0},
    NAMED: {
        "wall_repeats": 1 / 3,
        "player_stays": 1 / 3,
        "object_repeats": 1 / 3,
        "log_roll_calls": log(2),
    },
    # Seven cells apart are no roll call; each cell serves one.
    "Player (1,1). See (2,1), (2,2), (2,3), (2,4). Box (3,3). Goal (4,4)": {
        "log_roll_calls": 0
    },
    "Player (1,1), box (3,3), goal (4,4), box (3,3). " * 2: {"log_roll_calls": log(3)},
    BRIEF: {"log_brief": log(3), "brief": 2 / 3, "log_brief_words": log(3)},
    CORRECTED: {
        "says_correct": log1p(2000 / 16),
        "early_correct": 1 - CORRECTED.index("I misread") / len(CORRECTED),
        "late_correct": 1 / 2,
        "corrected_cells": 1 / 2,
    },
    "Aaa. Oops.": {"late_correct": 1},  # at 5 of 10
    "Aa. Oops. ": {"late_correct": 0},
    # The same cell again, or the first of its role, corrects nothing.
    "Box at (1,1). I misread. Box at (1,1).": {"corrected_cells": 0},
    "Box at (1,1). I misread. Goal at (1,2).": {"corrected_cells": 0},
    "Box at (1,1). I misread.": {"corrected_cells": 0, "says_correct": log1p(200)},
    **{
        f"Zz {phrases(listed)[0]}": {
            f"says_{name}": log1p(1000 / (1 + len(phrases(listed)[0].split())))
        }
        for name, (_, listed) in REBUILD.items()
    },
}


@pytest.mark.parametrize("text", WHOLE)
def test_whole_blocks(text):
    assert block("rebuild", text) == pytest.approx(WHOLE[text])


@pytest.mark.parametrize("text", SOME)
def test_some_features(text):
    found = block("rebuild", text)
    got = {name: found.get(name, 0) for name in SOME[text]}
    assert got == pytest.approx(SOME[text])


def test_every_feature_has_an_example():
    rows = [*WHOLE.values(), *SOME.values()]
    assert {name for row in rows for name, value in row.items() if value} == set(TABLE)


@pytest.mark.parametrize("here", BOARDS)
def test_habits_are_told_apart(here):
    """The paper's habits, each highest in the voice that has it, on every board."""
    voices = {name: features(voice(here)) for name, voice in VOICES.items()}
    for habit, wanted in {
        "rebuild/log_boards": "redrawer",
        "rebuild/moved_boards": "redrawer",
        "rebuild/wall_repeats": "rereader",
        "rebuild/row_rereads": "rereader",
        "rebuild/corrected_cells": "rereader",
        "rebuild/says_correct": "rereader",
        "rebuild/log_roll_calls": "walker",
    }.items():
        values = {name: found[habit] for name, found in voices.items()}
        best = max(values.values())
        assert [n for n, v in values.items() if v == best] == [wanted], (habit, values)
