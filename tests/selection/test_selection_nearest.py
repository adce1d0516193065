"""The nearest kept row: by hand, against all pairs, whatever blocks and tiles."""

import sys
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.selection import nearest, to_grid
from routejax.selection.nearest import _ROWS, _TILE


def brute(rows, kept, *, apart=False):
    """All pairs in whole numbers or float64; the first of equal ones."""
    rows, kept = (x.astype(np.float64) for x in (rows, kept))
    squared = ((rows[:, None] - kept) ** 2).sum(axis=2)
    if apart:
        np.fill_diagonal(squared, np.inf)
    place = squared.argmin(axis=1)
    return place, np.sqrt(squared[np.arange(len(rows)), place])


def unit(count, width, seed):
    rows = np.random.default_rng(seed).normal(size=(count, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_by_hand():
    line = np.array([[0], [3], [4], [9]], np.int16)
    found = nearest(line, line[[3, 1]])
    assert found.place.tolist() == [1, 1, 1, 0]
    assert found.distance.tolist() == [3, 0, 1, 0]
    others = nearest(line, line, apart=True)
    assert others.place.tolist() == [1, 2, 1, 2]
    assert others.distance.tolist() == [3, 1, 1, 5]


def test_five_identical_rows_find_the_first():
    rows = np.full((5, 3), 7, np.int16)
    assert nearest(rows, rows).place.tolist() == [0] * 5
    others = nearest(rows, rows, apart=True)
    assert others.place.tolist() == [1, 0, 0, 0, 0]
    assert not others.distance.any()


def test_nothing_is_near_a_row_alone():
    row = np.ones((1, 2), np.int16)
    found = nearest(row, row, apart=True)
    assert (found.place.tolist(), found.distance.tolist()) == ([-1], [np.inf])


def test_squared_lengths_that_are_odd_are_not_rounded():
    # 2 q.c - |c|^2 is 4 for the first and 3 for the second: their halves round alike
    rows = np.array([[2, 0]], np.int16)
    assert nearest(rows, np.array([[1, 0], [2, 0], [2, 1]], np.int16)).place[0] == 1
    far = np.array([[4095, 60]], np.int16)
    kept = np.array([[4095, 58], [4095, 59]], np.int16)
    assert nearest(far, kept).place[0] == 1


@pytest.mark.parametrize("grid", [True, False])
def test_equals_all_pairs_across_blocks_and_tiles(grid):
    rows, kept = unit(_ROWS + 7, 9, 0), unit(2 * _TILE + 3, 9, 1)
    if grid:
        rows, kept = to_grid(rows).values, to_grid(kept).values
    place, distance = brute(rows, kept)
    found = nearest(rows, kept)
    assert np.array_equal(found.place, place)
    assert found.distance == pytest.approx(distance, abs=1e-12)
    place, distance = brute(kept, kept, apart=True)
    found = nearest(kept, kept, apart=True)
    assert np.array_equal(found.place, place)
    assert found.distance == pytest.approx(distance, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=2, max_size=16
    ),
    st.data(),
)
def test_equals_all_pairs_where_many_tie(rows, data):
    """Also between tiles, of which there are many here."""
    rows = np.array(rows, np.int16)
    kept = rows[data.draw(st.permutations(range(len(rows))))][: len(rows) // 2 + 1]
    with mock.patch.object(sys.modules["routejax.selection.nearest"], "_TILE", 2):
        assert np.array_equal(nearest(rows, kept).place, brute(rows, kept)[0])
        others = nearest(kept, kept, apart=True)
    assert np.array_equal(others.place, brute(kept, kept, apart=True)[0])


def test_mistakes():
    rows = np.zeros((3, 2), np.int16)
    with pytest.raises(UserError, match="at least one row, got none"):
        nearest(rows, rows[:0])
    with pytest.raises(UserError, match=r"themselves \(2\)"):
        nearest(rows, rows[:2], apart=True)
