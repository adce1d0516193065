"""Nearest centroids and means in whole numbers, on the CPU and on devices."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import Mesh

from routejax.selection.clustering import blocks, exact, sharded


def limited(seed, rows, width, length=4096):
    """Integer rows of about the given length, at most 4,096, in all directions."""
    x = np.random.default_rng(seed).standard_t(2, size=(rows, width))
    x *= length / np.linalg.norm(x, axis=1, keepdims=True)
    return np.trunc(x).astype(np.int16)


def slow_nearest(rows, centroids, allowed=None):
    gaps = rows[:, None].astype(np.int64) - centroids[None].astype(np.int64)
    squares = (gaps**2).sum(axis=2)
    if allowed is not None:
        squares = np.where(allowed, squares, 2**40)
    labels = squares.argmin(axis=1)
    best = squares[np.arange(len(rows)), labels]
    return labels, np.where(best < 2**40, best, -1)


def on_blocks(rows, batch=100):
    return blocks.Blocks(rows, batch, 2)


def on_devices(rows, batch=100, devices=8):
    mesh = Mesh(np.array(jax.devices()[:devices]), ("rows",))
    return sharded.Shards(rows, batch, mesh=mesh)


WAYS = pytest.mark.parametrize("way", [on_blocks, on_devices])


def extremes(width=6):
    """Rows of the greatest length: unit steps, their opposites, all odd and even."""
    axes = 4096 * np.eye(width, dtype=np.int64)
    near = np.array([[4095, 90, 9, 3, 1, 0], [4095, 90, 9, 3, 0, 0]])
    half = np.array([[2896, 2896, 19, 1, 1, 0], [2895, 2896, 60, 60, 1, 0]])
    rows = np.concatenate([axes, near, half, np.zeros((1, width), np.int64)])
    rows = np.concatenate([rows, -rows, rows[:, ::-1]])
    assert (rows**2).sum(axis=1).max() == 2**24
    return rows.astype(np.int16)


@WAYS
def test_the_largest_numbers_are_exact(way):
    rows = extremes()
    for shift in range(len(rows)):
        centroids = np.roll(rows, shift, axis=0)
        labels, gaps = way(rows).nearest(centroids)
        slow = slow_nearest(rows, centroids)
        assert np.array_equal(labels, slow[0])
        assert np.array_equal(gaps, slow[1])
    opposite = way(rows[:1]).nearest(-rows[:1])
    assert opposite[1].tolist() == [8192**2]


@WAYS
@pytest.mark.parametrize("length", [2, 40, 4096])
def test_nearest_equals_a_slow_loop(way, length):
    """Length 2: almost all are ties, between odd and even squared lengths as well."""
    rows, centroids = limited(0, 300, 5, length), limited(1, 90, 5, length)
    labels, gaps = way(rows).nearest(centroids)
    slow = slow_nearest(rows, centroids)
    assert np.array_equal(labels, slow[0])
    assert np.array_equal(gaps, slow[1])


def test_an_even_length_loses_a_tie_to_an_odd_one_before_it():
    rows = np.array([[0, 0]], np.int16)
    centroids = np.array([[2, 1], [0, 2], [1, 0], [0, 1]], np.int16)
    labels, gaps = on_blocks(rows).nearest(centroids)
    assert (labels.tolist(), gaps.tolist()) == ([2], [1])
    assert exact.tile(centroids, np.arange(4)).ids.tolist() == [1, 0, 2, 3]


@WAYS
def test_centroids_across_tiles(way, monkeypatch):
    monkeypatch.setattr(blocks, "_TILE", 7)
    monkeypatch.setattr(blocks, "_STRIP", 9)
    monkeypatch.setattr(sharded, "_WIDE", 7)
    rows, centroids = limited(2, 120, 4, 9), limited(3, 50, 4, 9)
    labels, _ = way(rows).nearest(centroids)
    assert np.array_equal(labels, slow_nearest(rows, centroids)[0])


@WAYS
@pytest.mark.parametrize("length", [3, 4096])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_passes_limited_to_near_cells(way, length, count):
    rows, centroids = limited(4, 200, 5, length), limited(5, 60, 5, length)
    cells = limited(6, 12, 5, length)
    passes = way(rows)
    home, gaps = passes.probe(cells, count)
    far = ((rows[:, None].astype(np.int64) - cells[None]) ** 2).sum(axis=2)
    order = np.argsort(far, axis=1, kind="stable")
    assert np.array_equal(home, order[:, 0])
    assert np.array_equal(gaps, far.min(axis=1))
    owners = slow_nearest(centroids, cells)[0].astype(np.int32)
    owners[owners == 2] = 3  # nothing lies in cell 2
    allowed = (owners[None, :, None] == order[:, None, :count]).any(axis=2)
    labels, gaps = passes.nearest(centroids, owners)
    slow = slow_nearest(rows, centroids, allowed)
    known = slow[1] >= 0
    assert np.array_equal(gaps, slow[1])
    assert np.array_equal(labels[known], slow[0][known])
    assert known.all() or count == 1


@WAYS
def test_sums_of_clusters(way):
    rows = limited(7, 500, 5)
    labels = np.random.default_rng(0).integers(0, 20, 500).astype(np.int32)
    labels[labels == 4] = 5
    expected = np.zeros((20, 5), np.int64)
    np.add.at(expected, labels, rows)
    assert np.array_equal(way(rows).sums(labels, 20), expected)


@pytest.mark.parametrize("devices", [1, 2, 4, 8])
@pytest.mark.parametrize("batch", [1, 6, 1000])
def test_any_mesh_and_block(devices, batch, monkeypatch):
    monkeypatch.setattr(sharded, "_CHUNK", 40)  # several chunks
    rows, centroids = limited(8, 101, 3, 30), limited(9, 20, 3, 30)
    cells = limited(10, 9, 3, 30)
    owners = slow_nearest(centroids, cells)[0].astype(np.int32)
    here, there = on_blocks(rows), on_devices(rows, batch, devices)
    assert len(there.rows) > 1
    answers = []
    for passes in (here, there):
        found = [*passes.probe(cells, 4), *passes.nearest(centroids)]
        found += passes.nearest(centroids, owners)
        answers.append([*found, passes.sums(found[2], 20)])
    for ours, theirs in zip(*answers, strict=True):
        assert np.array_equal(ours, theirs)


@given(st.integers(1, 10**7), st.integers(1, 10**6), st.sampled_from([1, 2, 8, 256]))
@settings(max_examples=200, deadline=None)
def test_a_chunk_cannot_overflow_and_is_about_full(count, batch, devices):
    block, chunk = sharded._sizes(count, batch, devices)
    assert 1 <= block <= batch
    assert chunk % (block * devices) == 0
    assert chunk * 4096 < 2**31
    chunks = -(-count // chunk)
    assert chunks * chunk - count < (chunks + 1) * block * devices


def test_sums_of_a_full_chunk_of_the_largest_rows():
    count = 2**18 + 5
    rows = np.full((count, 1), 4096, np.int16)
    total = on_devices(rows, 10**6).sums(np.zeros(count, np.int32), 1)
    assert total.tolist() == [[4096 * count]]


def test_means_round_halves_up():
    sums = np.array([[3, -3, 4], [5, -5, 0], [7, -7, -2]])
    means = exact.means(sums, np.array([2, 2, 3]))
    assert means.tolist() == [[2, -1, 2], [3, -2, 0], [2, -2, -1]]


def test_a_mean_is_cut_where_rounding_makes_it_too_long():
    """Of two rows with |q|^2 = 2^24, with 91 ones in different columns."""
    rows = np.zeros((2, 184), np.int64)
    rows[:, :2] = 4095, 90
    rows[0, 2:93] = rows[1, 93:] = 1
    assert (rows**2).sum(axis=1).tolist() == [2**24, 2**24]
    mean = exact.means(rows.sum(axis=0, keepdims=True), np.array([2]))
    assert mean[0, :2].tolist() == [4095, 90]
    assert not mean[0, 2:].any()
    minus = exact.means(-rows.sum(axis=0, keepdims=True), np.array([2]))
    assert np.array_equal(minus, -mean)  # -1/2 rounds up to 0: short enough either way


def test_farthest_rows_by_hand():
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 3], np.int32)
    gaps = np.array([4, 9, 9, 9, 1, 16, 2, 0], np.int32)
    assert exact.farthest_rows(labels, gaps, 9).tolist() == [5, 1, 3]
    assert exact.farthest_rows(labels, gaps, 2).tolist() == [5, 1]
    assert exact.farthest_rows(labels, gaps, 0).tolist() == []
    assert exact.farthest_rows(labels, np.zeros(8, np.int32), 3).tolist() == []
