"""k-means: the library's own seeds, one exact final pass, duplicates, threads."""

import numpy as np
import pytest
from sklearn.cluster import MiniBatchKMeans, kmeans_plusplus
from threadpoolctl import threadpool_info, threadpool_limits

from routejax.errors import UserError
from routejax.selection import clusters, kmeans, to_grid
from routejax.selection.clustering import library
from routejax.selection.seeding import plusplus


def grid_rows(seed, rows, width=16):
    x = np.random.default_rng(seed).normal(size=(rows, width))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return to_grid(x.astype(np.float32)).values


@pytest.mark.parametrize("k", [1, 2, 60, 299])
@pytest.mark.parametrize("seed", [0, 42])
def test_seeds_are_those_of_scikit_learn(k, seed):
    rows = np.repeat(grid_rows(seed, 100), 3, axis=0)  # every row three times
    _, expected = kmeans_plusplus(
        rows.astype(float), k, random_state=np.random.RandomState(seed)
    )
    picks = plusplus(rows.astype(np.float32), k, np.random.RandomState(seed))
    assert np.array_equal(picks, expected)


def test_the_final_pass_is_exact_and_ties_go_to_the_lowest_index():
    rows = np.array([[0, 0], [4, 0], [2, 0], [-1, 0]], np.int16)
    centroids = np.array([[4, 0], [0, 0], [0, 0]], float)
    labels, inertia = library.assign(rows, centroids)
    assert labels.tolist() == [1, 0, 0, 1]  # (2, 0) lies in the middle of 0 and 1
    assert inertia == 0 + 0 + 4 + 1


def test_the_final_pass_equals_a_slow_loop_in_any_blocks(monkeypatch):
    rows, centroids = grid_rows(0, 200), grid_rows(1, 17)
    gaps = rows[:, None].astype(np.int64) - centroids[None].astype(np.int64)
    squares = (gaps**2).sum(axis=2)
    expected = squares.argmin(axis=1), float(squares.min(axis=1).sum())
    for entries in (10, 1000, 10**6):
        monkeypatch.setattr(library, "_PASS_ENTRIES", entries)
        labels, inertia = library.assign(rows, centroids.astype(float))
        assert np.array_equal(labels, expected[0])
        assert inertia == expected[1]


def test_centroids_are_rounded_to_the_grid_and_only_there(monkeypatch):
    def fitted(phi, k, **options):
        return np.array([[0.6], [3.4]], np.float32)

    monkeypatch.setattr(clusters, "fitted", fitted)
    found = kmeans(np.array([[0], [2], [4]], np.int16), 2)  # centroids 1 and 3
    assert (found.labels.tolist(), found.inertia) == ([0, 0, 1], 3)
    found = kmeans(np.array([[0], [1], [4]], np.float32), 2)
    assert found.labels.tolist() == [0, 0, 1]
    assert found.inertia == pytest.approx(0.36 + 0.16 + 0.36)


@pytest.mark.parametrize("engine", clusters.ENGINES)
def test_blobs_far_apart_are_found(engine):
    centres = np.eye(6, dtype=np.float32)
    noise = np.random.default_rng(0).normal(0, 0.02, (6, 20, 6))
    rows = (centres[:, None] + noise).reshape(-1, 6)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = kmeans(to_grid(rows.astype(np.float32)).values, 6, engine=engine)
    assert (found.asked, found.formed, found.empty, found.singletons) == (6, 6, 0, 0)
    by_blob = found.labels.reshape(6, 20)
    assert (by_blob == by_blob[:, :1]).all()
    assert len(set(by_blob[:, 0].tolist())) == 6


def test_more_clusters_than_distinct_rows():
    rows = np.array([[3, 0], [1, 0], [3, 0], [2, 0], [1, 0]], np.int16)
    for k, singles in ((3, 1), (5, 1)):
        found = kmeans(rows, k)
        assert found.labels.tolist() == [0, 1, 0, 2, 1]  # by first appearance
        assert (found.asked, found.formed, found.empty) == (k, 3, k - 3)
        assert (found.singletons, found.inertia) == (singles, 0)
    floats = np.array([[0.0, 1.0], [-0.0, 1.0]], np.float32)
    assert kmeans(floats, 2).formed == 1


def test_many_duplicates_leave_no_warning_and_no_row_behind():
    rows = np.concatenate([np.repeat(grid_rows(0, 1), 300, axis=0), grid_rows(1, 60)])
    found = kmeans(rows, 40)
    assert found.formed + found.empty == found.asked == 40
    assert len(set(found.labels[:300].tolist())) == 1
    assert np.bincount(found.labels, minlength=40).sum() == 360


def test_one_cluster_holds_everything():
    rows = grid_rows(0, 30)
    found = kmeans(rows, 1)
    assert not found.labels.any()
    mean = np.rint(rows.mean(axis=0))
    assert found.inertia == pytest.approx(((rows - mean) ** 2).sum(), rel=0.05)


def test_float32_rows_are_clustered_by_the_library_alone():
    rows = (grid_rows(3, 400) / 4080).astype(np.float32)
    with threadpool_limits(limits=1):
        theirs = MiniBatchKMeans(
            25, n_init=3, max_iter=50, batch_size=65_536, random_state=42
        ).fit(rows)
    ours = kmeans(rows, 25)
    assert np.array_equal(ours.labels, theirs.labels_)
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-5)


def test_the_fit_runs_on_one_thread(monkeypatch):
    counted = []

    def seeds(rows, count, random_state):
        counted.extend(pool["num_threads"] for pool in threadpool_info())
        return plusplus(rows, count, random_state)

    monkeypatch.setattr(library, "plusplus", seeds)
    kmeans(grid_rows(0, 50), 5)
    assert set(counted) == {1}


def test_mistakes():
    rows = grid_rows(0, 5)
    for k in (0, 6):
        with pytest.raises(UserError, match=rf"k must be in 1\.\.5 \(rows\), got {k}"):
            kmeans(rows, k)
    with pytest.raises(
        UserError, match="engine must be one of sklearn, cpu, jax, got 'faiss'"
    ):
        kmeans(rows, 2, engine="faiss")
    with pytest.raises(UserError, match="seed must be at least 0, got -1"):
        kmeans(rows, 2, seed=-1)
    for name in ("n_init", "max_iter", "batch"):
        with pytest.raises(UserError, match=f"{name} must be at least 1, got 0"):
            kmeans(rows, 2, **{name: 0})
