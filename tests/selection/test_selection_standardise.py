"""z-scores follow the formula."""

import numpy as np
import pytest

from routejax.errors import UserError
from routejax.selection import moments, standardise


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
    with pytest.raises(
        UserError, match="statistics are of 3 features, the rows have 2"
    ):
        standardise(rows[:, :2], moments(rows))
    with pytest.raises(UserError, match=r"unscaled must be in 0\.\.3"):
        standardise(rows, unscaled=4)
