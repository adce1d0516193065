"""Rows and files that no pool should have: counted or refused, and nothing is lost."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pool_files import WRITERS

from routejax.errors import UserError
from routejax.pools import open_pool, reading

ROWS = [
    {"id": f"r{i}", "prompt": f"{i}?", "response": f"<think>{i}</think> {i}"}
    for i in range(6)
]


def read(path):
    pool = open_pool(path)
    batches = [b for part in pool.parts(4) for b in pool.read(part)]
    ids = [name for batch in batches for name in batch.rows["id"].to_pylist()]
    return ids, [row for batch in batches for row in batch.unreadable]


def test_a_row_that_is_nested_too_deep_is_counted(tmp_path):
    """Deep enough for Python's recursion, not for the parser's."""
    path = tmp_path / "deep.jsonl"
    lines = [json.dumps(row) for row in ROWS]
    nest = 600
    lines[2] = lines[2][:-1] + ', "more": ' + '{"a":' * nest + "1" + "}" * nest + "}"
    path.write_text("\n".join(lines))
    ids, unreadable = read(path)
    assert ids == ["r0", "r1", "r3", "r4", "r5"]
    assert [(row.row, row.rule) for row in unreadable] == [(2, "json")]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_row_that_is_too_long_is_counted(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST", 20_000)
    rows = [dict(row) for row in ROWS]
    rows[4]["response"] = "<think>" + "so it is. " * 3000 + "</think> 4"
    path = tmp_path / f"pool.{kind}"
    WRITERS[kind](path, rows)
    monkeypatch.setattr("routejax.pools.opened._BYTES", 20_000)
    ids, unreadable = read(path)
    assert ids == ["r0", "r1", "r2", "r3", "r5"]
    assert [(row.row, row.rule) for row in unreadable] == [(4, "too_long")]


def test_an_arrow_stream_without_its_end(tmp_path):
    path = tmp_path / "pool.arrows"
    table = pa.Table.from_pylist(ROWS)
    with pa.OSFile(str(path), "wb") as raw:
        writer = pa.ipc.new_stream(raw, table.schema)
        writer.write_table(table, max_chunksize=2)
        cut = raw.tell()
        writer.close()
    assert len(read(path)[0]) == 6
    with path.open("r+b") as file:
        file.truncate(cut)
    with pytest.raises(UserError, match="Arrow stream without its end"):
        open_pool(path)


def test_an_encrypted_file(tmp_path):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    path.write_bytes(b"PARE" + path.read_bytes()[4:])
    with pytest.raises(UserError, match="is encrypted; write it without encryption"):
        open_pool(path)


def test_a_file_under_two_names_is_read_once(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    (tmp_path / "b.parquet").symlink_to(path)
    (tmp_path / "loop").symlink_to(tmp_path)
    pool = open_pool(
        [tmp_path, path, str(tmp_path / "**"), tmp_path / "." / "a.parquet"]
    )
    assert pool.rows == 6


def test_a_path_that_leads_nowhere(tmp_path):
    (tmp_path / "me").symlink_to(tmp_path / "me")
    with pytest.raises(UserError, match=r"me .*(no regular file|cannot be followed)"):
        open_pool(tmp_path / "me")
