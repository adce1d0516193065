import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.metrics import Overlap, mcnemar_p, solved_overlap


def test_overlap_by_hand():
    overlap = solved_overlap([1, 2, 0, 0, 3, 1], [1, 0, 4, 0, 1, 0])
    assert overlap == (2, 2, 1, 1)
    assert overlap.retention == 2 / 3
    assert solved_overlap([1, 0], [0, 0]).retention is None


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)
)
@settings(deadline=None, max_examples=60)
def test_overlap_agrees_with_sets(pairs):
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    in_a = {i for i, c in enumerate(a) if c}
    in_b = {i for i, c in enumerate(b) if c}
    overlap = solved_overlap(a, b)
    assert overlap.both == len(in_a & in_b)
    assert overlap.only_a == len(in_a - in_b)
    assert overlap.only_b == len(in_b - in_a)
    assert sum(overlap) == len(pairs)


def test_overlap_refuses_other_questions():
    with pytest.raises(UserError, match="the same questions, got 3 and 2"):
        solved_overlap([1, 0, 1], [1, 0])
    with pytest.raises(UserError, match="one count per question"):
        solved_overlap([[1]], [[1]])


@pytest.mark.parametrize("both", [1170, 1171, 1172])
def test_retention_of_the_paper(both):
    # Similar alone solves 53, and Diverse, which alone solves 1,133, retains 95.67 %
    overlap = Overlap(both=both, only_a=1133, only_b=53, neither=5682 - 1186 - both)
    assert round(100 * overlap.retention, 2) == 95.67
    assert sum(overlap) == 5682
    assert overlap.mcnemar < 1e-200


def test_mcnemar_by_hand():
    # of 6 questions that one arm alone solves, 1 is b's: 2 (C(6,0) + C(6,1)) / 2^6
    assert mcnemar_p(5, 1) == pytest.approx(14 / 64, rel=1e-14)
    # 0 of 5: 2 / 2^5
    assert mcnemar_p(0, 5) == pytest.approx(1 / 16, rel=1e-14)
    assert mcnemar_p(3, 3) == mcnemar_p(0, 0) == 1.0
    overlap = solved_overlap([1, 2, 0, 0, 3, 1], [1, 0, 4, 0, 1, 0])
    assert overlap.as_dict() == {
        **dict(both=2, only_a=2, only_b=1, neither=1),
        "retention": 2 / 3,
        "mcnemar": 1.0,
    }


def test_mcnemar_equals_every_toss():
    for n in range(11):
        tosses = [sum(toss) for toss in itertools.product((0, 1), repeat=n)]
        for a in range(n + 1):
            # as far from n/2 or farther, on either side
            far = sum(abs(2 * x - n) >= abs(2 * a - n) for x in tosses)
            found = mcnemar_p(a, n - a)
            assert found == pytest.approx(far / 2**n, rel=1e-12)
            assert found == mcnemar_p(n - a, a)


@given(st.integers(0, 2000), st.integers(0, 2000))
@settings(deadline=None, max_examples=60)
def test_mcnemar_equals_exact_fractions(a, b):
    fewer, n = min(a, b), a + b
    tail = sum(comb(n, x) for x in range(fewer + 1))
    exact = min(Fraction(1), Fraction(2 * tail, 2**n))
    assert mcnemar_p(a, b) == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("a", "b"), [(-1, 2), (2, 1.5)])
def test_mcnemar_refuses(a, b):
    with pytest.raises(UserError, match="must be a number of questions"):
        mcnemar_p(a, b)
