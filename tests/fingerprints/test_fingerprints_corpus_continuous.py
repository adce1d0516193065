"""The continuous block of the `corpus` family by hand on small routes."""

from collections import Counter
from itertools import pairwise
from math import log, log1p, sqrt

import fingerprints_routes
import pytest

from routejax.fingerprints.continuous_corpus import FEATURES, continuous
from routejax.fingerprints.route import Route
from routejax.fingerprints.rules_corpus import ROLES, VOCABULARY
from routejax.fingerprints.tree import grow

NAMES = [feature.name for feature in FEATURES]


def made(types: str, *texts_and_marks) -> Route:
    taken = fingerprints_routes.made(types, *texts_and_marks)
    return taken._replace(tree=grow(taken.types, ROLES))


def part(prefix: str, *route) -> dict[str, float]:
    """The features under `prefix` of a made route that are not zero."""
    named = zip(NAMES, continuous(made(*route)), strict=True)
    return {n.removeprefix(prefix): v for n, v in named if n.startswith(prefix) and v}


def test_sizes_of_the_parts():
    heads = Counter(name.split("/")[0] for name in NAMES)
    assert heads == {
        "frequency": 10,
        "rate": 100,
        "behaviour": 6,
        "graph": 6,
        "steps": 5,
        "motif": 6,
        "tree_shape": 4,
    }
    assert len(NAMES) == len(set(NAMES)) == 137


def test_the_ten_rates_that_are_always_zero_say_so():
    named = {f.name for f in FEATURES if f.meaning.startswith("always 0")}
    assert named == {f"rate/{kind}->{kind}" for kind in VOCABULARY}


def test_the_whole_block_of_one_route():
    """setup ─ computation ┬ verification; ┬e exploration; └b backtracking ─ conclusion:
    the rules hang backtracking and exploration under the open branch point."""
    types = "setup computation verification exploration backtracking conclusion"
    texts = ["a b c", "a", "a b c d e f", "a b", "a", "a b c d e f g h"]
    got = part("", types, texts)
    lengths = [3, 1, 6, 2, 1, 8]
    mean = 21 / 6
    variance = sum((n - mean) ** 2 for n in lengths) / 6
    kinds = types.split()
    assert got == pytest.approx(
        {f"frequency/{kind}": 1 / 6 for kind in kinds}
        | {f"rate/{a}->{b}": 1.0 for a, b in pairwise(kinds)}
        | {
            "behaviour/verification": log(2),
            "behaviour/backtracking": log(2),
            "behaviour/alternatives": log(2),
            "graph/types": 6 / 10,
            "graph/density": 5 / 90,
            "graph/hub": 1 / 5,
            "graph/changes": 1,
            "steps/log_mean": log1p(mean),
            "steps/log_median": log1p(2),  # the third of 1 1 2 3 6 8
            "steps/log_deviation": log1p(sqrt(variance)),
            "steps/log_longest": log(9),
            "steps/short": 4 / 6,
            "tree_shape/slim": 4 / 6,
            "tree_shape/wide": 3 / 6,
            "tree_shape/explored": 1 / 6,
            "tree_shape/climbed": 1 / 3,  # from depth 2 to 1 in a tree of depth 3
        }
    )


def test_rates_are_moves_of_the_graph():
    """deduction is left for setup twice and for conclusion once; staying is no move."""
    route = "deduction setup deduction deduction setup deduction conclusion"
    assert part("rate/", route) == pytest.approx(
        {"deduction->setup": 2 / 3, "deduction->conclusion": 1 / 3}
        | {"setup->deduction": 1}
    )


BEHAVIOURS = {
    "verification": ("verification", ("confirmed", "substituted back")),
    "backtracking": ("backtracking", ("erred", "restarted")),
    "subgoals": ("decomposition", ("numbered", "ordinal")),
    "backward_chaining": ("backward_reasoning", ("backwards",)),
    "alternatives": ("exploration", ("other way", "case")),
    "doubts": (None, ("doubt", "hedged")),
}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_behaviours_count_a_step_once_by_type_or_mark(name):
    kind, marks = BEHAVIOURS[name]
    types = f"{kind or 'setup'} setup setup setup"
    marked = {0: marks, 1: marks[:1], 2: marks[-1:], 3: ["calculus"]}
    assert part("behaviour/", types, (), marked) == {name: log(4)}
    assert part("behaviour/", types) == ({name: log(2)} if kind else {})


def test_graph():
    """Moves: setup→computation ×2, computation→setup, computation→conclusion,
    conclusion→deduction; setup and computation lie on a cycle."""
    route = "setup computation setup computation computation conclusion deduction"
    assert part("graph/", route) == pytest.approx(
        {
            "types": 4 / 10,
            "density": 4 / 90,
            "reciprocity": 2 / 4,
            "hub": 2 / 5,
            "cyclic": 2 / 4,
            "changes": 5 / 6,
        }
    )


def test_a_long_cycle_has_no_mutual_move():
    got = part("graph/", "setup deduction computation commentary setup")
    assert got["cyclic"] == 1
    assert "reciprocity" not in got


def test_step_lengths_at_their_ends():
    even = part("steps/", "setup " * 7, ["a b c"] * 7)
    assert even == {
        "log_mean": log(4),
        "log_median": log(4),
        "log_longest": log(4),
        "short": 1,
    }
    odd = part("steps/", "setup " * 5, ["w " * n for n in (4, 6, 5, 9, 1)])
    assert odd["log_median"] == log(6)
    assert odd["short"] == 3 / 5


MOTIFS = {
    "setup setup setup setup": {"repeated": 1},
    "setup commentary setup commentary": {"returned": 1},
    "deduction verification computation": {"checked": 1},
    "deduction verification conclusion": {},
    "exploration computation verification": {"retried": 1},
    "backtracking deduction verification setup": {"retried": 1 / 2},
    "exploration setup backtracking": {"switched": 1},
    "exploration setup exploration": {"switched": 1, "returned": 1},
    "exploration backtracking exploration": {"returned": 1},
    "setup computation deduction": {"planned": 1},
    "decomposition deduction deduction": {"planned": 1},
    "computation decomposition deduction": {},
    "setup setup": {},
}


@pytest.mark.parametrize("route", MOTIFS)
def test_motifs(route):
    assert part("motif/", route) == MOTIFS[route]


def test_tree_shape():
    """0 setup ─ 1 deduction ┬e 2 exploration ─ 3 deduction ┬ 4 verification
                                   └ 5 deduction
    └b 6 backtracking."""
    route = "setup deduction exploration deduction verification deduction backtracking"
    assert part("tree_shape/", route) == pytest.approx(
        {
            "slim": 5 / 7,
            "wide": 2 / 7,
            "explored": 4 / 7,
            "climbed": (4 - 1) / 4,
        }
    )


def test_a_climb_over_the_whole_depth_of_a_tree():
    assert part("tree_shape/", "setup setup backtracking")["climbed"] == 1


def test_climbs_of_several_returns_are_averaged():
    """Depths 0 1 2 3, back to the grandparent (2 levels) twice: under 1, under 0."""
    got = part("tree_shape/", "setup setup setup setup backtracking backtracking")
    assert got["climbed"] == pytest.approx((2 + 2) / 2 / 3)


def test_one_step_and_none():
    assert part("graph/", "setup") == {"types": 1 / 10}
    assert part("tree_shape/", "setup") == {"slim": 1, "wide": 1}
    assert continuous(made("")) == [0] * 137
