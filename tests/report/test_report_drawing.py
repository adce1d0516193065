import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.report import svg
from routejax.report.difficulty import gap_area
from routejax.report.plane import dots
from routejax.report.solved import circle_distance, lens
from routejax.report.svg import Scale, nice_ticks, share_ticks
from routejax.report.traces import KINDS, kind_of
from routejax.report.training import binned
from routejax.report.wording import (
    duration,
    listed,
    percent,
    points,
    score_span,
    significant,
    title,
)


def test_scale_by_hand():
    up = Scale(0, 1, 200, 0)
    assert [up(v) for v in (0, 0.25, 1, -5, 7)] == [200, 150, 0, 200, 0]
    log = Scale(1, 16, 0, 100, log=True)
    assert log(4) == pytest.approx(50)
    assert Scale(3, 3, 0, 100)(3) == 50


@given(
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e6),
    st.integers(2, 8),
)
@settings(deadline=None)
def test_ticks_hold_the_data_and_are_evenly_spaced(low, span, about):
    ticks = nice_ticks(low, low + span, about)
    slack = 1e-6 * max(1, abs(low), span)
    assert ticks[0] <= low + slack
    assert ticks[-1] >= low + span - slack
    assert 2 <= len(ticks) <= about + 3
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-5)


def test_ticks_by_hand():
    assert nice_ticks(0, 100, 5) == [0, 20, 40, 60, 80, 100]
    assert nice_ticks(0, 0, 4)[0] == 0
    assert share_ticks(1.0) == [
        (0, "0"),
        (0.25, "25"),
        (0.5, "50"),
        (0.75, "75"),
        (1.0, "100"),
    ]


def area(spots):
    """Of a polygon without crossings, by the shoelace formula."""
    turned = spots[1:] + spots[:1]
    return (
        abs(sum(x * w - v * y for (x, y), (v, w) in zip(spots, turned, strict=True)))
        / 2
    )


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=12))
@settings(deadline=None, max_examples=100)
def test_gap_area_is_the_integral_of_the_lead(pairs):
    xs = list(range(len(pairs)))
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    fine = np.linspace(0, len(xs) - 1, 20_001)
    lead = np.interp(fine, xs, a) - np.interp(fine, xs, b)
    expected = np.trapezoid(np.maximum(lead, 0), fine)
    assert area(list(gap_area(xs, a, b))) == pytest.approx(expected, abs=1e-4)


def test_gap_area_by_hand():
    # a above b by 1 at x = 0, below by 1 at x = 1: a triangle of 1/2 · 1/2 · 1
    assert area(list(gap_area([0, 1], [1, 0], [0, 1]))) == pytest.approx(0.25)


def test_lens_against_a_grid():
    side = np.linspace(-3, 4, 1401)
    x, y = np.meshgrid(side, side)
    cell = (side[1] - side[0]) ** 2
    for r, s, d in ((2.0, 1.5, 1.2), (2.0, 1.0, 2.2), (1.0, 1.0, 0.3)):
        inside = (x**2 + y**2 < r * r) & ((x - d) ** 2 + y**2 < s * s)
        assert lens(r, s, d) == pytest.approx(inside.sum() * cell, rel=0.01)


@given(st.integers(1, 500), st.integers(0, 500), st.integers(0, 500))
@settings(deadline=None)
def test_circles_share_the_area_they_should(both, only_a, only_b):
    r = math.sqrt((both + only_a) / math.pi)
    s = math.sqrt((both + only_b) / math.pi)
    d = circle_distance(r, s, both)
    assert lens(r, s, d) == pytest.approx(both, rel=1e-4)


def test_circles_apart_and_inside():
    assert circle_distance(2, 1, 0) == pytest.approx(3)
    assert circle_distance(2, 1, math.pi) == 1


def test_binned_by_hand():
    steps, values, each = binned(range(6), [1, 3, None, 5, float("nan"), 7], bins=2)
    assert (steps, values, each) == ([0.5, 4.0], [2.0, 6.0], 2)
    assert binned([1, 2], [4.0, 5.0]) == ([1, 2], [4, 5], 1)
    assert binned([1], [None]) == ([], [], 1)


def test_elements_escape_attributes_and_leave_out_none():
    made = svg.el("a", "x", class_="b", data_tip='<"&>', fill=None, x=1.50001)
    assert made == '<a class="b" data-tip="&lt;&quot;&amp;&gt;" x="1.5">x</a>'
    assert svg.path([(0, 1), (2.5, -0.001)], closed=True) == "M0 1L2.5 0z"
    assert dots([(1.04, 2.0)]) == "M1 2h0"


def test_every_step_type_of_the_families_has_a_kind():
    rlve = (
        "correct check branch parse answer infer manipulate calculate enumerate "
        "execute insight decompose describe evaluate assert track_progress "
        "hypothesize reason"
    )
    corpus = (
        "setup computation deduction verification backtracking exploration "
        "backward_reasoning decomposition commentary conclusion"
    )
    omega = (
        "setup conclude count matrix case simplify solve_equation factor geometry "
        "bound modular substitute expand differentiate integrate"
    )
    for name in " ".join([rlve, corpus, omega]).split():
        assert kind_of(name) in KINDS, name
    assert kind_of("track progress") == "commentary"
    assert kind_of("something else") == "other"
    types = [t for group in KINDS.values() for t in group]
    assert len(types) == len(set(types))


def test_wording_by_hand():
    assert [percent(v) for v in (0.3125, 1.0, None, 0)] == ["31.2", "100.0", "–", "0.0"]
    assert [points(v) for v in (0.031, -0.031, 0.0, -0.0001)] == [
        "+3.1",
        "−3.1",
        "+0.0",
        "+0.0",
    ]
    assert score_span({"lower": -0.2, "upper": 1.4}) == "0.0–100.0"
    said = [significant(v) for v in (22.94, 0.0592, 31, 5120.4, 0.0, None, 1234567)]
    assert said == ["22.9", "0.0592", "31", "5,120", "0", "–", "1,234,567"]
    times = [duration(s) for s in (4.2, 59.4, 192, 7300)]
    assert times == ["4.2 s", "59 s", "3 min 12 s", "2 h 1 min"]
    assert [listed(list(w)) for w in ("", "a", "ab", "abc")] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert title("covering_radius") == "Covering radius"
    assert title("rl") == "RL"
