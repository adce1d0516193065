"""Picks inside clusters are those of every cluster on its own, from all engines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.selection import farthest_within
from routejax.selection.farthest import farthest_picks
from routejax.selection.farthest_within import WITHIN, cluster_picks


def partition(rows, clusters, seed=0):
    """Grid rows with five identical ones, labels, and quotas from none to all."""
    rng = np.random.default_rng(seed)
    phi = rng.integers(-4, 5, (rows, 3)).astype(np.int16)  # ties are common
    labels = rng.integers(clusters, size=rows)
    phi[:5], labels[:5] = phi[0], labels[0]
    sizes = np.bincount(labels, minlength=clusters)
    quotas = rng.integers(0, sizes + 1)
    quotas[labels[0]] = sizes[labels[0]]
    return phi, labels, quotas


def assert_one_by_one(found, phi, labels, quotas):
    begin = 0
    for cluster, quota in enumerate(quotas):
        inside = np.flatnonzero(labels == cluster)
        part = slice(begin, begin + int(quota))
        begin += int(quota)
        if quota:
            picks, distance = farthest_picks(phi[inside], int(quota))
            assert np.array_equal(found.rows[part], inside[picks])
            assert np.array_equal(found.distance[part], distance)
        assert (found.cluster[part] == cluster).all()
        assert found.rank[part].tolist() == [*range(quota)]
    assert begin == len(found.rows) == len(found.distance)


@pytest.mark.parametrize("engine", WITHIN)
def test_by_hand(engine):
    phi = np.array([[0], [10], [4], [6], [5]] + [[7]] * 5, np.int16)
    labels = np.array([2, 2, 2, 2, 2] + [0] * 5)
    found = cluster_picks(phi, labels, np.array([2, 0, 4]), engine=engine)
    assert found.rows.tolist() == [5, 6, 4, 0, 1, 2]
    assert found.cluster.tolist() == [0, 0, 2, 2, 2, 2]
    assert found.rank.tolist() == [0, 1, 0, 1, 2, 3]
    assert found.distance.tolist() == [0, 0, 0, 5, 5, 1]


@given(st.integers(5, 60), st.integers(1, 12), st.integers(0, 999))
@settings(deadline=None, max_examples=100)
def test_every_cluster_on_its_own(rows, clusters, seed):
    case = partition(rows, clusters, seed)
    assert_one_by_one(cluster_picks(*case), *case)


@pytest.mark.parametrize("engine", WITHIN)
def test_many_clusters_of_many_sizes(engine, monkeypatch):
    monkeypatch.setattr(farthest_within, "_CHUNK_ROWS", 200)
    monkeypatch.setattr(farthest_within, "_PLAIN_WORK", 5000)
    case = partition(2500, 100)
    _, labels, quotas = case
    labels[labels > 90] = 90  # one cluster large enough for another engine
    quotas[90:] = 0
    quotas[90] = 120
    quotas[:90] = np.minimum(quotas[:90], np.bincount(labels)[:90])
    assert_one_by_one(cluster_picks(*case, engine=engine), *case)


def test_a_cluster_above_all_buckets():
    phi, labels, quotas = partition(5000, 1, seed=1)
    labels[:], quotas[:] = 0, 40
    expected = cluster_picks(phi, labels, quotas, engine="reference")
    for found in (cluster_picks(phi, labels, quotas, engine=e) for e in WITHIN):
        assert all(map(np.array_equal, found, expected))


@pytest.mark.parametrize("engine", WITHIN)
def test_nothing_to_pick(engine):
    phi, labels, quotas = partition(50, 4)
    found = cluster_picks(phi, labels, 0 * quotas, engine=engine)
    assert [len(column) for column in found] == [0, 0, 0, 0]


def test_float32_rows_go_to_the_reference_only():
    phi, labels, quotas = partition(50, 4)
    case = phi.astype(np.float32), labels, quotas
    assert_one_by_one(cluster_picks(*case, engine="reference"), *case)
    for engine in ("cpu", "jax"):
        with pytest.raises(UserError, match="got float32"):
            cluster_picks(*case, engine=engine)


def test_mistakes():
    phi, labels = np.zeros((5, 2), np.int16), np.array([0, 0, 0, 2, 2])
    with pytest.raises(UserError, match=r"cluster 1 must be in 0\.\.0 \(its rows\)"):
        cluster_picks(phi, labels, np.array([1, 1, 1]))
    with pytest.raises(UserError, match=r"cluster 2 must be in 0\.\.2.*got -1"):
        cluster_picks(phi, labels, np.array([1, 0, -1]))
    with pytest.raises(UserError, match=r"labels must be in 0\.\.1.*got 0\.\.2"):
        cluster_picks(phi, labels, np.array([1, 1]))
    with pytest.raises(UserError, match=r"row of phi \(5\), got 4"):
        cluster_picks(phi, labels[:4], np.array([1, 0, 1]))
    with pytest.raises(UserError, match="one of reference, cpu, jax, got 'faiss'"):
        cluster_picks(phi, labels, np.array([1, 0, 1]), engine="faiss")
