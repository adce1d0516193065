"""Budgets, cluster counts and quotas against hand-worked numbers and slow searches."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.selection import (
    cluster_counts,
    cluster_quotas,
    cluster_total,
    group_budgets,
)

CORPUS = {"math": 234_000, "code": 120_000, "stem": 100_000}
PAPER = {"math": 33_334, "code": 33_333, "stem": 33_333}


def test_budgets_of_the_paper():
    assert group_budgets(CORPUS, 100_000) == PAPER
    equal = dict.fromkeys(CORPUS, 200_000)  # by name, so mathematics must be set
    assert group_budgets(equal, 100_000)["code"] == 33_334
    assert group_budgets(equal, 100_000, {"math": 33_334}) == PAPER
    assert group_budgets({"all": 9}, 9) == {"all": 9}


def test_budgets_by_hand():
    assert group_budgets({"a": 2, "b": 9, "c": 10}, 13) == {"a": 2, "b": 5, "c": 6}
    assert group_budgets({"a": 0, "b": 1, "c": 5}, 4) == {"a": 0, "b": 1, "c": 3}
    assert group_budgets({"a": 5, "b": 5, "c": 5}, 8) == {"a": 3, "b": 3, "c": 2}
    # capacities 98, 3, 3 above level 2: each of the two richest gets one, not "a" two
    assert group_budgets({"a": 100, "b": 5, "c": 5}, 8) == {"a": 3, "b": 3, "c": 2}
    assert group_budgets({"a": 4, "b": 9, "c": 9}, 10, {"c": 1}) == {
        "a": 4,
        "b": 5,
        "c": 1,
    }


SIZES = st.dictionaries(st.text("abcdef", min_size=1), st.integers(0, 20), min_size=1)


@given(SIZES.filter(lambda sizes: sum(sizes.values()) > 0), st.data())
@settings(deadline=None)
def test_budgets_equal_dealing_out_row_by_row(sizes, data):
    n = data.draw(st.integers(1, sum(sizes.values())))
    dealt = dict.fromkeys(sizes, 0)
    for _ in range(n):
        name = min(
            (g for g in sizes if dealt[g] < sizes[g]),
            key=lambda g: (dealt[g], dealt[g] - sizes[g], g),
        )
        dealt[name] += 1
    assert group_budgets(sizes, n) == dealt


@pytest.mark.parametrize(
    ("n", "quotas", "words"),
    [
        (0, {}, r"n must be in 1\.\.12 \(eligible rows\), got 0"),
        (13, {}, r"n must be in 1\.\.12 \(eligible rows\), got 13"),
        (5, {"c": 1}, "names? the group 'c'.*groups are a, b"),
        (5, {"a": 6}, r"'a' must be in 0\.\.5 \(its eligible rows\), got 6"),
        (5, {"a": -1}, "got -1"),
        (5, {"a": 3, "b": 3}, "add up to 6 .* hold 0 rows, .* n = 5"),
        (4, {"a": 5}, "add up to 5"),
        (12, {"a": 4}, "add up to 4 .* hold 7 rows"),
    ],
)
def test_budget_mistakes_name_both_numbers(n, quotas, words):
    with pytest.raises(UserError, match=words):
        group_budgets({"a": 5, "b": 7}, n, quotas)


def test_cluster_counts_of_the_paper():
    assert cluster_total(100_000) == 40_000
    counts = cluster_counts(40_000, PAPER, 100_000, CORPUS)
    assert counts == {"math": 13_334, "code": 13_333, "stem": 13_333}


def test_cluster_counts_by_hand():
    budgets, sizes = {"a": 5, "b": 15, "c": 0}, {"a": 50, "b": 150, "c": 9}
    assert cluster_counts(10, budgets, 20, sizes) == {
        "a": 2,
        "b": 8,
        "c": 0,
    }  # 2.5, 7.5
    assert cluster_counts(1, budgets, 20, sizes) == {"a": 1, "b": 1, "c": 0}
    assert cluster_counts(99, budgets, 20, sizes) == {"a": 5, "b": 15, "c": 0}
    with pytest.raises(UserError, match="K must be at least 1"):
        cluster_counts(0, budgets, 20, sizes)
    assert [cluster_total(n) for n in (1, 2, 4, 5, 4000)] == [1, 1, 2, 2, 1600]


@pytest.mark.parametrize(
    ("sizes", "n_d", "quotas"),
    [
        # shares 5, 3, 2
        ([50, 30, 20], 10, [5, 3, 2]),
        # shares 3.5, 2.1, 1.4: the one missing row goes to the largest fraction
        ([50, 30, 20], 7, [4, 2, 1]),
        # shares 2.5, 2.5: tie, lower index
        ([5, 5], 5, [3, 2]),
        # an empty cluster gets nothing
        ([0, 5, 0, 5], 5, [0, 3, 0, 2]),
        # taken whole
        ([3, 1, 2], 6, [3, 1, 2]),
        # shares .8, 3.6, 3.6: cluster 0 is raised to one and has the largest fraction
        ([2, 9, 9], 8, [2, 3, 3]),
        # shares .75, 3.75, 1.5: cluster 0 is at its cap, the next fraction is .75
        ([1, 5, 2], 6, [1, 4, 1]),
        # overshoot: 5 + 5 x 1 > 8; the sum first exceeds 8 at 4/10, below it 3 + 5 = 8
        ([10, 1, 1, 1, 1, 1], 8, [3, 1, 1, 1, 1, 1]),
        # overshoot: 2 + 2 + 3 > 6; below 2/6 it is 1 + 1 + 3, both sixes with part 1
        ([6, 6, 1, 1, 1], 6, [2, 1, 1, 1, 1]),
        # one row for each of as many clusters
        ([100, 1, 7], 3, [1, 1, 1]),
    ],
)
def test_quotas_by_hand(sizes, n_d, quotas):
    assert cluster_quotas(sizes, n_d).tolist() == quotas


def slow_quotas(sizes, n_d):
    """The rule by search: try every rate just below a jump, in fractions."""
    rate, step = Fraction(n_d, sum(sizes)), Fraction(0)

    def total(at):
        return sum(max(1, floor(at * size)) for size in sizes if size)

    if total(rate) > n_d:
        step = Fraction(1, 4 * max(sizes) ** 2)  # less than half of any gap of jumps
        jumps = {Fraction(j, size) for size in sizes for j in range(1, size + 1)}
        below = [jump - step for jump in jumps if jump <= rate]
        rate = max(at for at in below if total(at) <= n_d)
    quotas = [max(1, floor(rate * size)) if size else 0 for size in sizes]
    parts = [(rate + step) * size - floor(rate * size) for size in sizes]
    for index in sorted(range(len(sizes)), key=lambda i: (-parts[i], i)):
        if sum(quotas) < n_d and quotas[index] < sizes[index]:
            quotas[index] += 1
    return quotas


@given(st.lists(st.integers(0, 25), min_size=1, max_size=10).filter(any), st.data())
@settings(deadline=None, max_examples=300)
def test_quotas_equal_a_slow_search(sizes, data):
    formed = sum(size > 0 for size in sizes)
    n_d = data.draw(st.integers(formed, sum(sizes)))
    quotas = cluster_quotas(sizes, n_d)
    assert quotas.sum() == n_d
    assert (quotas <= sizes).all()
    assert ((quotas > 0) == (np.array(sizes) > 0)).all()
    assert quotas.tolist() == slow_quotas(sizes, n_d)


def test_quotas_at_the_size_of_a_corpus():
    rng = np.random.default_rng(0)
    sizes = rng.zipf(1.6, 40_000).clip(0, 50_000)
    for n_d in (40_001, 100_000):
        quotas = cluster_quotas(sizes, n_d)
        assert quotas.sum() == n_d
        assert ((quotas >= 1) & (quotas <= sizes)).all()


def test_quota_mistakes():
    with pytest.raises(UserError, match=r"n_d must be in 2\.\.5 .*, got 1"):
        cluster_quotas([2, 0, 3], 1)
    with pytest.raises(UserError, match="got 6"):
        cluster_quotas([2, 0, 3], 6)
    with pytest.raises(UserError, match="negative, got -1"):
        cluster_quotas([2, -1], 1)
