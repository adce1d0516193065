"""Exact sums of the kernels are those of `moments`."""

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from routejax import moments
from routejax.errors import UserError
from routejax.fingerprints import engine

BIG, EDGE = np.float32(2.0**24), np.float32(2.0**22)
BELOW = np.nextafter(BIG, np.float32(0))
TINY = np.float32(1e-45)
ODD = [0.0, -0.0, TINY, -TINY, 2.0**-40, -(2.0**-40), 1.5 * 2.0**-40, 2.5 * 2.0**-40]
ODD += [-0.5 * 2.0**-40, 0.1, -0.1, 1.0, -1.0, 3.7, 2.0**-8, -(2.0**-8), 1738.0, 1e-30]
NEAR = [np.nextafter(EDGE, np.float32(0)), EDGE, -EDGE, np.nextafter(EDGE, BIG), BELOW]


def agree(block: np.ndarray) -> None:
    assert engine.sums.sums(block) == moments.sums([block])


def test_by_hand():
    block = np.array([[1.5, -0.0], [-3.0, 2.0**-40]], np.float32)
    one = 1 << 40
    assert engine.sums.sums(block) == moments.Sums(
        2, (-3 * one // 2, 1), (45 * one**2 // 4, 1)
    )


@pytest.mark.parametrize("value", [*ODD, *NEAR, -BELOW])
def test_one_value(value):
    agree(np.array([[value]], np.float32))
    agree(np.array([[value, 1.0], [value, -value], [0.25, value]], np.float32))


def test_many_rows_of_the_largest_values():
    """Digits add up beyond 32 bits."""
    agree(np.full((5000, 2), NEAR[0]) * np.array([1, -1], np.float32))
    agree(np.full((5000, 2), BELOW) * np.array([1, -1], np.float32))


@settings(deadline=None, max_examples=150)
@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.one_of(
            st.sampled_from([float(np.float32(v)) for v in [*ODD, *NEAR]]),
            st.floats(float(-BELOW), float(BELOW), width=32),
            st.floats(-4, 4, width=32),
        ),
    )
)
def test_any_block(block):
    agree(block)


def test_random_blocks_add_up():
    rng = np.random.default_rng(0)
    block = (rng.normal(size=(300, 40)) * 2.0 ** rng.integers(-50, 20, 40)).astype("f4")
    agree(block)
    parts = [engine.sums.sums(block[a : a + 7]) for a in range(0, 300, 7)]
    assert sum(parts, moments.no_sums(40)) == moments.sums([block])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, BIG, -BIG, 1e30])
def test_what_is_out_of_range_is_named(value):
    block = np.zeros((3, 2), np.float32)
    block[1, 1] = value
    with pytest.raises(UserError, match="in row 1, column 1"):
        engine.sums.sums(block)
