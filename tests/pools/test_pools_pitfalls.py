"""Every pitfall of real traces, through the whole way from a file to its span."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from trace_cases import CASES, OF_ARROW, Case, recorded

from routejax.pools import open_pool
from routejax.spans import complete, find


def read_one(path):
    pool = open_pool(path)
    [batch] = [batch for part in pool.parts() for batch in pool.read(part)]
    assert not batch.unreadable
    [row] = batch.rows.to_pylist()
    return row


def as_row(given):
    message = given if isinstance(given, dict) else {"content": given}
    asked = {"role": "user", "content": "Q"}
    return {"messages": [asked, {"role": "assistant", **message}]}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_pitfall_is_read_as_it_should_be(tmp_path, name, kind):
    case: Case = CASES[name]
    path = tmp_path / f"pool.{kind}"
    if kind == "jsonl":
        path.write_text(json.dumps(as_row(case.given)), newline="")
    else:
        pq.write_table(pa.Table.from_pylist([as_row(case.given)]), path)
    row = read_one(path)
    found = (row["span"], row["reasoning"], row["answer"])
    assert found == (case.state, case.reasoning, case.answer)
    if isinstance(case.given, str):
        assert row["response"] == case.given
        assert find(case.given) == case[1:]
    assert row["turns"] == 2
    assert row["prompt"] == "Q"


def test_which_of_them_are_complete():
    done = {
        name
        for name, case in CASES.items()
        if isinstance(case.given, str) and complete(find(case.given))
    }
    assert done == {"close_only", "other_delimiters", "chat_markup", "language_mix"}


@pytest.mark.skipif(not recorded(), reason="the longer file of cases is absent")
def test_no_recorded_pitfall_is_forgotten(tmp_path):
    items = {item["id"]: item["minimal_input"] for item in recorded()}
    assert {*items} == {*CASES, *OF_ARROW}
    for name in CASES:
        given = items[name]
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps(as_row(given)))
        assert read_one(path)["span"] == CASES[name].state
