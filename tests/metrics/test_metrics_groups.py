from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.metrics import (
    expected_mixed,
    mixed_probability,
    relative_gain,
    relative_gain_of_means,
    reward_groups,
)


def test_groups_by_hand():
    groups = reward_groups([0, 0, 0, 1, 7, 8, 4, 8], 8)
    assert groups == (3 / 8, 3 / 8, 2 / 8)
    assert groups.informative == groups.mixed
    assert groups.as_dict()["informative"] == 3 / 8


def test_one_sample_is_never_mixed():
    assert reward_groups([0, 1, 1], 1) == (1 / 3, 0, 2 / 3)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
@settings(deadline=None, max_examples=60)
def test_groups_agree_with_the_rewards_themselves(counts):
    rewards = [[1] * c + [0] * (5 - c) for c in counts]
    mixed = sum(min(r) != max(r) for r in rewards)
    groups = reward_groups(counts, 5)
    assert groups.mixed == mixed / len(counts)
    assert sum(groups) == pytest.approx(1)


def test_expected_mixed_equals_all_subsets():
    for n in range(2, 8):
        for group in range(2, n + 1):
            found = expected_mixed(range(n + 1), n, group)
            for c in range(n + 1):
                subsets = list(combinations([1] * c + [0] * (n - c), group))
                mixed = sum(min(s) != max(s) for s in subsets) / len(subsets)
                assert found[c] == pytest.approx(mixed, abs=1e-14)


def test_expected_mixed_is_unbiased_for_the_mixed_probability():
    n, p = 9, 0.3
    weights = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    for group in (2, 5, 8):
        found = expected_mixed(range(n + 1), n, group) @ weights
        assert found == pytest.approx(float(mixed_probability(p, group)), abs=1e-14)


@pytest.mark.parametrize("group", [1, 9])
def test_expected_mixed_refuses(group):
    with pytest.raises(UserError, match=rf"group must lie in 2..8 .*, got {group}"):
        expected_mixed([1, 2], 8, group)


def test_relative_gains_by_hand():
    assert relative_gain(0.6, 0.5) == pytest.approx(20.0)
    assert relative_gain(0.6, 0.0) is None
    a, b = {"x": 0.6, "y": 0.1}, {"x": 0.5, "y": 0.2}
    # of the means: 0.35 / 0.35; the mean of +20 % and -50 % would be -15 %
    assert relative_gain_of_means(a, b) == pytest.approx(0.0)


def test_relative_gains_refuse_other_benchmarks():
    with pytest.raises(UserError, match="same benchmarks"):
        relative_gain_of_means({"x": 0.5}, {"y": 0.5})
    with pytest.raises(UserError, match="same benchmarks"):
        relative_gain_of_means({}, {})
