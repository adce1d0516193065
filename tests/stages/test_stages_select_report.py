"""What the report of a selection counts, worked by hand."""

import numpy as np
import pytest

from routejax.stages.select_measures import Summed, compared, separating, shared
from routejax.stages.select_picks import Picks
from routejax.stages.select_pool_facts import CELLS, density, length_bin
from routejax.stages.select_report import SHOWN, quotas, shown
from routejax.stages.select_routes import first_rows, route_file
from routejax.stages.select_why import cluster_said, measured


def picks(ranks):
    rank = np.array(ranks)
    at = np.arange(len(rank))
    return Picks(at, rank, np.zeros_like(at), np.zeros(len(at)), {})


def test_first_rows_take_turns_between_groups():
    found = picks([1, 0, 0, 2, 1, 0])
    groups = np.array(["a", "a", "b", "b", "b", "b"])
    # a: 1, 0; b: 2, 5 (both rank 0, by id), 4, 3
    assert first_rows(found, groups).tolist() == [1, 2, 0, 5, 4, 3]
    assert first_rows(found, groups, 3).tolist() == [1, 2, 0]


def test_shown_rows_are_the_first_and_even_steps():
    few = picks([2, 0, 1])
    assert shown(few, np.array(["a"] * 3)).tolist() == [1, 2, 0]
    many = picks(np.arange(5000)[::-1])
    places = shown(many, np.array(["a"] * 5000)).tolist()
    assert len(places) == len(set(places)) == SHOWN
    assert places[:12] == list(range(4999, 4987, -1))
    assert np.diff(places[12:]).max() <= 6


def test_quotas_tell_what_is_short():
    groups = {
        "big": {"eligible": 90, "budget": 8},
        "small": {"eligible": 2, "budget": 2},
    }
    taken = np.array(["big"] * 8 + ["small"] * 2)
    found = quotas({"groups": groups, "n": 10, "quotas": {}}, taken)
    assert found["big"] == {"eligible": 90, "budget": 8, "selected": 8, "short": 0}
    assert found["small"]["short"] == 3  # an even split asks for five
    by_hand = quotas({"groups": groups, "n": 10, "quotas": {"small": 2}}, taken)
    assert [one["short"] for one in by_hand.values()] == [0, 0]


@pytest.mark.parametrize(
    ("characters", "bin"),
    [(0, 0), (1, 0), (2, 2), (3, 3), (1023, 19), (1024, 20), (1448, 20), (1449, 21)],
)
def test_length_bins_are_half_octaves(characters, bin):
    assert length_bin(characters) == bin


def test_density_counts_every_row_once():
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(5000, 2)) * [3, 1]
    plane[0] = [900, -900]  # far outside: at the border
    found = density(plane)
    assert sum(found["rows"]) == 5000
    assert found["side"] < 50
    assert CELLS - 1 in found["at"]  # right, below
    assert len(found["at"]) == len(set(found["at"]))


def test_density_of_one_place():
    found = density(np.zeros((7, 2)))
    assert (found["rows"], found["side"]) == ([7], 1.0)


def test_prompts_that_are_shared():
    found = shared(np.array([10, 11, 12, 13, 14]), np.array([7, 3, 7, 9, 3]))
    assert [rows.tolist() for rows in found] == [[11, 14], [10, 12]]


def test_features_that_tell_apart():
    width = 631
    zero = np.zeros(width)

    def summed(count, first, second):
        """The first feature has this mean, the second these deviations."""
        sums, squares = zero.copy(), zero.copy()
        sums[0], squares[0] = count * first, count * (first**2 + 1)
        squares[1] = count * second**2
        return Summed(sums, squares)

    parts = {"diverse": summed(10, 2.0, 3.0), "similar": summed(5, -1.0, 0.5)}
    found = separating(
        "dolci", parts, {"diverse": 10, "similar": 5}, ("diverse", "similar")
    )
    assert (found["of"], found["to"]) == ("diverse", "similar")
    [shift] = found["shift"]
    assert shift["effect"] == 3.0  # means 2 and -1, both deviations 1
    assert shift["mean"] == {"diverse": 2.0, "similar": -1.0}
    [spread] = found["spread"]
    assert spread["deviation"] == {"diverse": 3.0, "similar": 0.5}
    assert shift["feature"] != spread["feature"]


def test_what_is_compared():
    assert compared(("random", "similar", "diverse")) == ("diverse", "similar")
    assert compared(("random", "similar")) == ("random", "similar")
    assert compared(("random",)) is None


def test_words_about_a_pick():
    group = {"cluster_sizes": [1, 40], "cluster_quotas": [1, 6]}
    chosen = {"chosen": True, "cluster": 1}
    assert cluster_said(chosen, group) == "cluster 1 of 2: 40 rows, 6 chosen"
    other = {"chosen": False, "cluster": 0}
    assert cluster_said(other, group) == "cluster 0 of 2: 1 row, 1 chosen"
    assert cluster_said({"chosen": True, "cluster": None}, group) is None
    assert cluster_said(chosen, None) == "cluster 1"
    assert measured("random") is None
    assert measured("topology_fps") == measured("lexical_fps")
    assert route_file(12) == "row-0000012.html"
