"""The five statistics of Table 3 and coverage, worked by hand."""

import numpy as np
import pytest

from routejax.errors import UserError
from routejax.selection import coverage, spread

BLOCKS = {"continuous": slice(0, 1), "topology": slice(1, 3), "patterns": slice(3, 5)}


def test_statistics_by_hand():
    # continuous -1, 1, 3, 1: sigma^2 = 2; topology -2, 0, 2, 0 (sigma^2 = 2), constant
    rows = np.array(
        [
            [-1, -2, 7, 1, 0],
            [1, 0, 7, 1, 1],
            [3, 2, 7, 1, 0],
            [1, 0, 7, 0, 1],
        ],
        np.float32,
    )
    found = spread(rows, ["p", "p", "p", "alone"], **BLOCKS)
    assert (found.rows, found.prompts) == (4, 1)
    step = 2 / np.sqrt(2)
    assert found.response_distance == pytest.approx((step + 2 * step + step) / 3)
    assert found.topology_distance == pytest.approx((step + 2 * step + step) / 3)
    assert found.topology_variance == pytest.approx((8 / 3 / 2 + 0) / 2)
    # occurrences 3 and 1
    assert found.pattern_entropy_bits == pytest.approx(2 - 0.75 * np.log2(3))
    assert found.active_patterns == 2


def test_prompts_count_alike():
    rows = np.zeros((5, 5), np.float32)
    rows[:, 0] = [0, 4, 1, 1, 1]
    rows[:2, 3] = 1
    found = spread(rows, ["a", "a", "b", "b", "b"], **BLOCKS)
    sigma = rows[:, 0].std()
    assert found.prompts == 2
    assert found.response_distance == pytest.approx(4 / sigma / 2)
    assert (found.pattern_entropy_bits, found.active_patterns) == (0, 0.5)


def test_a_pattern_is_active_from_two_in_a_hundred():
    rows = np.zeros((101, 5), np.float32)
    rows[:2, 3] = 1  # 2 of 101 is below 2 %
    rows[:3, 4] = 1
    assert spread(rows, ["p"] * 101, **BLOCKS).active_patterns == 1
    assert spread(rows[:100], ["p"] * 100, **BLOCKS).active_patterns == 2


def test_five_identical_rows_have_no_spread():
    rows = np.concatenate([np.full((5, 5), 1, "f4"), np.zeros((1, 5), "f4")])
    found = spread(rows, ["p"] * 5 + ["q"], **BLOCKS)
    assert found[2:5] == (0, 0, 0)
    assert (found.pattern_entropy_bits, found.active_patterns) == (1, 2)


def test_no_prompt_with_two_rows():
    found = spread(np.zeros((2, 5), np.float32), ["a", "b"], **BLOCKS)
    assert found[:2] == (2, 0)
    assert np.isnan(found[2:]).all()


def test_spread_mistakes():
    rows = np.full((2, 5), 2, np.float32)
    with pytest.raises(UserError, match="0 or 1"):
        spread(rows, ["a", "a"], **BLOCKS)
    with pytest.raises(UserError, match=r"per row \(2\), got 1"):
        spread(rows, ["a"], **BLOCKS)


def test_coverage_by_hand():
    line = np.array([[0], [3], [4], [9], [9]], np.int16)
    assert coverage(line, np.array([1, 4])) == (3, (3 + 0 + 1 + 0 + 0) / 5)


def test_coverage_equals_all_pairs():
    rows = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    chosen = np.arange(0, 300, 11)
    gaps = np.linalg.norm(rows[:, None] - rows[chosen], axis=2).min(axis=1)
    found = coverage(rows, chosen)
    assert found.radius == pytest.approx(gaps.max(), rel=1e-6)
    assert found.mean_nearest == pytest.approx(gaps.mean(), rel=1e-6)
    assert coverage(rows, np.arange(300)) == (0, 0)


@pytest.mark.parametrize("chosen", [[], [5], [-1]])
def test_coverage_mistakes(chosen):
    with pytest.raises(UserError, match=r"row indices in 0\.\.4"):
        coverage(np.zeros((5, 2), np.int16), np.array(chosen, int))
