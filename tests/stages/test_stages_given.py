"""Rows that were chosen before: a selection, or a corpus for each arm."""

import json

import pyarrow.parquet as pq
import pytest
from features_pools import write_rows
from select_pools import finished, grouped, ids
from smoke_config import run_in, smoke

from routejax import workdir
from routejax.errors import UserError
from routejax.selection.manifest import ids_sha256
from routejax.stages import pool, report, select
from routejax.stages.checks import require_valid

ROOM = {"row_tokens": 4096, "overlong": "error"}


def run_of(root, paths, arms=("diverse", "similar"), sft=None, family="dolci", **rows):
    return run_in(
        root,
        arms=arms,
        rows={"paths": str(paths), **rows},
        sft=ROOM | (sft or {}),
        selection={"family": family, "group_by": "all"},
        tokenizer={"size": 400},
    )


def chosen(run):
    """Hashes of the selections, after the stages before them."""
    made = pool.pool(run)
    return select.select(run, made, select.fingerprint(run, made))


def table(run, arm):
    return pq.read_table(run.root / "select" / f"{arm}.parquet")


def corpora(folder, **counts):
    """Files of rows, those of each arm numbered from another start."""
    named = []
    for start, (arm, count) in enumerate(counts.items()):
        rows = [grouped(100 * start + n) for n in range(count)]
        named.append(f"{arm}={write_rows(folder / f'{arm}.jsonl', rows)}")
    return ",".join(named)


def test_a_selection_is_trained_on_row_by_row(tmp_path):
    run = run_of(tmp_path / "run", finished().root)
    chosen(run)
    manifest = workdir.read_json(finished().root / "manifest.json")["selectors"]
    for arm in ("diverse", "similar"):
        found = table(run, arm)
        assert found["id"].to_pylist() == ids(finished().root, arm)
        assert ids_sha256(found["id"].to_pylist()) == manifest[arm]["ids_sha256"]
        own = {f"t{n:04d}": grouped(n) for n in range(60)}
        for row in found.select(["id", "prompt", "group"]).to_pylist():
            assert own[row["id"]]["prompt"] == row["prompt"]
            assert own[row["id"]]["group"] == row["group"]
    both = {*ids(finished().root, "diverse"), *ids(finished().root, "similar")}
    assert len(pq.read_table(run.root / "pool" / "pool.parquet")) == len(both)
    known = report._pool(run)
    assert known["by_env"].keys() == {"code", "math", "puzzle"}
    facts = workdir.read_json(run.root / "select" / "diverse.json")
    assert facts["selected"] == 12
    assert facts["spread"]["rows"] >= facts["spread"]["prompts"]


def test_another_selection_makes_the_stages_anew(tmp_path):
    run = run_of(tmp_path / "run", finished().root)
    before = chosen(run)
    assert chosen(run_of(tmp_path / "run", finished().root)) == before
    other = run_of(tmp_path / "run", finished().root, arms=("random",))
    assert chosen(other).keys() >= {"random.parquet"}
    assert table(other, "random")["id"].to_pylist() == ids(finished().root, "random")


def test_a_corpus_per_arm_and_a_draw_of_equal_size(tmp_path):
    paths = corpora(tmp_path, multi=20, single=12)
    run = run_of(tmp_path / "run", paths, ("multi", "single"), n=10)
    chosen(run)
    drawn = {arm: table(run, arm)["id"].to_pylist() for arm in ("multi", "single")}
    assert all(len({*names}) == 10 for names in drawn.values())
    assert {name < "t0100" for name in drawn["multi"]} == {True}
    assert {name < "t0100" for name in drawn["single"]} == {False}
    more = run_of(tmp_path / "more", paths, ("multi", "single"), n=12)
    chosen(more)
    assert {*drawn["multi"]} < {*table(more, "multi")["id"].to_pylist()}
    other = run_of(tmp_path / "other", paths, ("multi", "single"), n=10, seed=1)
    chosen(other)
    assert table(other, "multi")["id"].to_pylist() != drawn["multi"]


def test_rows_that_break_a_rule_or_are_too_long_are_counted(tmp_path):
    rows = [grouped(n) for n in range(12)]
    rows[0]["response"] = "no reasoning"
    rows[1]["response"] = rows[1]["response"].replace(
        "</think>", "on " * 900 + "</think>"
    )
    paths = f"multi={write_rows(tmp_path / 'a.jsonl', rows)}"
    run = run_of(
        tmp_path / "run", paths, ("multi",), {"overlong": "drop", "row_tokens": 800}
    )
    chosen(run)
    counts = json.loads((run.root / "pool" / "counts.json").read_text())
    assert counts["rejected"] == {"complete_span": 1, "overlong": 1}
    assert table(run, "multi")["id"].to_pylist() == [f"t{n:04d}" for n in range(2, 12)]


def test_families_that_label_no_text_and_have_no_spread(tmp_path):
    paths = corpora(tmp_path, multi=12)
    run = run_of(tmp_path / "run", paths, ("multi",), family="sokoban")
    chosen(run)
    assert workdir.read_json(run.root / "select" / "multi.json")["spread"] == {}
    assert report._examples(run, "multi")[0]["steps"]


REFUSED = {
    "unequal": (
        {},
        r"all arms must have equally many rows, got multi 20, single 12; "
        r"--config.rows.n=12 draws as many of each",
    ),
    "too few": (
        {"n": 13},
        r"rows.n must be at most 12 \(rows that pass .*: multi 20, single 12\), got 13",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_arms_of_other_sizes_are_refused(case, tmp_path):
    rows, message = REFUSED[case]
    paths = corpora(tmp_path, multi=20, single=12)
    with pytest.raises(UserError, match=message):
        chosen(run_of(tmp_path / "run", paths, ("multi", "single"), **rows))


def test_paths_that_are_no_rows_of_the_arms(tmp_path):
    def refused(paths, arms, message):
        with pytest.raises(UserError, match=message):
            pool.pool(run_of(tmp_path / "run", paths, arms))

    refused(tmp_path, ("diverse",), r"where there is no manifest.json of a selection")
    refused(
        finished().root,
        ("far",),
        r"has no selection far; there are diverse, similar, random: choose among",
    )
    named = corpora(tmp_path, multi=4)
    refused(named, ("multi", "single"), r"there are none of single in 'multi=")
    rows = write_rows(tmp_path / "b.jsonl", [grouped(0) | {"prompt": "Another one?"}])
    refused(
        f"{named},single={rows}",
        ("multi", "single"),
        r"row t0000 of arm single has the id of a row with another text",
    )


def test_arms_may_have_any_names_only_where_rows_are_given():
    config = smoke(arms=("d1", "d12"))
    with pytest.raises(UserError, match=r"config.arms must be .* one of diverse"):
        require_valid(config)
    config["rows"] |= {"paths": "d1=a,d12=b"}
    config["envs"] |= {"sft": ()}
    require_valid(config)
    config["arms"] = ("d/1",)
    with pytest.raises(UserError, match=r"config.arms must be .* letters, digits, _"):
        require_valid(config)
