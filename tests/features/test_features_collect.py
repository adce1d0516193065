"""What is written of a whole pool, by hand and against a slow computation."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from features_pools import hashes, job_over, row, thought, write_pool, write_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from routejax import features, fingerprints, moments, workdir
from routejax.errors import UserError
from routejax.features import settle

QUIET = Console(quiet=True)


def finished(paths, root, **settings):
    job = job_over(paths, **settings)
    features.run_shard(job, root, (1, 1), 1, QUIET)
    return features.collect(job, root)


def rejected(root):
    """(id, file, row, rule) of each rejected row."""
    rows = pq.read_table(root / "rejected.parquet").to_pylist()
    return [(r["id"], r["file"][-9:], r["row"], r["rule"]) for r in rows]


def read(root, **which):
    """Ids and features of all parts together."""
    pieces = [*features.read_features(root, **which)]
    ids = [one for names, _ in pieces for one in names]
    return ids, np.concatenate([found for _, found in pieces])


def test_counts_and_rejected_rows_by_hand(tmp_path):
    manifest = finished(write_pool(tmp_path / "pool"), tmp_path / "run")
    assert manifest == workdir.read_json(tmp_path / "run/manifest.json")
    assert manifest["rows"] == {
        "input": 61,
        "solutions": 60,
        "eligible": 57,
        "unreadable": 1,
    }
    assert manifest["spans"] == {"closed": 58, "none": 1, "open_only": 1}
    assert manifest["rejected"] == {
        "non_empty": 1,
        "single_turn": 0,
        "complete_span": 1,
        "distinct_id": 1,
        "unreadable/json": 1,
    }
    assert rejected(tmp_path / "run") == [
        ("t0003", "a.parquet", 3, "non_empty"),
        ("t0007", "a.parquet", 7, "complete_span"),
        ("b.jsonl:4", "l/b.jsonl", 4, "unreadable/json"),
        ("t0002", "l/b.jsonl", 9, "distinct_id"),
    ]
    assert manifest["moments"] == {"over": "all", "rows": 60}
    assert sum(manifest["blocks"].values()) == len(manifest["features"]) == 631
    tables = {
        n: h for n, h in hashes(tmp_path / "run").items() if n in manifest["tables"]
    }
    assert tables == manifest["tables"]


@pytest.mark.parametrize("over", ["all", "eligible"])
def test_features_and_moments_against_one_row_at_a_time(over, tmp_path):
    """The second row with an id is in the sums of its part, and has to be taken out."""
    root = tmp_path / "run"
    finished(write_pool(tmp_path / "pool"), root, moments_over=over)
    ids, found = read(root)
    kept = [n for n in range(61) if n not in (3, 7, 34, 39)]
    assert ids == [f"t{n:04d}" for n in kept]
    wanted = fingerprints.fingerprints([thought(n) for n in kept], "dolci")
    assert np.array_equal(found, wanted)
    ids, everything = read(root, eligible_only=False)
    assert len(ids) == 60
    stats = moments.moments(everything if over == "all" else found)
    table = pq.read_table(root / "moments.parquet")
    assert table["name"].to_pylist() == list(fingerprints.feature_names("dolci"))
    assert np.array_equal(table["mean"].to_numpy(), stats.mean)
    assert np.array_equal(table["variance"].to_numpy(), stats.variance)
    assert table.schema.metadata[b"rows"] == str(stats.count).encode()
    assert table.schema.metadata[b"over"] == over.encode()


def test_rows_by_hand(tmp_path):
    finished(write_pool(tmp_path / "pool"), tmp_path / "run")
    rows = pq.read_table(tmp_path / "run/rows.parquet").to_pylist()
    assert len(rows) == 60
    where = {r["id"]: (r["part"], r["index"], r["eligible"]) for r in reversed(rows)}
    assert where["t0003"] == (0, 3, False)
    assert where["t0029"] == (7, 1, True)  # the last part of the first file: 28, 29
    assert where["t0030"] == (8, 0, True)
    assert where["t0035"] == (9, 0, True)  # the line before it is unreadable
    assert where["t0002"] == (0, 2, True)
    assert [r["eligible"] for r in rows if r["id"] == "t0002"] == [True, False]
    assert {r["group"] for r in rows} == {"all"}


def test_moments_depend_on_neither_order_nor_files_nor_parts(tmp_path):
    rows = [row(n) for n in range(40)]
    one = write_rows(tmp_path / "one.parquet", rows)
    two = [
        write_rows(tmp_path / "two.jsonl", rows[25:]),
        write_rows(tmp_path / "three.parquet", rows[24::-1]),
    ]
    finished([one], tmp_path / "a", rows_per_part=3)
    finished(two, tmp_path / "b", rows_per_part=11)
    sums = [(tmp_path / run / "moments.parquet").read_bytes() for run in "ab"]
    assert sums[0] == sums[1]


def test_at_most_eight_solutions_per_prompt_over_parts(tmp_path):
    """Two prompts by turns, twelve solutions each; the first of one is refused."""
    rows = [row(n, prompt=f"Prompt {n % 2}?", verified=n != 1) for n in range(24)]
    pool = write_rows(tmp_path / "p.parquet", rows)
    given = {"testbed": "single_teacher", "moments_over": "eligible"}
    manifest = finished([pool], tmp_path / "run", **given)
    late = [16, 18, 19, 20, 21, 22, 23]  # the 9th of those that passed, and later
    assert rejected(tmp_path / "run") == [
        ("t0001", "p.parquet", 1, "verified"),
        *((f"t{n:04d}", "p.parquet", n, "at_most_8_per_prompt") for n in late),
    ]
    assert manifest["rows"]["eligible"] == 16
    ids, found = read(tmp_path / "run")
    assert ids == [f"t{n:04d}" for n in range(24) if n not in (1, *late)]
    table = pq.read_table(tmp_path / "run/moments.parquet")
    assert np.array_equal(table["mean"].to_numpy(), moments.moments(found).mean)


def test_several_solutions_of_one_row_are_all_listed(tmp_path):
    """Both candidates of an input row fail; they share its number."""
    texts = [f"<think>{thought(1)}", row(2)["response"], "<think>"]
    rows = [
        {"uuid": f"r{n}", "problem": f"Q{n}?", "generations": texts} for n in range(3)
    ]
    pool = write_rows(tmp_path / "p.jsonl", rows)
    manifest = finished([pool], tmp_path / "run", rows_per_part=2)
    assert manifest["rows"]["solutions"] == 9
    assert rejected(tmp_path / "run") == [
        (f"r{n}/{k}", str(tmp_path / "p.jsonl")[-9:], n, "complete_span")
        for n in range(3)
        for k in (0, 2)
    ]


def test_equal_rows_without_ids_are_counted(tmp_path):
    """Ids come from the content then, so five equal rows have one."""
    rows = [{k: v for k, v in row(n % 5 and 1).items() if k != "id"} for n in range(10)]
    pool = write_rows(tmp_path / "p.parquet", rows)
    manifest = finished([pool], tmp_path / "run", moments_over="eligible")
    assert manifest["rejected"]["distinct_id"] == 8
    assert manifest["moments"]["rows"] == manifest["rows"]["eligible"] == 2


def test_an_id_of_a_rejected_row_is_free(tmp_path):
    rows = [row(1, response=""), row(1), row(1)]
    manifest = finished([write_rows(tmp_path / "p.parquet", rows)], tmp_path / "run")
    assert [r[2:] for r in rejected(tmp_path / "run")] == [
        (0, "non_empty"),
        (2, "distinct_id"),
    ]
    assert manifest["rows"]["eligible"] == 1


@given(st.lists(st.integers(0, 6), max_size=30))
@settings(deadline=None)
def test_hashes_that_are_there_twice(values):
    pieces = [np.array(values[:7], np.int64), np.array(values[7:], np.int64)]
    assert settle._twice(pieces) == {v for v in values if values.count(v) > 1}


def test_ids_with_the_same_hash_are_not_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(settle, "hash", lambda _: 1, raising=False)
    manifest = finished(write_pool(tmp_path / "pool"), tmp_path / "run")
    assert manifest["rejected"]["distinct_id"] == 1


@pytest.mark.parametrize("over", ["all", "eligible"])
def test_no_eligible_row_is_an_error_that_says_why(over, tmp_path):
    rows = [row(n, verified=False) for n in range(5)] + ["{not json}"]
    pool = write_rows(tmp_path / "p.jsonl", rows)
    said = r"none of 6 rows is eligible \(rejected: 5 verified, 1 unreadable/json\)"
    for _ in range(2):
        with pytest.raises(UserError, match=said):
            finished([pool], tmp_path / "run", testbed="dolci", moments_over=over)
    assert len(rejected(tmp_path / "run")) == 6
    assert not (tmp_path / "run/manifest.json").exists()
    with pytest.raises(UserError, match=r"no manifest\.json; finish"):
        read(tmp_path / "run")


def test_a_missing_part_is_named(tmp_path):
    job = job_over(write_pool(tmp_path / "pool"))
    features.run_shard(job, tmp_path / "run", (1, 2), 1, QUIET)
    with pytest.raises(UserError, match="9 of 17 parts are missing, the first is 8"):
        features.collect(job, tmp_path / "run")


def test_a_damaged_part_is_named_and_can_be_made_anew(tmp_path):
    root = tmp_path / "run"
    paths = write_pool(tmp_path / "pool")
    finished(paths, root)
    wanted = hashes(root)
    part = root / "parts/part-00005.parquet"
    part.write_bytes(part.read_bytes()[:-9] + b"\0" * 9)
    for call in (lambda: finished(paths, root), lambda: read(root)):
        with pytest.raises(UserError, match=r"part-00005\.parquet .*changed since"):
            call()
    part.unlink()
    finished(paths, root)
    assert hashes(root) == wanted


WRONG = {  # a change to the JSON of a part that has 4 rows
    "empty": lambda facts: facts.clear(),
    "another number": lambda facts: facts.update(part=1),
    "another file": lambda facts: facts.update(file="other.parquet"),
    "fewer rows": lambda facts: facts.update(rows=3),
    "text": lambda facts: facts.update(rows="4"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_part_that_is_not_what_it_says_is_made_anew(what, tmp_path):
    root, paths = tmp_path / "run", write_pool(tmp_path / "pool")
    finished(paths, root)
    wanted, path = hashes(root), root / "parts/part-00000.json"
    facts = workdir.read_json(path)
    WRONG[what](facts)
    path.write_text(json.dumps(facts))
    assert features.missing(job_over(paths), root) == [0]
    finished(paths, root)
    assert hashes(root) == wanted


def test_a_part_that_lacks_a_row_is_named(tmp_path):
    """Its JSON may say anything; the rows themselves are counted."""
    root, paths = tmp_path / "run", write_pool(tmp_path / "pool")
    finished(paths, root)
    other = root / "parts/part-00001"
    for kind in ("json", "parquet"):
        path = root / f"parts/part-00000.{kind}"
        path.write_bytes(other.with_suffix(f".{kind}").read_bytes())
    facts = workdir.read_json(root / "parts/part-00000.json") | {"part": 0}
    (root / "parts/part-00000.json").write_text(json.dumps(facts))
    with pytest.raises(UserError, match=r"part-00000\.json has .* rows of its part"):
        finished(paths, root)


def test_several_solutions_of_a_row_are_not_said_to_be_rows(tmp_path):
    rows = [{"problem": "Q?", "generations": ["<think>", "<think>a"]}]
    pool = write_rows(tmp_path / "p.jsonl", rows)
    with pytest.raises(UserError, match="none of 2 traces of 1 rows is eligible"):
        finished([pool], tmp_path / "run")


@pytest.mark.parametrize("table", ["rows.parquet", "parts/part-00001.parquet"])
def test_a_damaged_table_is_named_when_features_are_read(table, tmp_path):
    finished(write_pool(tmp_path / "pool"), tmp_path / "run")
    (tmp_path / "run" / table).write_bytes(b"PAR1 is not all")
    with pytest.raises(UserError, match=rf"{table} is missing or "):
        read(tmp_path / "run")
