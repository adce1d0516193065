"""How a trace travels and what it covers: every feature by hand on small routes."""

from math import log, log1p

import pytest
from test_fingerprints_sokoban_traces import block, chain, tour

from routejax.fingerprints.sokoban_cover import TABLE as COVER
from routejax.fingerprints.sokoban_travel import TABLE as TRAVEL


def walked(ways: str) -> str:
    """A trace that tells a route from (1, 1) by its cells."""
    return chain(tour((1, 1), ways))


STRAIGHT = walked("rrrr")
LOOP = "Player at (1,1). RRDDLLUU"
RETREAT = "Player at (1,1). RRRLL"
STAIRS = walked("rdrd")
JUMPS = chain([(1, 1), (1, 2), (5, 5), (5, 6), (5, 7)])
LANES = "Player at (1,1). RRDLLDRR"

# Text → its features of the whole block, zeros left out.
WHOLE = {
    STRAIGHT: {
        "log_cells": log(6),
        "log_strolls": log(2),
        "log_mean_stroll": log(5),
        "longest_stroll": 1,
        "directness": 1,
        "direct_strolls": 1,
        "one_line": 1,
        "straight_on": 1,
        "row_lists": 1,
        "log_row_list": log(6),
        "reading_order": 4 / 5,
        "corridor_cells": 3 / 5,
        "log_corridor": log(3),
        "outward": 1,
        "log_reach": log(5),
        "layered": 1,
    },
    LOOP: {
        "log_cells": log(10),
        "log_moves": log(9),
        "log_strolls": log(2),
        "log_mean_stroll": log(9),
        "longest_stroll": 1,
        "closed_strolls": 1,
        "straight_on": 4 / 7,
        "quarter_turns": 3 / 7,
        "log_loops": log(2),
        "loop_steps": 1,
        "log_mean_loop": log(9),
        "home_visits": 2 / 9,
        "log_home_returns": log(2),
        "log_excursion": log(9),
        "start_returns": 1 / 8,
        "corridor_cells": 1,
        "log_corridor": log(8),
        "fill": 8 / 9,
        "outward": 1 / 2,
        "inward": 1 / 2,
        "log_reach": log(5),
        "layered": 4 / 7,
    },
    RETREAT: {
        "log_cells": log(7),
        "log_moves": log(6),
        "log_strolls": log(2),
        "log_mean_stroll": log(6),
        "longest_stroll": 1,
        "directness": 1 / 5,
        "straight_on": 3 / 4,
        "reversals": 1 / 4,
        "retraced": 4 / 5,
        "longest_retreat": 2 / 5,
        "home_visits": 2 / 6,
        "log_home_returns": log(2),
        "log_excursion": log(5),
        "home_centrality": 1 - 0.5 / 1.5,
        "corridor_cells": 2 / 4,
        "log_corridor": log(2),
        "outward": 3 / 5,
        "inward": 2 / 5,
        "log_reach": log(4),
        "layered": 1,
    },
}

