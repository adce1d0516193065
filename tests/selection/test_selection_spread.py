"""The five statistics of Table 3 and coverage, worked by hand."""

import numpy as np
import pytest

from routejax.errors import UserError
from routejax.selection import (
    coverage,
    moments,
    spread,
    spread_of_prompts,
    to_grid,
    vendi,
)

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


def test_prompts_one_by_one_are_the_same():
    rng = np.random.default_rng(0)
    rows = np.hstack([rng.normal(size=(20, 3)), rng.integers(0, 2, (20, 2))])
    rows = rows.astype(np.float32)
    prompts = [f"p{n // 3}" for n in range(20)]
    one_by_one = (rows[first : first + 3] for first in range(0, 20, 3))
    stats = moments(rows[i : i + 7] for i in range(0, 20, 7))
    found = spread_of_prompts(one_by_one, stats, **BLOCKS)
    assert found == spread(rows, prompts, **BLOCKS)


def test_vendi_by_hand():
    one, two = np.array([4080, 0]), np.array([0, 4080])
    assert vendi(np.stack([one] * 5)) == pytest.approx(1)
    assert vendi(np.stack([one, two])) == pytest.approx(2)
    # eigenvalues 3/4 and 1/4
    quarter = np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    assert vendi(np.stack([one, one, one, two])) == pytest.approx(quarter)
    # rows at 60 degrees: eigenvalues (1 + 1/2)/2 and (1 - 1/2)/2, the same
    tilted = np.array([[1, 0], [0.5, np.sqrt(0.75)]])
    assert vendi(tilted) == pytest.approx(quarter)
    # a zero row is a direction of its own, and so are several together
    assert vendi(np.array([[1, 0], [0, 0]])) == pytest.approx(2)
    assert vendi(np.array([[1, 0], [0, 0], [0, 0], [0, 0]])) == pytest.approx(quarter)
    assert np.isnan(vendi(np.zeros((0, 3))))


def test_vendi_equals_that_of_all_pairs():
    rows = np.random.default_rng(1).normal(size=(60, 7))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.eigvalsh(rows @ rows.T / 60)
    values = values[values > 1e-12]
    assert vendi(rows) == pytest.approx(np.exp(-(values * np.log(values)).sum()))
    assert vendi(to_grid(rows).values) == pytest.approx(vendi(rows), rel=1e-4)
