"""Whole selections: hand-worked picks, properties over every method, and one golden."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection_pools import shuffled, small_pool, unit, with_spaces

from routejax.errors import UserError
from routejax.selection import (
    SELECTORS,
    canonical_order,
    group_budgets,
    ids_sha256,
    select,
    select_all,
    to_grid,
)
from routejax.selection.candidates import candidates


@pytest.mark.parametrize("precision", ["exact", "float32"])
@pytest.mark.parametrize("method", SELECTORS)
@pytest.mark.parametrize("n", [1, 2, 25, 60])
def test_every_method_fills_the_same_budgets(method, precision, n):
    pool = with_spaces(small_pool())
    chosen = select(method, **pool, n=n, precision=precision)
    assert len(chosen.ids) == len(set(chosen.ids)) == n
    assert chosen.ids == sorted(chosen.ids)
    assert chosen.ids == [pool["ids"][row] for row in chosen.rows]
    assert chosen.group == [pool["groups"][row] for row in chosen.rows]
    budgets = group_budgets({"code": 40, "math": 20}, n)
    for name, budget in budgets.items():
        assert chosen.group.count(name) == budget
        assert chosen.report["groups"][name]["budget"] == budget
    for column in (chosen.cluster, chosen.rank, chosen.distance):
        assert len(column) == n


@pytest.mark.parametrize("method", SELECTORS)
@given(st.permutations(range(60)), st.integers(1, 60))
@settings(deadline=None, max_examples=8)
def test_the_order_of_the_input_changes_nothing(method, order, n):
    pool = small_pool()
    one = select(method, **with_spaces(pool), n=n)
    other = select(method, **with_spaces(shuffled(pool, order)), n=n)
    assert one.ids == other.ids
    assert one.report == other.report
    for name in ("cluster", "rank", "distance"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)


def test_similar_by_hand():
    pool = {
        "ids": ["e", "d", "c", "b", "a"],
        "groups": ["a"] * 5,
        "prompt_ids": ["p"] * 5,
        "phi": np.array([[1, 0], [1, 0], [0, 1], [0, -1], [1, 0]], np.float32),
    }
    chosen = select("similar", **pool, n=2)  # three equal rows: the lowest ids
    assert chosen.ids == ["a", "d"]
    assert chosen.rank.tolist() == [0, 1]
    assert chosen.distance == pytest.approx([0.4, 0.4])  # the mean is (.6, 0)
    assert select("similar", **pool, n=4).ids == ["a", "b", "d", "e"]  # b ties with c


def test_similar_takes_the_nearest_of_every_group():
    pool = small_pool(3)
    chosen = select("similar", **pool, n=20)
    q = to_grid(pool["phi"]).values.astype(int)
    for name in ("code", "math"):
        rows = [i for i in range(60) if pool["groups"][i] == name]
        total = q[rows].sum(axis=0)
        key = [(len(rows) * q[i] - total) @ (len(rows) * q[i] - total) for i in rows]
        order = sorted(zip(key, (pool["ids"][i] for i in rows), strict=True))
        expected = {row_id for _, row_id in order[:10]}
        found = zip(chosen.ids, chosen.group, strict=True)
        assert {row_id for row_id, group in found if group == name} == expected


def test_diverse_by_hand():
    # K = 2 of two distinct places: every place is a cluster, quotas 3 and 1 of 6 and 2
    phi = np.array([[1, 0]] * 6 + [[0, 1]] * 2, np.float32)
    ids = [f"x{i}" for i in (7, 6, 5, 4, 3, 2, 1, 0)]
    chosen = select(
        "diverse", ids=ids, groups=["g"] * 8, prompt_ids=ids, phi=phi, n=4, K=2
    )
    assert chosen.ids == ["x0", "x2", "x3", "x4"]
    assert chosen.cluster.tolist() == [0, 1, 1, 1]
    assert chosen.rank.tolist() == [0, 0, 1, 2]
    assert chosen.distance.tolist() == [0, 0, 0, 0]
    report = chosen.report["groups"]["g"]
    assert report["cluster_sizes"] == [2, 6]
    assert report["cluster_quotas"] == [1, 3]


def test_diverse_spreads_inside_a_cluster():
    angles = np.radians([-20, -5, 0, 6, 22])
    phi = unit(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    ids = list("abcde")
    chosen = select(
        "diverse", ids=ids, groups=["g"] * 5, prompt_ids=ids, phi=phi, n=3, K=1
    )
    assert chosen.ids == ["a", "c", "e"]  # c is nearest the mean, e farthest from it
    assert chosen.rank.tolist() == [2, 0, 1]
    expected = [2 * np.sin(np.radians(10)), 2 * np.sin(np.radians(11))]
    assert chosen.distance[[0, 2]] == pytest.approx(expected, abs=1e-3)


def test_diverse_covers_better_than_similar():
    pool = small_pool(7)
    picked = {name: select(name, **pool, n=15).rows for name in ("diverse", "similar")}
    gaps = {
        name: np.linalg.norm(pool["phi"][:, None] - pool["phi"][rows], axis=2).min(1)
        for name, rows in picked.items()
    }
    assert gaps["diverse"].mean() < 0.9 * gaps["similar"].mean()


def test_random_depends_on_seed_and_group_alone():
    pool = small_pool()
    one = select("random", **pool, n=20, seed=1)
    assert one.ids == select("random", **pool, n=20, seed=1).ids
    assert one.ids != select("random", **pool, n=20, seed=2).ids
    math = [i for i in range(60) if pool["groups"][i] == "math"]
    alone = select("random", **shuffled(pool, math), n=10, seed=1)
    both = zip(one.ids, one.group, strict=True)
    assert alone.ids == [row_id for row_id, group in both if group == "math"]
    assert set(alone.ids) < set(select("random", **pool, n=40, seed=1).ids)
    assert np.isnan(one.distance).all()


def test_random_draws_of_groups_are_not_copies():
    ids = [f"{i:02d}" for i in range(60)]
    groups, phi = ["a"] * 30 + ["b"] * 30, unit(np.ones((60, 2)))
    chosen = select("random", ids=ids, groups=groups, prompt_ids=ids, phi=phi, n=30)
    assert set(chosen.rows[:15] + 30) != set(chosen.rows[15:])


def test_random_is_uniform():
    ids = [f"{i}" for i in range(10)]
    phi = unit(np.ones((10, 2)))
    counts = dict.fromkeys(ids, 0)
    for seed in range(400):
        chosen = select(
            "random",
            ids=ids,
            groups=["g"] * 10,
            prompt_ids=ids,
            phi=phi,
            n=3,
            seed=seed,
        )
        for row_id in chosen.ids:
            counts[row_id] += 1
    # binomial(400, .3): mean 120, standard deviation 9.2; four of them either way
    assert all(abs(count - 120) < 37 for count in counts.values())


@pytest.mark.parametrize("method", SELECTORS)
def test_at_most_so_many_rows_of_a_prompt(method):
    pool = with_spaces(small_pool())
    chosen = select(method, **pool, n=40, per_prompt=2)
    kept = [pool["prompt_ids"][row] for row in chosen.rows]
    assert max(kept.count(name) for name in set(kept)) == 2
    by_prompt = {}
    for row_id, prompt in sorted(zip(pool["ids"], pool["prompt_ids"], strict=True)):
        by_prompt.setdefault(prompt, []).append(row_id)
    late = sorted(row_id for rows in by_prompt.values() for row_id in rows[2:])
    assert chosen.capped_ids == late
    assert chosen.report["capped"] == 20
    assert chosen.report["rows"] == 60
    with pytest.raises(UserError, match=r"n must be in 1\.\.40 \(eligible rows\)"):
        select(method, **pool, n=41, per_prompt=2)


def test_quotas_and_empty_budgets():
    pool = with_spaces(small_pool())
    for method, chosen in select_all([*SELECTORS], **pool, n=7, quotas={"math": 7}):
        assert chosen.report["method"] == method
        assert set(chosen.group) == {"math"}
        assert chosen.report["groups"]["code"]["budget"] == 0


def test_a_grid_may_be_given_in_place_of_phi():
    pool = small_pool()
    grid = to_grid(pool["phi"])
    one = select("diverse", **pool, n=20)
    assert select("diverse", **{**pool, "phi": grid}, n=20).ids == one.ids
    order = canonical_order(pool["ids"])
    assert one.report["grid"] == {
        "scale": 4080,
        "sha256": to_grid(pool["phi"][order]).sha256,
    }
    with pytest.raises(UserError, match="needs phi itself"):
        select("similar", **{**pool, "phi": grid}, n=20, precision="float32")


def test_several_methods_are_those_one_by_one():
    pool = with_spaces(small_pool())
    together = dict(select_all([*SELECTORS], **pool, n=20, per_prompt=3))
    assert list(together) == list(SELECTORS)
    for method, chosen in together.items():
        alone = select(method, **pool, n=20, per_prompt=3)
        assert alone.ids == chosen.ids
        assert alone.report == chosen.report
    with pytest.raises(UserError, match="named once, got 'random' twice"):
        select_all(["random", "similar", "random"], **pool, n=20)


def test_columns_may_be_arrow_arrays():
    pool = small_pool()
    one = select("diverse", **pool, n=20)
    names = ("ids", "groups", "prompt_ids")
    kinds = (
        pa.array,
        lambda column: pa.chunked_array([column[:7], column[7:]], pa.large_string()),
        lambda column: pa.array(column).dictionary_encode(),
        lambda column: pa.array(column, pa.string_view()),
        tuple,
    )
    for kind in kinds:
        columns = {name: kind(pool[name]) for name in names}
        other = select("diverse", **columns, phi=pool["phi"], n=20)
        assert other.ids == one.ids
        assert other.group == one.group
        assert other.report == one.report
    with pytest.raises(UserError, match="ids must be texts, got None in row 2"):
        canonical_order(pa.array(["a", "b", None]))
    with pytest.raises(UserError, match="must be texts in UTF-8; got an array of list"):
        canonical_order(pa.array([["a"], ["b"]]))


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1)
    )
)
def test_the_order_of_ids_is_that_of_code_points(names):
    order = canonical_order(ids := sorted(set(names), key=hash))
    assert [ids[i] for i in order] == sorted(ids)
    assert canonical_order(names[:1]).tolist() == list(range(len(names[:1])))


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.integers(1, 4))
def test_the_cap_by_counting(prompts, limit):
    ids = [f"{i:02d}" for i in range(len(prompts))][::-1]
    phi = unit(np.ones((len(prompts), 2)))
    found = candidates(ids, prompts, prompts, phi, per_prompt=limit)
    seen, kept = {}, []
    for row in reversed(range(len(prompts))):
        seen[prompts[row]] = seen.get(prompts[row], 0) + 1
        if seen[prompts[row]] <= limit:
            kept.append(row)
    assert found.positions.tolist() == kept
    assert {
        name: [prompts[kept[i]] for i in rows] for name, rows in found.groups.items()
    } == {p: [p] * min(limit, prompts.count(p)) for p in sorted(set(prompts))}


def test_rows_in_order_are_not_copied():
    phi = to_grid(unit(np.random.default_rng(0).normal(size=(9, 3))))
    ids = [f"{i}" for i in range(9)]
    found = candidates(ids, ["g"] * 9, ids, phi)
    assert np.shares_memory(found.phi, phi.values)
    assert found.grid.sha256 == phi.sha256


def test_candidates_are_in_order_of_id():
    pool = small_pool()
    found = candidates(*pool.values(), per_prompt=1)
    named = [pool["ids"][row] for row in found.positions]
    assert named == sorted(named)
    assert sorted([*found.positions, *found.capped]) == list(range(60))
    for name, rows in found.groups.items():
        assert (np.diff(rows) > 0).all()
        assert {pool["groups"][found.positions[i]] for i in rows} == {name}


def test_the_golden_selection():
    # twelve places far apart with five rows each: any k-means finds them
    rng = np.random.Generator(np.random.PCG64(42))
    rows = np.repeat(np.eye(12), 5, axis=0) + rng.uniform(-0.02, 0.02, (60, 12))
    ids = [f"trace-{i:02d}" for i in range(60)]
    chosen = select(
        "diverse",
        ids=ids,
        groups=["all"] * 60,
        prompt_ids=ids,
        phi=unit(rows),
        n=24,
        K=12,
    )
    assert [
        sum(int(i[-2:]) // 5 == blob for i in chosen.ids) for blob in range(12)
    ] == [2] * 12
    assert (
        ids_sha256(chosen.ids)
        == "8b660894951c640623da886adb9b8366c724b16e0cb504cd21f4035d436657e3"
    )


@pytest.mark.parametrize("method", ["diverse", "topology_clusters"])
def test_every_row_has_its_cluster(method):
    """Chosen or not, in the order of the input; sizes are those of the report."""
    pool = small_pool()
    found = select(method, **pool, n=10, K=6, global_clusters=4, per_prompt=3)
    assert (found.labels[found.rows] == found.cluster).all()
    left_out = np.isin(pool["ids"], found.capped_ids)
    assert (found.labels[left_out] == -1).all()
    for name, group in found.report["groups"].items():
        here = (np.array(pool["groups"]) == name) & ~left_out
        sizes = np.bincount(found.labels[here], minlength=len(group["cluster_sizes"]))
        assert sizes.tolist() == group["cluster_sizes"]
    assert select("random", **pool, n=10).labels is None
