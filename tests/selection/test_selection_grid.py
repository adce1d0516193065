"""On the grid every dot product is exact in any order; the hash is fixed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.selection import to_grid


def unit_rows(seed, rows, width):
    x = np.random.default_rng(seed).normal(size=(rows, width))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def test_rounding_by_hand():
    grid = to_grid(np.array([[0.6, -0.8], [0, 0], [1, 0]], np.float32))
    assert grid.values.tolist() == [[2448, -3264], [0, 0], [4080, 0]]
    assert grid.values.dtype == np.int16
    half = to_grid(np.array([[0.5, 0.75]], np.float32), scale=2)
    assert half.values.tolist() == [[1, 2]]  # 1.5 goes to the even 2
    assert to_grid(np.array([[0.25, 0.0]], np.float32), scale=2).values[0, 0] == 0


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 96, 323, 1024]))
@settings(deadline=None, max_examples=30)
def test_float32_products_are_exact_in_any_order(seed, width):
    q = to_grid(unit_rows(seed, 20, width)).values
    exact = q.astype(np.int64) @ q.T.astype(np.int64)
    shuffled = q[:, np.random.default_rng(seed).permutation(width)].astype(np.float32)
    assert np.array_equal(shuffled @ shuffled.T, exact)
    assert np.array_equal(np.cumsum(shuffled[0] * shuffled[1])[-1], exact[0, 1])
    assert exact.max() <= 2**24


def test_without_the_grid_the_order_shows():
    x = unit_rows(0, 200, 96)
    y = np.ascontiguousarray(x[:, ::-1])
    assert not np.array_equal(x @ x.T, y @ y.T)


def test_the_hash_is_fixed_and_sees_everything():
    phi = np.array([[0.6, -0.8], [0, 0]], np.float32)
    digest = to_grid(phi).sha256
    assert digest == "c54430bf447ca3c585a2cb8c0fc1970a8054c57e73c9e956565243381d36d95a"
    assert to_grid(phi[::-1]).sha256 != digest
    assert to_grid(phi, scale=4079).sha256 != digest
    assert to_grid(phi.reshape(1, 4) / 2).sha256 != digest


def test_mistakes_are_named():
    phi = np.array([[0.6, 0.8], [0.6, 0.9]], np.float32)
    with pytest.raises(UserError, match=r"in row 1 .*unit length"):
        to_grid(phi)
    phi[1, 1] = np.nan
    with pytest.raises(UserError, match="finite, got nan in row 1, column 1"):
        to_grid(phi)
    with pytest.raises(UserError, match=r"scale must be in 1\.\.32767"):
        to_grid(phi[:1], scale=0)
