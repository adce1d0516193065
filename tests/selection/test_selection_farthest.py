"""Farthest-point picks against a loop over all pairs in whole numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from routejax.errors import UserError
from routejax.selection import farthest_points
from routejax.selection.farthest import farthest_picks

GRIDS = hnp.arrays(
    np.int16,
    st.tuples(st.integers(1, 14), st.integers(1, 3)),
    elements=st.integers(-3, 3),  # few values, so ties and duplicates are common
)


def squared(a, b):
    return sum((int(x) - int(y)) ** 2 for x, y in zip(a, b, strict=True))


def slow_picks(rows, count, start):
    mean = [Fraction(int(column.sum()), len(rows)) for column in rows.T]
    if start is None:
        gaps = [
            sum((int(x) - m) ** 2 for x, m in zip(row, mean, strict=True))
            for row in rows
        ]
        start = gaps.index(min(gaps))
    picks = [start]
    while len(picks) < count:
        rest = [i for i in range(len(rows)) if i not in picks]
        gaps = [min(squared(rows[i], rows[j]) for j in picks) for i in rest]
        picks.append(rest[gaps.index(max(gaps))])
    return picks


@given(GRIDS, st.data())
@settings(deadline=None, max_examples=200)
def test_picks_equal_the_slow_loop(rows, data):
    count = data.draw(st.integers(1, len(rows)))
    start = data.draw(st.none() | st.integers(0, len(rows) - 1))
    assert farthest_points(rows, count, start).tolist() == slow_picks(
        rows, count, start
    )


def test_picks_by_hand():
    line = np.array([[0], [10], [4], [6], [5]], np.int16)  # mean 5
    picks, distance = farthest_picks(line, 5)
    assert picks.tolist() == [4, 0, 1, 2, 3]  # ties 0 and 10, then 4 and 6
    assert distance.tolist() == [0, 5, 5, 1, 1]


def test_five_identical_rows_come_last_in_order():
    rows = np.array([[1, 0]] * 5 + [[0, 1], [-1, 0]], np.int16)
    assert farthest_points(rows, 7, start=5).tolist() == [5, 0, 6, 1, 2, 3, 4]
    assert farthest_points(rows[:5], 5).tolist() == [0, 1, 2, 3, 4]


def test_full_grid_values_do_not_round():
    rows = np.array([[4080], [-4080], [4079], [-4079], [0]], np.int16)
    assert farthest_points(rows, 5).tolist() == [4, 0, 1, 2, 3]


def test_float32_rows_give_the_same_picks_where_nothing_ties():
    rng = np.random.default_rng(0)
    rows = rng.integers(-4000, 4000, (200, 6)).astype(np.int16)
    unit = rows.astype(np.float32) / 4096
    assert np.array_equal(farthest_points(rows, 50), farthest_points(unit, 50))


def test_mistakes():
    rows = np.zeros((3, 2), np.int16)
    with pytest.raises(UserError, match=r"count must be in 1\.\.3 \(rows\), got 4"):
        farthest_points(rows, 4)
    with pytest.raises(UserError, match=r"start must be in 0\.\.2 \(rows\), got 3"):
        farthest_points(rows, 1, start=3)
