"""Shape and transitions of the path graph: every feature by hand on small walks."""

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fingerprints_sokoban_traces import block, chain, tour

from routejax.fingerprints.sokoban_graph import TABLE, adjacency, reached
from routejax.fingerprints.sokoban_path import path

WALK = chain([(0, 0), (0, 1), (1, 1), (0, 1), (4, 1)])
RING = chain(tour((1, 1), "rdlu"))
VISITS = (1, 2, 1, 1)

# Text → its features of the whole block, zeros left out.
WHOLE = {
    WALK: {
        "log_nodes": log(5),
        "log_edges": log(4),
        "density": 3 / 6,
        "revisits": 1 / 5,
        "edge_reuse": 1 / 4,
        "both_ways": 1 / 3,
        "fresh": 3 / 5,
        "visit_evenness": -sum(v / 5 * log(v / 5) for v in VISITS) / log(4),
        "new_first": 1,
        "new_middle": 1 / 2,
        "new_last": 1,
        "log_components": log(3),
        "largest_component": 3 / 4,
        "log_diameter": log(3),
        "mean_degree": 1,
        "degree_1": 1 / 2,
        "degree_2": 1 / 4,
        "log_height": log(6),
        "log_width": log(3),
        "squareness": 2 / 5,
        "end_distance": 1,
        "drift": 2.5 / 7,
        "log_longest_step": log(5),
        "steps_3_4": 1 / 4,
        "aligned": 1,
        **{f"way_{way}": 1 / 4 for way in ("up", "down", "right", "jump")},
        "way_evenness": log(3) / log(4),
        "log_run": log(2),
        "log_longest_run": log(2),
        "single_runs": 1,
        "right->down": 1,
        "down->up": 1,
        "up->jump": 1,
    },
    RING: {
        "log_nodes": log(5),
        "log_edges": log(5),
        "density": 4 / 6,
        "revisits": 1 / 5,
        "fresh": 4 / 5,
        "visit_evenness": -(3 * 0.2 * log(0.2) + 0.4 * log(0.4)) / log(4),
        "new_first": 1,
        "new_middle": 1,
        "log_components": log(2),
        "largest_component": 1,
        "cycles": 1 / 4,
        "log_diameter": log(3),
        "mean_degree": 2,
        "degree_2": 1,
        "log_height": log(3),
        "log_width": log(3),
        "squareness": 1,
        "drift": 1 / 4,  # from (1, 1.5) to (1.5, 1)
        "log_longest_step": log(2),
        **{f"way_{way}": 1 / 4 for way in ("up", "down", "left", "right")},
        "way_evenness": 1,
        "log_run": log(2),
        "log_longest_run": log(2),
        "single_runs": 1,
        "right->down": 1,
        "down->left": 1,
        "left->up": 1,
    },
}

# Text → some of its features.
SOME = {
    chain(tour((5, 5), "uudl")): {"log_run": log(7 / 3), "log_longest_run": log(3),
                                  "single_runs": 2 / 3, "up->up": 1 / 2,
                                  "up->down": 1 / 2},
    chain(tour((5, 5), "udlrdr")): {"degree_1": 3 / 5, "degree_2": 1 / 5},
    chain(tour((5, 5), "uddulrr")): {"degree_4": 1 / 5, "degree_1": 4 / 5},
    chain(tour((5, 5), "uddull")): {"degree_3": 1 / 5, "degree_1": 3 / 5},
    chain([(0, 0), (1, 1), (3, 3), (3, 9), (3, 6)]): {
        "steps_2": 1 / 4, "steps_3_4": 2 / 4, "steps_5": 1 / 4, "diagonal": 2 / 4,
        "aligned": 2 / 4, "jump->jump": 1, "log_components": log(6),
        "largest_component": 1 / 5, "end_distance": 9 / 12},
    # A line has the diameter of its length wherever the walk begins.
    chain(tour((5, 5), "llrrrr")): {"log_diameter": log(5), "cycles": 0},
    chain(tour((1, 1), "rrddlluu")): {"log_diameter": log(5), "cycles": 1 / 8},
    chain(tour((1, 1), "rdlurr")): {"cycles": 1 / 5, "edge_reuse": 1 / 6},
    chain([(1, 1), (1, 2), (4, 4), (4, 3), (7, 7), (8, 7), (1, 1), (0, 1)]): {
        "right->jump": 1, "jump->left": 1 / 3, "left->jump": 1, "jump->down": 1 / 3,
        "down->jump": 1, "jump->up": 1 / 3},
    chain([(4, 4), (9, 9), (9, 10)]): {"jump->right": 1},
    chain(tour((5, 5), "dldrrddull")): {
        "down->left": 1 / 4, "left->down": 1 / 2, "down->right": 1 / 4,
        "right->right": 1 / 2, "right->down": 1 / 2, "down->down": 1 / 4,
        "down->up": 1 / 4, "up->left": 1, "left->left": 1 / 2},
    chain(tour((5, 5), "lrlu")): {"left->right": 1 / 2, "right->left": 1,
                                  "left->up": 1 / 2},
    chain(tour((5, 5), "uru")): {"up->right": 1, "right->up": 1},
}  # fmt: skip


@pytest.mark.parametrize("text", WHOLE)
def test_whole_blocks(text):
    assert block("graph", text) == pytest.approx(WHOLE[text], abs=1e-6)


@pytest.mark.parametrize("text", SOME)
def test_some_features(text):
    found = block("graph", text)
    got = {name: found.get(name, 0) for name in SOME[text]}
    assert got == pytest.approx(SOME[text])


def test_every_feature_has_an_example():
    rows = [*WHOLE.values(), *SOME.values()]
    assert {name for row in rows for name, value in row.items() if value} == set(TABLE)


@settings(deadline=None, max_examples=60)
@given(st.text("udlr", max_size=40))
def test_components_and_diameter_against_brute_force(ways):
    """One stroll is one component; the double sweep never exceeds the true diameter."""
    walk = path(tour((0, 0), ways) if ways else [(0, 0)])
    near = adjacency(walk)
    assert sorted(reached(near, 0)) == list(range(len(near)))
    found = block("graph", chain(tour((50, 50), ways)))
    far = 0
    for start in range(len(near)):
        depth, layer, seen = 0, {start}, {start}
        while layer := {there for here in layer for there in near[here]} - seen:
            seen |= layer
            depth += 1
        far = max(far, depth)
    assert found["log_diameter"] if far else True
    assert found.get("log_diameter", 0) <= log(1 + far) + 1e-6
    edges = sum(map(len, near)) // 2
    if edges == len(near) - 1:  # a tree: the double sweep is exact
        assert found.get("log_diameter", 0) == pytest.approx(log(1 + far), abs=1e-6)
    cycles = (edges - len(near) + 1) / len(near)
    assert found.get("cycles", 0) == pytest.approx(cycles, abs=1e-6)
