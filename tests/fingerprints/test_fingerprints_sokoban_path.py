"""Paths by hand: steps, strolls, loop erasure, and the small sums."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_fingerprints_sokoban_traces import tour

from routejax.fingerprints.sokoban_path import (
    earliness,
    evenness,
    log_mean,
    log_most,
    loops,
    path,
    per_word,
    row_shares,
    run_lengths,
    share,
    stretches,
)


def test_a_path():
    """(0,0) → right → down → jump → left → up to (0, 0) by a jump."""
    found = path([(0, 0), (0, 1), (1, 1), (4, 1), (4, 0), (0, 0)])
    assert found.visits.tolist() == [0, 1, 2, 3, 4, 0]
    assert found.distinct.tolist() == [[0, 0], [0, 1], [1, 1], [4, 1], [4, 0]]
    assert found.ways.tolist() == [3, 1, 4, 2, 4]
    assert found.lengths.tolist() == [1, 1, 3, 1, 4]
    assert found.strolls == [(0, 2), (3, 4)]
    assert found.is_new.tolist() == [True] * 5 + [False]
    assert found.walked == 3


def test_no_cells_and_one():
    for cells in ([], [(3, 4)]):
        found = path(cells)
        assert found.strolls == []
        assert (found.walked, len(found.ways), len(found.is_new)) == (0, 0, len(cells))


def erased(ways: str) -> list[int]:
    return loops(path(tour((0, 0), ways)).visits.tolist())


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        ("rrr", []),
        ("rl", [2]),
        ("rrll", [2, 2]),  # back over two cells
        ("rdlu", [4]),
        ("rdlurdlu", [4, 4]),
        ("rrddlluu", [8]),
        ("rrdlu", [4]),  # a loop around the second cell
        ("rrrdlul", [4, 2]),  # the same, then a step back
        ("rdrdlulu", [4, 4]),  # a loop on a loop
        ("rlrl", [2, 2]),
    ],
)
def test_loops(ways, expected):
    assert erased(ways) == expected


@given(st.text("udlr", max_size=60))
def test_loop_erasure_leaves_a_path_without_repetition(ways):
    cells = tour((0, 0), ways)
    found = path(cells)
    lengths = loops(found.visits.tolist())
    left = len(ways) - sum(lengths)
    end = abs(cells[-1][0]) + abs(cells[-1][1])
    assert end <= left
    assert all(length >= 2 and length % 2 == 0 for length in lengths)
    assert (left == len(ways)) == (len(set(cells)) == len(cells))


def test_small_sums():
    assert stretches(np.array([1, 1, 0, 1], bool)) == [(0, 2), (3, 4)]
    assert stretches(np.array([], bool)) == []
    assert run_lengths("aabccc") == [2, 1, 3]
    assert (share(1, 4), share(1, 0)) == (0.25, 0)
    assert (log_mean([1, 3]), log_mean([])) == (pytest.approx(log(3)), 0)
    assert (log_most([1, 3]), log_most([])) == (pytest.approx(log(4)), 0)
    assert per_word(2, 100) == pytest.approx(log(21))
    assert per_word(2, 0) == pytest.approx(log(2001))
    assert (earliness(25, 100), earliness(None, 100), earliness(0, 0)) == (0.75, 0, 1)
    assert evenness(np.array([2, 2])) == pytest.approx(1)
    assert evenness(np.array([3, 1])) == pytest.approx(
        -(0.75 * log(0.75) + 0.25 * log(0.25)) / log(2)
    )
    assert (evenness(np.array([5])), evenness(np.array([5, 0]))) == (0, 0)
    assert row_shares(np.array([[1, 3], [0, 0]])).tolist() == [[0.25, 0.75], [0, 0]]
