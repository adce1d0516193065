"""The engine that reads little makes the reference's picks, whatever its block sizes.

Rounds and tiles are made tiny here, so that a dozen rows already take many of them.
"""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from routejax.errors import UserError
from routejax.selection import farthest_lazy, farthest_points
from routejax.selection.farthest import farthest_picks

GRIDS = hnp.arrays(
    np.int16,
    st.tuples(st.integers(1, 40), st.integers(1, 3)),
    elements=st.integers(-3, 3),  # few values, so ties and duplicates are common
)
# Rows per round, rows to choose among, rows of a tile, picks of a tile.
TINY = st.tuples(*[st.integers(1, 6)] * 4)
NAMES = ("_SIZE", "_LIVE", "_TILE", "_PICKS")


def cloud(rows, width=5, seed=0):
    """Clustered grid rows of about unit length, five of them identical."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(rows // 20 + 1, width))
    phi = centres[rng.integers(len(centres), size=rows)]
    phi = phi + 0.2 * rng.normal(size=phi.shape)
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    grid = np.rint(4080 * phi).astype(np.int16)
    grid[[3, 8, rows // 2, rows // 3 + 9, rows - 1]] = grid[5]
    return grid


def assert_same(found, expected):
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])  # the last bit of the distances too


@given(GRIDS, TINY, st.data())
@settings(deadline=None, max_examples=300)
def test_any_block_sizes_give_the_reference(rows, sizes, data):
    rows = np.concatenate([rows, rows[:1].repeat(5, axis=0)])
    count = data.draw(st.integers(1, len(rows)))
    start = data.draw(st.none() | st.integers(0, len(rows) - 1))
    with pytest.MonkeyPatch.context() as patch:
        for name, size in zip(NAMES, sizes, strict=True):
            patch.setattr(farthest_lazy, name, size)
        found = farthest_picks(rows, count, start, engine="cpu")
    assert_same(found, farthest_picks(rows, count, start))


@pytest.mark.parametrize("count", [1, 2, 300, 3000])
def test_a_pool_of_many_rounds(count, monkeypatch):
    rows = cloud(3000)
    for name, size in zip(NAMES, (64, 32, 16, 50), strict=True):
        monkeypatch.setattr(farthest_lazy, name, size)
    assert_same(farthest_picks(rows, count, engine="cpu"), farthest_picks(rows, count))


@pytest.mark.parametrize("start", [None, 0, 1999])
def test_a_pool_in_the_sizes_as_they_are(start):
    rows = cloud(6000, width=20, seed=1)
    found = farthest_picks(rows, 1500, start, engine="cpu")
    assert_same(found, farthest_picks(rows, 1500, start))


def test_most_rows_are_not_read_again():
    rows, products = cloud(20_000, width=20, seed=2), []

    def counted(dots, *others):
        products.append(dots.size)
        return lower(dots, *others)

    lower = farthest_lazy.lower
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(farthest_lazy, "lower", counted)
        farthest_picks(rows, 2000, engine="cpu")
    assert sum(products) < 0.7 * len(rows) * 2000


def test_all_rows_identical():
    rows = np.full((50, 4), 7, np.int16)
    assert farthest_points(rows, 50, engine="cpu").tolist() == [*range(50)]
    picks, distance = farthest_picks(rows, 50, 30, engine="cpu")
    assert picks.tolist() == [30, *range(30), *range(31, 50)]
    assert not distance.any()


def test_two_values_many_times(monkeypatch):
    """Everything ties: five rows here, all others there."""
    monkeypatch.setattr(farthest_lazy, "_SIZE", 2)
    rows = np.zeros((40, 2), np.int16)
    rows[[4, 9, 11, 30, 39]] = 5
    found = farthest_points(rows, 40, engine="cpu").tolist()
    assert found[:3] == [0, 4, 1]
    assert found[2:] == [i for i in range(1, 40) if i != 4]


def test_the_largest_squares_do_not_overflow():
    rows = np.array([[4096], [-4096], [4095], [-4095], [0]] + [[1]] * 5, np.int16)
    picks, distance = farthest_picks(rows, 10, start=0, engine="cpu")
    assert_same((picks, distance), farthest_picks(rows, 10, start=0))
    assert distance[1] == 8192


def test_threads_change_nothing():
    rows = cloud(6000, width=20, seed=3)
    with threadpool_limits(limits=1):
        alone = farthest_picks(rows, 800, engine="cpu")
    with threadpool_limits(limits=2):
        assert_same(farthest_picks(rows, 800, engine="cpu"), alone)


def test_rows_are_not_held_in_a_wider_type():
    rows = np.zeros((200_000, 200), np.int16)  # 80 MB, 160 MB in float32
    rows[:, :5] = cloud(len(rows))
    farthest_picks(rows[:100], 5, engine="cpu")  # compiled before
    tracemalloc.start()
    farthest_picks(rows, 20, engine="cpu")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * rows.size  # half of it are blocks of fixed size


def test_rows_that_are_not_of_the_grid():
    rows = np.zeros((70_000, 60), np.int16)  # more than one block
    rows[69_999, :2] = 4096, 1
    with pytest.raises(UserError, match=r"got 16777217 in row 69999; make the rows"):
        farthest_points(rows, 2, engine="cpu")
    with pytest.raises(UserError, match=r"rows of the integer grid.*got float32"):
        farthest_points(rows.astype(np.float32), 2, engine="cpu")
    with pytest.raises(UserError, match="one of reference, cpu, jax, got 'gpu'"):
        farthest_points(rows, 2, engine="gpu")
