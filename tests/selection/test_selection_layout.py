"""The principal plane: known axes, a sign that is fixed, distances that are kept."""

import numpy as np
import pytest

from routejax.selection import principal_plane


def test_axes_by_hand():
    rows = np.array([[3, 0, 0], [-3, 0, 0], [0, 0, -1], [0, 0, 1]], float)
    plane = principal_plane(rows)
    assert plane == pytest.approx(np.array([[3, 0], [-3, 0], [0, -1], [0, 1]]))


@pytest.mark.parametrize(
    "direction", [(0.6, 0.8), (0.6, -0.8), (-0.6, 0.8), (-0.8, -0.6)]
)
def test_the_largest_loading_is_positive(direction):
    line = np.outer([1.0, 2.0, 4.0], direction)
    plane = principal_plane(line)  # the sign of the .8 decides
    sign = 1 if 0.8 in direction else -1
    assert plane[:, 0] == pytest.approx(sign * np.array([-4 / 3, -1 / 3, 5 / 3]))
    assert not plane[:, 1].any()


def test_distances_in_a_plane_are_kept():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20, 2)) @ np.linalg.qr(rng.normal(size=(9, 2)))[0].T + 5
    gaps = np.linalg.norm(flat[:, None] - flat, axis=2)
    plane = principal_plane(flat)
    assert np.linalg.norm(plane[:, None] - plane, axis=2) == pytest.approx(gaps)


@pytest.mark.parametrize("shape", [(1, 3), (5, 3), (4, 1)])
def test_identical_rows_fall_on_one_point(shape):
    assert not principal_plane(np.full(shape, 0.1)).any()


def test_blocks_change_nothing(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    whole = principal_plane(rows)
    monkeypatch.setattr("routejax.selection.layout._BLOCK_ROWS", 7)
    assert principal_plane(rows) == pytest.approx(whole, abs=1e-9)
