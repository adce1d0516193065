import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.metrics import pass_curve
from routejax.metrics.coverage import (
    Policy,
    coverage_gap,
    expected_coverage,
    fit_coverage,
    mixed_probability,
    success,
    widest_gap,
)


def test_coverage_by_hand():
    assert expected_coverage(0.5, 3) == pytest.approx(0.875, rel=1e-15)
    assert expected_coverage(0.25, [0, 1, 2]) == pytest.approx([0.0, 0.25, 0.4375])
    assert expected_coverage([0.0, 1.0], 7).tolist() == [0.0, 1.0]
    assert expected_coverage(1.0, 0) == 0.0
    assert expected_coverage(0.5, 1, reach=0.4) == 0.2
    assert expected_coverage(1e-18, 3) == pytest.approx(3e-18, rel=1e-12)
    assert success(0.5, [0.0, 0.2, 1.0]).tolist() == [0.0, 0.1, 0.5]


@pytest.mark.parametrize("group", [2, 3, 8])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_mixed_probability_equals_every_outcome(p, group):
    mixed = sum(
        np.prod([p if win else 1 - p for win in wins])
        for wins in itertools.product((False, True), repeat=group)
        if any(wins) and not all(wins)
    )
    assert mixed_probability(p, group) == pytest.approx(mixed, abs=1e-14)


def test_mixed_probability_peaks_at_one_half():
    p = np.linspace(0, 1, 201)
    found = mixed_probability(p, 8)
    assert p[np.argmax(found)] == 0.5
    assert (np.diff(found[:101]) > 0).all()
    np.testing.assert_allclose(found, found[::-1], atol=1e-14)


inside = st.floats(1e-4, 0.99)


@given(inside, inside)
@settings(deadline=None, max_examples=80)
def test_widest_gap_of_the_paper_equals_a_grid_search(p_s, p_d):
    assume(p_s < p_d * 0.999)
    q_d, q_s = 1 - p_d, 1 - p_s
    wanted = np.log(np.log(q_d) / np.log(q_s)) / np.log(q_s / q_d)
    found = widest_gap(Policy(p_d), Policy(p_s))
    assert found.at == pytest.approx(wanted, rel=1e-6)
    fine = np.linspace(0, 3 * found.at, 30001)
    grid = fine[np.argmax(q_s**fine - q_d**fine)]
    assert grid == pytest.approx(found.at, rel=1e-3)
    whole = np.arange(1, int(3 * found.at) + 4)
    gaps = q_s**whole - q_d**whole
    assert found.gap == pytest.approx(gaps.max(), rel=1e-9)
    assert gaps[found.k - 1] == pytest.approx(gaps.max(), rel=1e-9)
    assert found.k == 1 or abs(found.k - found.at) < 1


@given(inside, inside, st.floats(0.05, 1), st.floats(0.05, 1))
@settings(deadline=None, max_examples=120)
def test_widest_gap_with_reach_equals_a_grid_search(p_a, p_b, reach_a, reach_b):
    a, b = Policy(p_a, reach_a), Policy(p_b, reach_b)
    found = widest_gap(a, b)
    fine = np.geomspace(1e-3, 1e6, 20001)
    gaps = coverage_gap(a, b, fine)
    best = int(np.argmax(gaps))
    if found is None:
        # the lead is largest at the ends: it never peaks between them
        assert gaps[best] <= max(gaps[0], gaps[-1], 0) + 1e-12
    else:
        assert coverage_gap(a, b, found.at) >= gaps[best] - 1e-9


def test_a_gap_that_never_narrows_has_no_widest_budget():
    assert widest_gap(Policy(0.2), Policy(0.2)) is None
    assert widest_gap(Policy(0.1), Policy(0.2)) is None
    assert widest_gap(Policy(0.1, 0.9), Policy(0.2, 0.1)) is None


@given(st.floats(0.002, 0.95), st.floats(0.05, 1.0))
@settings(deadline=None, max_examples=60)
def test_fit_finds_the_policy_a_curve_was_made_from(p, reach):
    ks = (1, 2, 4, 8, 16, 32, 64)
    curve = {k: float(expected_coverage(p, k, reach)) for k in ks}
    found = fit_coverage(curve)
    assert found.error < 1e-6
    assert (found.policy.p, found.policy.reach) == pytest.approx((p, reach), rel=1e-2)
    assert found.n == 7
    if reach == 1.0:
        assert fit_coverage(curve, reach=1.0).policy.p == pytest.approx(p, rel=1e-5)


def test_fit_is_no_worse_than_a_grid_search():
    draw = np.random.Generator(np.random.PCG64(0))
    curve = pass_curve(draw.binomial(16, draw.beta(0.4, 0.8, 300)), 16)
    ks, scores = np.array(list(curve)), np.array(list(curve.values()))
    grid = min(
        np.mean((share * (1 - (1 - p) ** ks) - scores) ** 2)
        for p in np.linspace(0.001, 0.999, 400)
        for share in np.linspace(0.01, 1, 100)
    )
    assert fit_coverage(curve).error <= grid**0.5 + 1e-9
    alone = min(
        np.mean((1 - (1 - p) ** ks - scores) ** 2) for p in np.linspace(0, 1, 20001)
    )
    paper = fit_coverage(curve, reach=1)
    assert paper.error == pytest.approx(alone**0.5, rel=1e-4)
    assert paper.error > fit_coverage(curve).error


def test_a_curve_of_zeros_has_nothing_within_reach():
    assert fit_coverage({1: 0.0, 2: 0.0}).policy == (0.0, 0.0)
    assert fit_coverage({1: 0.0}, reach=1).policy == (0.0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_coverage(1.5, 1), "p must lie in 0..1, got 1.5"),
        (lambda: expected_coverage(float("nan"), 1), "got nan"),
        (lambda: expected_coverage(0.5, [1, -1]), "k must be 0 or more, got -1"),
        (lambda: success(0.0, 0.5), "beta must lie in"),
        (lambda: success(0.5, 2), "u must lie in 0..1"),
        (lambda: mixed_probability(0.5, 1), "2 rollouts or more, got 1"),
        (lambda: widest_gap(Policy(1.0), Policy(0.5)), "0 < p < 1"),
        (lambda: fit_coverage({}), "one k or more"),
        (lambda: fit_coverage({1: float("nan"), 2: 0.5}), "got nan at k = 1"),
        (lambda: fit_coverage({0: 0.0, 2: 0.5}), "at k = 0"),
        (lambda: fit_coverage({4: 0.5}), "got k = 4 alone"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(UserError, match=message):
        call()
