"""Nearness to the mean in whole numbers, whatever the blocks."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from routejax.selection import nearness
from routejax.selection.nearness import gaps_to_mean, nearness_to_mean

GRIDS = hnp.arrays(
    np.int16,
    st.tuples(st.integers(1, 14), st.integers(1, 3)),
    elements=st.integers(-4080, 4080) | st.integers(-2, 2),
)


def squares(rows):
    mean = [Fraction(int(column.sum()), len(rows)) for column in rows.T]
    return [
        sum((int(x) - m) ** 2 for x, m in zip(row, mean, strict=True)) for row in rows
    ]


def test_by_hand():
    line = np.array([[0], [10], [4], [6]], np.int16)  # mean 5, sum 20
    assert nearness_to_mean(line).tolist() == [0, 0, -96, -96]
    assert gaps_to_mean(line, np.array([2, 0])).tolist() == [1, 5]


@given(GRIDS, st.integers(1, 20))
@settings(deadline=None, max_examples=200)
def test_the_key_orders_as_exact_distances_do(rows, entries):
    slow = squares(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearness, "_BLOCK_ENTRIES", entries)
        key = nearness_to_mean(rows)
        gaps = gaps_to_mean(rows, np.arange(len(rows)))
    assert [int(k) for k in key] == key.tolist()
    norm = sum(Fraction(int(column.sum())) ** 2 for column in rows.T) / len(rows)
    assert [(Fraction(int(k)) + norm) / len(rows) for k in key] == slow
    assert gaps == pytest.approx([float(s) ** 0.5 for s in slow], abs=1e-9)


def test_float_rows_are_about_as_near_as_they_are():
    rows = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    expected = np.linalg.norm(rows - rows.mean(axis=0, dtype=float), axis=1)
    assert gaps_to_mean(rows, np.arange(300)) == pytest.approx(expected)
    assert np.array_equal(np.argsort(nearness_to_mean(rows)), np.argsort(expected))


def test_rows_are_not_held_in_a_wider_type():
    rows = np.zeros((200_000, 200), np.int16)  # 80 MB, 320 MB in float64
    tracemalloc.start()
    nearness_to_mean(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows.nbytes
