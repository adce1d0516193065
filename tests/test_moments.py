"""Moments are exact rationals rounded once, whatever the batches and the order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from routejax import fingerprints
from routejax.errors import UserError
from routejax.moments import Sums, moments, no_sums, sums

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


@given(MATRICES, st.integers(0, 12))
@settings(deadline=None)
def test_sums_of_pieces_add_up_and_can_be_taken_away(matrix, cut):
    whole = sums([matrix])
    pieces = [sums([p]) for p in (matrix[:cut], matrix[cut:]) if len(p)]
    assert sum(pieces, no_sums(matrix.shape[1])) == whole
    assert whole - pieces[0] == (
        pieces[1] if len(pieces) > 1 else no_sums(matrix.shape[1])
    )


def test_sums_by_hand():
    rows = np.array([[0.5, -3], [0.25, 2]], np.float32)
    one, two = 2**40, 2**80
    assert sums([rows]) == Sums(2, (3 * one // 4, -one), (5 * two // 16, 13 * two))


@pytest.mark.skipif(not fingerprints.has_numba(), reason="numba is not installed")
@given(MATRICES)
@settings(deadline=None, max_examples=25)
def test_the_kernel_gives_the_same_sums(matrix):
    from routejax.fingerprints.engine import sums as kernel  # noqa: PLC0415

    assert kernel.sums(matrix) == sums([matrix])


@pytest.mark.parametrize("bad", [np.nan, -np.inf, 2.0**24])
def test_a_value_that_cannot_be_read_is_named(bad):
    rows = np.zeros((100, 3), np.float32)
    rows[70, 2] = bad
    with pytest.raises(UserError, match="row 70, column 2"):
        sums([rows])


def test_no_rows_and_other_widths_are_mistakes():
    rows = np.zeros((2, 3), np.float32)
    with pytest.raises(UserError, match="no rows"):
        moments(rows[:0])
    with pytest.raises(UserError, match="no rows"):
        no_sums(3).moments()
    with pytest.raises(UserError, match="3 features like the first, got 2"):
        moments([rows, rows[:, :2]])
    with pytest.raises(UserError, match="3 features like the first, got 2"):
        _ = no_sums(3) + no_sums(2)
