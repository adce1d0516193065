"""The engines `cpu` and `jax` find the clusters of the plain reference."""

import subprocess
import sys

import numpy as np
import plain_kmeans
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from routejax.errors import UserError
from routejax.selection import kmeans, to_grid
from routejax.selection.clustering import two_level
from routejax.selection.clustering.blocks import Blocks

OURS = ("cpu", "jax")


def directions(seed, rows, width=16):
    x = np.random.default_rng(seed).normal(size=(rows, width))
    return to_grid(x / np.linalg.norm(x, axis=1, keepdims=True)).values


def lattice(seed, rows, width=3, reach=3):
    """Small integers: ties everywhere, and rows that occur several times."""
    stream = np.random.default_rng(seed)
    return stream.integers(-reach, reach + 1, (rows, width)).astype(np.int16)


TABLES = {
    "directions": directions(0, 240),
    "lattice": lattice(0, 240, width=4),
    "five times": np.repeat(directions(1, 48), 5, axis=0),
    "one row often": np.concatenate(
        [np.repeat(directions(2, 1), 140, 0), lattice(1, 100, 16)]
    ),
    "one column": np.arange(200, dtype=np.int16)[:, None] ** 2 % 173,
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("k", [1, 2, 10, 47, 90])
def test_clusters_are_those_of_the_plain_reference(name, k):
    rows = TABLES[name]
    if k >= len(np.unique(rows, axis=0)):
        pytest.skip("every distinct row is a cluster")
    labels, gaps = plain_kmeans.clusters(rows.tolist(), k)
    found = kmeans(rows, k, engine="cpu")
    assert found.labels.tolist() == labels
    assert found.inertia == sum(gaps)
    assert (found.formed, found.empty) == (k, 0)
    assert found.singletons == sum(labels.count(i) == 1 for i in range(k))


@pytest.mark.parametrize(
    "options", [{"seed": 7}, {"n_init": 1}, {"max_iter": 1}, {"max_iter": 2, "seed": 3}]
)
def test_every_option_means_what_the_reference_says(options):
    rows = TABLES["directions"]
    labels, _ = plain_kmeans.clusters(rows.tolist(), 90, **options)
    assert kmeans(rows, 90, engine="cpu", **options).labels.tolist() == labels


@pytest.mark.parametrize("seed", [0, 1])
def test_cells_come_from_the_best_of_several_samples(seed, monkeypatch):
    monkeypatch.setattr(two_level, "_SAMPLE", 4)
    monkeypatch.setattr(plain_kmeans, "SAMPLE", 4)
    rows = TABLES["directions"]
    labels, _ = plain_kmeans.clusters(rows.tolist(), 90, seed)
    assert kmeans(rows, 90, engine="cpu", seed=seed).labels.tolist() == labels


@pytest.mark.parametrize("name", TABLES)
def test_devices_find_the_same(name):
    k = min(90, len(np.unique(TABLES[name], axis=0)) - 1)
    here, there = (kmeans(TABLES[name], k, engine=engine) for engine in OURS)
    assert np.array_equal(here.labels, there.labels)
    assert here[1:] == there[1:]


@pytest.mark.parametrize("batch", [3, 100, 10**9])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_batch_and_threads_change_nothing(batch, threads):
    rows = directions(3, 300)
    expected = kmeans(rows, 90, engine="cpu")
    with threadpool_limits(threads):
        found = kmeans(rows, 90, engine="cpu", batch=batch)
    assert np.array_equal(found.labels, expected.labels)


@given(
    st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 5), st.integers(1, 60)
)
@settings(max_examples=40, deadline=None)
def test_no_cluster_is_empty_where_enough_rows_are_distinct(seed, count, width, k):
    rows = lattice(seed, count, width, reach=2)
    k = min(k, count)
    distinct = len(np.unique(rows, axis=0))
    found = kmeans(rows, k, engine="cpu")
    assert found.formed == min(k, distinct)
    assert found.formed + found.empty == found.asked == k
    assert (found.inertia == 0) or distinct > k
    for row in np.unique(rows, axis=0):  # equal rows stay together
        assert len(set(found.labels[(rows == row).all(axis=1)].tolist())) == 1


@pytest.mark.parametrize("engine", OURS)
def test_few_rows(engine):
    one = directions(0, 1)
    assert kmeans(one, 1, engine=engine).labels.tolist() == [0]
    same = np.repeat(one, 6, axis=0)
    found = kmeans(same, 3, engine=engine)
    assert (found.labels.tolist(), found.formed, found.empty) == ([0] * 6, 1, 2)
    rows = directions(0, 7)
    alone = kmeans(rows, 7, engine=engine)  # every row by itself
    assert (alone.labels.tolist(), alone.singletons) == (list(range(7)), 7)
    almost = kmeans(rows, 6, engine=engine)
    assert sorted(np.bincount(almost.labels).tolist()) == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("engine", OURS)
def test_an_outlier_is_a_cluster_of_its_own(engine):
    rows = np.array([[0], [1], [2], [100], [101], [102], [4000]], np.int16)
    found = kmeans(rows, 3, engine=engine)
    by_group = found.labels[[0, 3, 6]].tolist()
    assert len(set(by_group)) == 3
    assert found.labels.tolist() == np.repeat(by_group, [3, 3, 1]).tolist()
    assert (found.inertia, found.singletons) == (4, 1)


