import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.metrics import acc_at_1, pass_at_k, pass_curve, pass_values


def by_enumeration(n, c, k):
    """Share of the k-subsets that hold one of the c correct among n samples."""
    samples = [True] * c + [False] * (n - c)
    subsets = list(itertools.combinations(samples, k))
    return sum(any(subset) for subset in subsets) / len(subsets)


EVERY_CASE = [
    (n, c, k) for n in range(1, 9) for c in range(n + 1) for k in range(1, n + 1)
]


def test_every_case_up_to_eight_samples_equals_enumeration():
    for n, c, k in EVERY_CASE:
        assert pass_at_k(n, c, k) == pytest.approx(by_enumeration(n, c, k), abs=1e-15)


def test_by_hand():
    assert pass_at_k(8, 3, 4) == pytest.approx(13 / 14)  # 1 - C(5,4)/C(8,4)
    assert pass_at_k(4, 1, 2) == pytest.approx(1 / 2)


def test_edges_are_exact():
    for n, c, k in EVERY_CASE:
        if c == 0:
            assert pass_at_k(n, c, k) == 0.0
        if n - c < k:
            assert pass_at_k(n, c, k) == 1.0
        if c > 0 and n - c >= k:
            assert 0 < pass_at_k(n, c, k) < 1


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_equals_exact_fractions_for_large_n(data):
    n = data.draw(st.integers(1, 3000))
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    exact = 1 - Fraction(comb(n - c, k), comb(n, k))
    assert pass_at_k(n, c, k) == pytest.approx(float(exact), rel=1e-11, abs=0)


def test_huge_n_keeps_its_digits():
    n = 10**12
    assert pass_at_k(n, 1, 5) == pytest.approx(5e-12, rel=1e-14)
    assert pass_at_k(n, 10**6, 10**6) == pytest.approx(-np.expm1(-1.0), rel=1e-5)
    assert pass_at_k(n, n // 2, n // 2) == 1.0
    assert pass_at_k(n, 0, n) == 0.0
    assert isinstance(pass_at_k(n, 1, 5), float)


@pytest.mark.parametrize("c", [1, 2, 50, 9000, 9999])
def test_ten_thousand_samples_are_exact_and_grow_with_k(c):
    n = 10_000
    curve = pass_at_k(n, c, np.arange(1, n + 1))
    assert (np.diff(curve) >= 0).all()
    assert curve[0] == pytest.approx(c / n, rel=1e-14)
    assert curve[-1] == 1.0
    for k in (2, 3, 49, 51, 200, 5000, n - c):
        exact = 1 - Fraction(comb(n - c, k), comb(n, k))
        assert curve[k - 1] == pytest.approx(float(exact), rel=1e-11, abs=0)


def test_arrays_broadcast_and_agree_with_scalars():
    c, k = np.arange(7)[:, None], np.arange(1, 7)[None, :]
    table = pass_at_k(6, c, k)
    assert table.shape == (7, 6)
    for row, column in itertools.product(range(7), range(6)):
        assert table[row, column] == pass_at_k(6, row, column + 1)
    assert pass_at_k(6, np.zeros(0, dtype=int), 1).shape == (0,)


def test_values_and_curve_agree_with_the_estimator():
    counts = np.array([0, 3, 3, 8, 1, 7])
    values = pass_values(counts, 8)
    expected = pass_at_k(8, counts[:, None], np.arange(1, 9)[None, :])
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-15)
    assert (values[0] == 0).all()
    assert (values[3] == 1).all()
    curve = pass_curve(counts, 8)
    assert list(curve) == list(range(1, 9))
    np.testing.assert_allclose(list(curve.values()), expected.mean(axis=0))


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
@settings(deadline=None, max_examples=60)
def test_ends_of_the_curve_are_accuracy_and_solved_share(counts):
    curve = pass_curve(counts, 20)
    assert curve[1] == pytest.approx(acc_at_1(counts, 20), abs=1e-15)
    solved = sum(c > 0 for c in counts) / len(counts)
    assert curve[20] == pytest.approx(solved, abs=1e-15)
    assert all(curve[k] <= curve[k + 1] + 1e-15 for k in range(1, 20))


def test_accuracy_by_hand():
    assert acc_at_1([0, 2, 4], 4) == 0.5


@pytest.mark.parametrize(
    ("n", "c", "k", "message"),
    [
        (8, 3, 9, "k must lie in 1..n, got k = 9 with n = 8"),
        (8, 3, 0, "k must lie in 1..n, got k = 0"),
        (8, 9, 1, "c must lie in 0..n, got c = 9"),
        (8, -1, 1, "c must lie in 0..n, got c = -1"),
        (8, 2.0, 1, "must be integers"),
        (10**30, 2, 1, "must be integers below"),
        (8, np.array([1, 9]), 1, "got c = 9"),
    ],
)
def test_refuses(n, c, k, message):
    with pytest.raises(UserError, match=message):
        pass_at_k(n, c, k)


@pytest.mark.parametrize(
    ("counts", "samples", "message"),
    [
        ([1, 2, 9, 10], 8, "got 9 in row 2; 2 row"),
        ([1, -1], 8, "got -1 in row 1"),
        ([0.5], 8, "must be integers"),
        ([], 8, "one number per question"),
        ([[1]], 8, "one number per question"),
        ([0], 0, "at least 1"),
    ],
)
def test_refuses_counts(counts, samples, message):
    with pytest.raises(UserError, match=message):
        pass_curve(counts, samples)