# Text → some of its features.
SOME = {
    STAIRS: {"quarter_turns": 1, "staircase": 2 / 4, "one_line": 0, "directness": 1},
    JUMPS: {
        "log_strolls": log(3),
        "log_mean_stroll": log(2.5),
        "longest_stroll": 2 / 3,
        "direct_strolls": 0,
        "log_corridor": 0,
    },
    # A target beside the end, by the shortest way, by a detour, and none.
    "Player at (1,1), box at (1,4). Move right, right.": {
        "to_target": 1,
        "direct_to_target": 1,
    },
    "Player at (1,1), goal at (1,3). Move down, right, right, up.": {
        "to_target": 1,
        "direct_to_target": 0,
        "direct_strolls": 0,
    },
    "Player at (1,1), wall at (1,4). Move right, right.": {"to_target": 0},
    "Player at (1,1), box at (2,4). Move right, right.": {"to_target": 0},
    "Move right, up. I cannot move left.": {"log_moves": log(4), "denied": 1 / 3},
    "The box is on the left of me.": {"places": log1p(1000 / 8)},
    # Home is the most visited cell, the first of several; start may be another.
    chain([(1, 1), (1, 3), (3, 3), (1, 3), (4, 4), (1, 3), (1, 1)]): {
        "home_visits": 3 / 7,
        "log_home_returns": log(3),
        "log_excursion": log(3),
        "start_returns": 1 / 6,
    },
    # Lists of named cells.
    "(1,2), (2,2), (3,2), (7,7)": {
        "column_lists": 3 / 4,
        "log_column_list": log(4),
        "row_lists": 0,
        "reading_order": 0,
    },
    # One and the same cell twice is one; a closed list ends with its first cell.
    "(1,1), (1,1), (1,2), (1,3)": {"row_lists": 1},
    "(1,1), (1,2), (1,3), (2,3), (1,1)": {"row_lists": 3 / 5},
    walked("rrll"): {"row_lists": 1, "log_row_list": log(4)},
    walked("dduu"): {"column_lists": 1},
    "(1,3), (1,2)": {"reading_order": 0},
    "(1,2), (1,3), (2,3)": {"row_lists": 0, "column_lists": 0, "reading_order": 1 / 3},
    chain([(r, c) for r in range(3) for c in range(3)]): {
        "row_lists": 1,
        "log_row_list": log(4),
        "reading_order": 8 / 9,
        "lanes": 0,
        "fill": 1,
        "room_cells": 1,
    },
    "(3,3): (2,3), (4,3), (3,2)": {"fans": 1 / 4},
    "(3,3): (2,3), (4,3), (5,2)": {"fans": 0},
    "(3,3): (5,5), (2,3), (4,3), (3,2)": {"fans": 0},
    "(1,1), (1,3), (3,1)": {"outward": 1 / 2, "inward": 0, "layered": 1 / 2},
    # A room, its lanes, and a corridor.
    LANES: {"lanes": 6 / 8, "fill": 1, "room_cells": 1, "log_corridor": log(7)},
    walked("rrdrrull"): {"lanes": 4 / 8},  # the second lane and the third
    walked("rrdrr"): {"lanes": 0},
    walked("rrddll"): {"lanes": 0, "room_cells": 0},  # two steps aside
    walked("rdl"): {"lanes": 0, "room_cells": 1, "fill": 1},
    walked("rr") + "; (9,9)": {"corridor_cells": 1 / 4, "fill": 4 / 81},
    "The corridor is narrow.": {"corridor_words": log1p(2000 / 4)},
    "Scan it row by row.": {"scan_words": log1p(2000 / 5)},
    "Which cells are reachable?": {"reach_words": log1p(1000 / 4)},
}


@pytest.mark.parametrize("text", WHOLE)
def test_whole_blocks(text):
    assert block("travel", text) == pytest.approx(WHOLE[text])


@pytest.mark.parametrize("text", SOME)
def test_some_features(text):
    found = block("travel", text)
    got = {name: found.get(name, 0) for name in SOME[text]}
    assert got == pytest.approx(SOME[text])


def test_every_feature_has_an_example():
    shown = {n for table in (WHOLE, SOME) for row in table.values() for n in row}
    assert shown == set(TRAVEL) | set(COVER)
    assert not set(TRAVEL) & set(COVER)
    never = {n for n in shown if not any(
        row.get(n) for table in (WHOLE, SOME) for row in table.values()
    )}  # fmt: skip
    assert not never


def test_habits_are_told_apart():
    """The paper's habits, each highest in the trace that has it."""
    traces = {
        "direct_strolls": STRAIGHT,
        "retraced": walked("rrrrllll"),
        "loop_steps": LOOP,
        "log_home_returns": chain([(2, 2), (1, 2), (2, 2), (3, 2), (2, 2), (2, 3)] * 3),
        "column_lists": walked("dddd"),
        "lanes": LANES,
        "fans": "(3,3): (2,3), (4,3), (3,2), (3,4)",
        "log_corridor": walked("rrrrrddddd"),
    }
    found = {habit: block("travel", text) for habit, text in traces.items()}
    for habit in traces:
        values = {other: found[other].get(habit, 0) for other in traces}
        assert max(values, key=lambda other: values[other]) == habit, (habit, values)


def test_a_walk_of_its_own_is_not_linked_to_named_objects():
    """Cells of boxes, goals and walls are landmarks, not visits."""
    text = "Player at (1,1). Move right. Box at (5,5), wall (6,6). Move right."
    assert block("travel", text)["log_mean_stroll"] == pytest.approx(log(3))
