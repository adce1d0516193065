"""Mistakes are named before anything is chosen; odd pools get the right answer."""

import numpy as np
import pytest
from selection_pools import shuffled, small_pool, unit, with_spaces

from routejax.errors import UserError
from routejax.selection import ENGINES, SELECTORS, select, select_all


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, r"n must be in 1\.\.60 \(eligible rows\), got 0"),
        ({"n": 61}, r"n must be in 1\.\.60 \(eligible rows\), got 61"),
        ({"n": 5, "quotas": {"art": 1}}, "'art', which has no eligible row"),
        (
            {"n": 5, "method": "best"},
            "must be one of diverse, similar, random, topology_fps, .* got 'be",
        ),
        ({"n": 5, "precision": "bf16"}, "precision must be one of exact, float32"),
        (
            {"n": 5, "precision": "float32", "engine": "cpu"},
            "engine 'cpu' works on integers; .*'float32' it must be 'sklearn'",
        ),
        (
            {"n": 5, "precision": "float32", "engine": "jax", "groups": ["a"]},
            "engine 'jax' works on integers",  # before the pool is looked at
        ),
        ({"n": 5, "per_prompt": 0}, "per_prompt must be at least 1"),
        ({"n": 5, "K": 0}, "K must be at least 1"),
        ({"n": 5, "seed": -1}, "seed must be in 0"),
        ({"n": 5, "engine": "abacus"}, "engine must be one of sklearn.* got 'abacus'"),
        ({"n": 5, "groups": ["a"]}, r"groups must have one entry .*\(60\), got 1"),
        ({"n": 5, "global_clusters": 0}, "global_clusters must be at least 1, got 0"),
        (
            {"n": 5, "method": "lexical_fps"},
            "lexical_fps needs vectors of the space 'lexical', got none",
        ),
        (
            {"n": 5, "groups": [*["a"] * 59, None]},
            r"groups must be texts, got None in row 59",
        ),
        (
            {"n": 5, "prompt_ids": [*["a"] * 58, 7, "b"]},
            r"prompt_ids must be texts in UTF-8; got 7 in row 58",
        ),
        (
            {"n": 5, "ids": [*(f"{i}" for i in range(59)), "\ud800"]},
            r"ids must be texts in UTF-8; got '\\ud800' in row 59",
        ),
    ],
)
def test_mistakes_are_named(change, words):
    arguments = {"method": "diverse", **small_pool(), **change}
    with pytest.raises(UserError, match=words):
        select(**arguments)
    arguments["methods"] = [arguments.pop("method")]
    with pytest.raises(UserError, match=words):
        select_all(**arguments)  # at the call, before anything is chosen


def test_mistakes_in_rows_are_named():
    for value, words in (
        ("row-x", "'row-x' stands in rows 7 and 9"),
        ("", "texts of one line, got '' in row 9"),
        ("a\nb", "in row 9"),
    ):
        pool = small_pool()
        pool["ids"][7], pool["ids"][9] = "row-x", value
        with pytest.raises(UserError, match=words):
            select("similar", **pool, n=5)
    pool = small_pool()
    pool["phi"][11, 3] = np.inf
    for precision in ("exact", "float32"):
        with pytest.raises(UserError, match="got inf in row 11, column 3"):
            select("similar", **pool, n=5, precision=precision)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("precision", ["exact", "float32"])
def test_a_value_that_is_not_finite_is_named(value, precision):
    pool = small_pool()
    pool["phi"][11, 3] = pool["phi"][40, 0] = value
    with pytest.raises(UserError, match=f"got {value} in row 11, column 3"):
        select_all([*SELECTORS], **with_spaces(pool), n=5, precision=precision)


@pytest.mark.parametrize("method", SELECTORS)
def test_nothing_can_be_chosen_from_no_rows(method):
    pool = with_spaces(small_pool()) | {"spaces": dict.fromkeys(SPACES, EMPTY)}
    pool |= {"ids": [], "groups": [], "prompt_ids": [], "phi": EMPTY}
    with pytest.raises(UserError, match="no row is eligible, so none can be chosen"):
        select(method, **pool, n=1)


SPACES = ("lexical", "embedding", "gradient")
EMPTY = np.empty((0, 8), np.float32)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", SELECTORS)
def test_a_pool_of_one_row(method, engine):
    pool = with_spaces(shuffled(small_pool(), [9]))
    chosen = select(method, **pool, n=1, engine=engine)
    assert chosen.rows.tolist() == [0]
    assert chosen.rank.tolist() == [0]
    assert chosen.distance[0] == 0 or np.isnan(chosen.distance[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_are_all_the_same(engine):
    """Nothing is nearer or farther, so the lowest ids are taken, in their order."""
    pool = small_pool()
    pool["phi"] = unit(np.ones((60, 8)))
    for method in ("diverse", "similar"):
        chosen = select(method, **pool, n=12, engine=engine)
        for name in ("code", "math"):
            own = zip(pool["ids"], pool["groups"], strict=True)
            expected = sorted(row_id for row_id, group in own if group == name)[:6]
            found = zip(chosen.ids, chosen.group, chosen.rank, strict=True)
            assert [i for i, g, _ in found if g == name] == expected
        assert not chosen.distance.any()
    facts = chosen.report["groups"]["code"]
    assert facts["eligible"] == 40
    spread = select("diverse", **pool, n=12, engine=engine).report["groups"]["code"]
    assert (spread["clusters_formed"], spread["clusters_empty"]) == (1, 1)
    assert spread["inertia"] == 0
    for method in ("random", "topology_fps", "topology_clusters"):
        assert len(select(method, **pool, n=60, engine=engine).ids) == 60
