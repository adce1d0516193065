"""The baselines by hand and by brute force; what they share with each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.selection import proportional_quotas, select, select_all, to_grid
from routejax.selection.picks import draw

BASELINES = ("random", "topology_fps", "topology_clusters", "gradient_fps")


def unit(rows):
    rows = np.asarray(rows, float)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")


def pool(rows=50, seed=0, **more):
    rng = np.random.default_rng(seed)
    phi, other = unit(rng.normal(size=(rows, 6))), unit(rng.normal(size=(rows, 9)))
    phi[: min(5, rows)] = phi[0]
    other[-min(5, rows) :] = other[-1]
    ids = [f"{i:03d}" for i in range(rows)]
    return {
        "ids": ids,
        "groups": ["one" if i % 5 else "two" for i in range(rows)],
        "prompt_ids": ids,
        "phi": phi,
        "spaces": {"gradient": other},
    } | more


def farthest(q, count, start):
    """Picks by squared distances in plain integers, ties to the lowest row."""
    rows, picks = q.astype(int), [start]
    while len(picks) < count:
        gaps = ((rows[:, None] - rows[picks]) ** 2).sum(axis=2).min(axis=1)
        gaps[picks] = -1
        picks.append(int(gaps.argmax()))
    return picks


@pytest.mark.parametrize("method", ["topology_fps", "gradient_fps"])
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(deadline=None, max_examples=10)
def test_picks_are_the_farthest_by_brute_force(method, seed, n):
    given_pool = pool(30)
    vectors = {"topology_fps": "phi", "gradient_fps": "spaces"}[method]
    matrix = given_pool[vectors]
    matrix = matrix["gradient"] if isinstance(matrix, dict) else matrix
    q = to_grid(matrix).values
    chosen = select(method, **given_pool, n=n, seed=seed)
    for name, entry in chosen.report["groups"].items():
        rows = [i for i in range(30) if given_pool["groups"][i] == name]
        found = [i for i, group in enumerate(chosen.group) if group == name]
        by_rank = sorted(found, key=lambda i: chosen.rank[i])
        if not entry["budget"]:
            continue
        start = int(draw(name, len(rows), seed)[0])
        wanted = farthest(q[rows], entry["budget"], start)
        assert [rows.index(int(chosen.rows[i])) for i in by_rank] == wanted


@pytest.mark.parametrize("precision", ["exact", "float32"])
def test_farthest_by_hand(precision):
    # on a circle: the start is random, the next is opposite, then the quarters
    angles = np.radians(np.arange(0, 360, 45))
    phi = unit(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    ids = [f"{i}" for i in range(8)]
    for seed in range(6):
        chosen = select(
            "topology_fps",
            ids=ids,
            groups=["g"] * 8,
            prompt_ids=ids,
            phi=phi,
            n=4,
            seed=seed,
            precision=precision,
        )
        start = int(draw("g", 8, seed)[0])
        assert set(chosen.rows) == {(start + step) % 8 for step in (0, 2, 4, 6)}
        by_rank = chosen.rows[np.argsort(chosen.rank)]
        assert by_rank[:2].tolist() == [start, (start + 4) % 8]
        gaps = chosen.distance[np.argsort(chosen.rank)]
        assert gaps == pytest.approx([1, 2, 2**0.5, 2**0.5], abs=1e-3)
        assert (chosen.cluster == -1).all()


def test_all_begin_with_the_row_that_random_draws_first():
    chosen = dict(select_all([*BASELINES], **pool(), n=9, seed=5))
    firsts = {}
    for method in ("random", "topology_fps", "gradient_fps"):
        found = chosen[method]
        firsts[method] = [found.ids[i] for i in np.flatnonzero(found.rank == 0)]
    assert len(firsts["random"]) == 2  # of each group
    assert firsts["random"] == firsts["topology_fps"] == firsts["gradient_fps"]
    other = select("random", **pool(), n=9, seed=6)
    assert [other.ids[i] for i in np.flatnonzero(other.rank == 0)] != firsts["random"]


def test_one_cluster_is_random():
    chosen = select("topology_clusters", **pool(), n=20, global_clusters=1)
    assert chosen.ids == select("random", **pool(), n=20).ids
    assert (chosen.cluster == 0).all()


def test_clusters_give_in_proportion():
    # three places of 24, 12 and 4 rows, the groups mixed differently in each
    phi = np.repeat(np.eye(3, dtype="f4"), (24, 12, 4), axis=0)
    groups = ["a"] * 12 + ["b"] * 12 + ["a"] * 3 + ["b"] * 9 + ["a"] * 1 + ["b"] * 3
    ids = [f"{i:02d}" for i in range(40)]
    chosen = select(
        "topology_clusters", ids=ids, groups=groups, prompt_ids=ids, phi=phi, n=16
    )
    assert chosen.report["groups"]["a"]["cluster_sizes"][:3] == [12, 3, 1]
    # 8 of 12, 3, 1: 6, 1.5, 0.5 -> the tie goes to the lower cluster
    assert chosen.report["groups"]["a"]["cluster_quotas"][:3] == [6, 2, 0]
    assert chosen.report["groups"]["b"]["cluster_quotas"][:3] == [4, 3, 1]
    for name, quotas in (("a", [6, 2]), ("b", [4, 3, 1])):
        inside = [i for i, group in enumerate(chosen.group) if group == name]
        assert np.bincount(chosen.cluster[inside]).tolist() == quotas
        for cluster, quota in enumerate(quotas):
            ranks = [chosen.rank[i] for i in inside if chosen.cluster[i] == cluster]
            assert sorted(ranks) == list(range(quota))
    place = [0] * 24 + [1] * 12 + [2] * 4
    assert chosen.cluster.tolist() == [place[row] for row in chosen.rows]
    assert np.isnan(chosen.distance).all()


def test_draws_within_a_cluster_are_uniform():
    phi = np.repeat(np.eye(2, dtype="f4"), 5, axis=0)
    ids = [f"{i}" for i in range(10)]
    counts = np.zeros(10)
    for seed in range(300):
        chosen = select(
            "topology_clusters",
            ids=ids,
            groups=["g"] * 10,
            prompt_ids=ids,
            phi=phi,
            n=4,
            seed=seed,
        )
        counts[chosen.rows] += 1
        assert (chosen.rows < 5).sum() == 2
    # binomial(300, .4): mean 120, standard deviation 8.5; four of them either way
    assert abs(counts - 120).max() < 34


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.data())
def test_proportional_quotas_are_exact_and_nearest(sizes, data):
    n = data.draw(st.integers(0, sum(sizes)))
    quotas = proportional_quotas(sizes, n)
    assert quotas.sum() == n
    assert (quotas <= sizes).all()
    shares = np.array(sizes) * n / max(1, sum(sizes))
    assert abs(quotas - shares).max() < 1


@pytest.mark.parametrize("method", BASELINES)
def test_small_and_equal_pools(method):
    one = {
        "ids": ["a"],
        "groups": ["g"],
        "prompt_ids": ["p"],
        "phi": np.ones((1, 1), "f4"),
        "spaces": {"gradient": np.full((1, 3), 7, "f4")},
    }
    assert select(method, **one, n=1).ids == ["a"]
    ids = list("abcdef")
    equal = {
        "ids": ids,
        "groups": ["g"] * 6,
        "prompt_ids": ids,
        "phi": np.tile(unit([[1, 2]]), (6, 1)),
        "spaces": {"gradient": np.tile(np.float32([[3, 4, 5]]), (6, 1))},
    }
    assert select(method, **equal, n=6).ids == ids
    few = select(method, **equal, n=3)
    if method.endswith("fps"):  # the start, then the lowest ids
        start = ids[int(draw("g", 6, 42)[0])]
        rest = [name for name in ids if name != start]
        assert few.ids == sorted([start, *rest[:2]])
    empty = select(method, **pool(), n=5, quotas={"one": 0})
    assert set(empty.group) == {"two"}
