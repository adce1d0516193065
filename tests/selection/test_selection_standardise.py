"""Moments are exact rationals rounded once; z-scores follow the formula."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from routejax.errors import UserError
from routejax.selection import moments, standardise

MATRICES = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 12), st.integers(1, 4)),
    elements=st.floats(-(2.0**23), 2.0**23, width=32),
)


def slow_moments(column):
    """Mean and variance by the definition, in fractions of multiples of 2^-40."""
    exact = [Fraction(round(Fraction(float(x)) * 2**40), 2**40) for x in column]
    mean = sum(exact) / len(exact)
    return float(mean), float(sum((x - mean) ** 2 for x in exact) / len(exact))


@given(MATRICES)
@settings(deadline=None)
def test_moments_are_the_exact_ones_rounded_once(matrix):
    stats = moments(matrix)
    assert stats.count == len(matrix)
    for j, column in enumerate(matrix.T):
        assert (stats.mean[j], stats.variance[j]) == slow_moments(column)


def test_moments_by_hand():
    stats = moments(np.array([[1, 2], [3, 2], [8, 2]], np.float32))
    assert stats.mean.tolist() == [4, 2]
    assert stats.variance.tolist() == [(9 + 1 + 16) / 3, 0]


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 90), min_size=1, max_size=6))
@settings(deadline=None, max_examples=25)
def test_batches_and_order_change_no_byte(seed, cuts):
    rng = np.random.default_rng(seed)
    rows = (rng.standard_cauchy((150, 3)) * 10.0 ** rng.integers(-8, 4, 3)).clip(
        -9e6, 9e6
    )
    rows = rows.astype(np.float32)
    whole = moments(rows)
    batches = np.split(rows[rng.permutation(150)], sorted(cuts))
    for one, other in zip(whole, moments(iter(batches)), strict=True):
        assert np.array_equal(one, other)


def test_a_small_spread_on_a_large_offset_does_not_cancel():
    rows = np.array([[2**22], [2**22 + 0.5]], np.float32)
    assert moments(rows).variance.tolist() == [0.0625]


def test_z_by_hand():
    z = standardise(np.array([[0, 7], [2, 7], [4, 7]], np.float32))
    sigma = np.sqrt(8 / 3)
    assert z.tolist() == [[-2 / sigma, 0], [0, 0], [2 / sigma, 0]]


def test_z_is_clipped_at_five():
    column = np.zeros((100, 1), np.float32)
    column[0], column[1] = 1000, -1000  # sigma 141.4, so z would be 7.07
    z = standardise(column)
    assert (z.max(), z.min(), np.abs(z[2:]).max()) == (5, -5, 0)


def test_the_last_columns_stay_unscaled():
    rows = np.array([[1, 1], [9, 0], [5, 1]], np.float32)
    z = standardise(rows, unscaled=1)
    assert z[:, 1].tolist() == [1, 0, 1]
    assert z[:, 0].std() == pytest.approx(1)


def test_the_variance_floor_does_not_touch_constant_features():
    stats = moments(np.array([[1, 3], [1 + 2**-20, 3]], np.float32))
    z = standardise(np.array([[1, 4]], np.float32), stats, variance_floor=1e-8)
    assert z[0, 0] == pytest.approx(-(2**-21) / 1e-4)  # sigma raised from 4.8e-7
    assert z[0, 1] == 1  # constant over the pool: sigma = 1, not 1e-4


def test_statistics_may_come_from_a_wider_pool():
    stats = moments(np.array([[0], [4]], np.float32))
    assert standardise(np.array([[4], [8]], np.float32), stats).tolist() == [[1], [3]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2.0**24])
def test_a_value_that_cannot_be_read_is_named(bad):
    rows = np.zeros((100, 3), np.float32)
    rows[70, 2] = bad
    for call in (moments, standardise, lambda rows: moments(rows.astype(float) * 1e99)):
        with pytest.raises(UserError, match="row 70, column 2"):
            call(rows)


def test_other_mistakes():
    rows = np.zeros((2, 3), np.float32)
    with pytest.raises(UserError, match="no rows"):
        moments(rows[:0])
    with pytest.raises(UserError, match="3 features like the first, got 2"):
        moments([rows, rows[:, :2]])
    with pytest.raises(
        UserError, match="statistics are of 3 features, the rows have 2"
    ):
        standardise(rows[:, :2], moments(rows))
    with pytest.raises(UserError, match=r"unscaled must be in 0\.\.3"):
        standardise(rows, unscaled=4)