def test_rows_at_the_limit_of_the_grid():
    """Opposite rows of length 4,096: the largest numbers that occur."""
    rows = np.zeros((40, 8), np.int16)
    rows[np.arange(40), np.arange(40) % 8] = 4096 * (-1) ** np.arange(40)
    rows[20:, 0] = 0
    rows[20:, 1] = np.arange(20)
    rows = rows[np.einsum("ij,ij->i", rows.astype(int), rows.astype(int)) <= 2**24]
    for k in range(1, len(np.unique(rows, axis=0)), 4):
        labels, gaps = plain_kmeans.clusters(rows.tolist(), k)
        found = kmeans(rows, k, engine="cpu")
        assert found.labels.tolist() == labels
        assert found.inertia == sum(gaps)


def test_wider_integers_are_the_same_rows():
    rows = directions(4, 60)
    expected = kmeans(rows, 9, engine="cpu").labels
    assert np.array_equal(
        kmeans(rows.astype(np.int64), 9, engine="cpu").labels, expected
    )
    assert np.array_equal(
        kmeans(np.asfortranarray(rows), 9, engine="cpu").labels, expected
    )


def test_inertia_is_about_that_of_the_library():
    rows = np.concatenate([directions(5, 40)] * 25) // 2 + lattice(2, 1000, 16, 400)
    rows = rows.astype(np.int16)
    theirs = kmeans(rows, 90, engine="sklearn")
    assert kmeans(rows, 90, engine="cpu").inertia < 1.02 * theirs.inertia


def test_seed_shares_by_hand():
    """Costs 8, 2, 0, none and 9; sizes 4, 3, 2, 0 and 2.

    One seed each leaves 4 of 8. The largest cost per seed is 9 of cell 4, which is then
    full; 8 of cell 0; then 8 / 2, and 8 / 3 against 2.
    """
    cell_of = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 4, 4], np.int32)
    gaps = np.array([8, 0, 0, 0, 1, 1, 0, 0, 0, 4, 5], np.int32)
    assert two_level.seed_shares(cell_of, gaps, 8, 5).tolist() == [4, 1, 1, 0, 2]
    assert two_level.seed_shares(cell_of, gaps, 11, 5).tolist() == [4, 3, 2, 0, 2]


def test_shares_with_equal_costs_go_to_the_lowest_cell():
    cell_of = np.repeat(np.arange(3, dtype=np.int32), 4)
    shares = two_level.seed_shares(cell_of, np.ones(12, np.int32), 5, 3)
    assert shares.tolist() == [2, 2, 1]


def test_rows_with_no_centroid_nearby_look_at_all(monkeypatch):
    """All seeds come from one cell, and a row looks at the centroids of one cell."""

    def all_from_the_largest(cell_of, gaps, k, cells):
        sizes = np.bincount(cell_of, minlength=cells)
        return np.where(np.arange(cells) == sizes.argmax(), k, 0)

    def as_list(rows, home, cells, k):
        return all_from_the_largest(np.array(home), None, k, len(cells)).tolist()

    strays = []
    inner = two_level._find_strays

    def watch(rows, centroids, labels, gaps, threads):
        strays.append(int((gaps < 0).sum()))
        inner(rows, centroids, labels, gaps, threads)

    monkeypatch.setattr(two_level, "PROBES", 1)
    monkeypatch.setattr(plain_kmeans, "PROBES", 1)
    monkeypatch.setattr(two_level, "seed_shares", all_from_the_largest)
    monkeypatch.setattr(plain_kmeans, "shares", as_list)
    monkeypatch.setattr(two_level, "_find_strays", watch)
    rows = lattice(0, 120, 2, reach=40)
    labels, _ = plain_kmeans.clusters(rows.tolist(), 25)
    for engine in OURS:
        assert kmeans(rows, 25, engine=engine).labels.tolist() == labels
        assert max(strays) > 20
        strays.clear()


def test_clusters_left_empty_start_at_far_rows():
    """All centroids are equal; rounds of one, two and four new clusters follow."""
    rows = np.array([[0], [10], [30], [31], [70], [71], [71]], np.int16)
    passes = Blocks(rows, 100, 1)
    labels, gaps = passes.nearest(np.zeros((6, 1), np.int16))
    assert set(labels.tolist()) == {0}
    labels, gaps = two_level._without_empty(rows, 6, labels, gaps, passes)
    expected = plain_kmeans.filled(rows.tolist(), [[0]] * 6)
    assert (labels.tolist(), gaps.tolist()) == expected
    assert len(set(labels.tolist())) == 6


def test_a_new_cluster_wins_ties_by_its_id():
    rows = np.array([[0], [5], [10]], np.int16)
    passes = Blocks(rows, 100, 1)
    found = passes.nearest(np.array([[1000], [0], [2000]], np.int16))
    labels, gaps = two_level._without_empty(rows, 2, *found, passes)
    assert (labels.tolist(), gaps.tolist()) == ([1, 0, 0], [0, 25, 0])


@pytest.mark.parametrize("engine", OURS)
def test_mistakes(engine):
    rows = directions(0, 9)
    wrong = rows.astype(np.float32)
    with pytest.raises(UserError, match=rf"'{engine}' clusters grid rows .* float32"):
        kmeans(wrong, 2, engine=engine)
    long = rows.copy()
    long[4] = 2000
    with pytest.raises(UserError, match=r"got 64000000 in row 4"):
        kmeans(long, 2, engine=engine)


@pytest.mark.parametrize("engine", [*OURS, "sklearn"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named(engine, value):
    rows = directions(0, 9).astype(np.float32)
    rows[3, 2] = rows[7, 0] = value
    with pytest.raises(UserError, match=rf"got {value} in row 3, column 2"):
        kmeans(rows, 2, engine=engine)


def test_the_cpu_engine_needs_no_jax():
    code = (
        "import sys, numpy as np\n"
        "from routejax.selection.clusters import kmeans\n"
        "kmeans(np.arange(40, dtype=np.int16)[:, None], 5, engine='cpu')\n"
        "assert 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
