"""Rows and files that no pool should have: counted or refused, and nothing is lost."""

import base64
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pool_files import WRITERS

from routejax.errors import UserError
from routejax.pools import lines, open_pool, read_pool, reading, rows
from routejax.pools.opened import KINDS

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
    whole = path.read_bytes()
    for data in (whole[:cut], whole + b"\0", whole + whole):
        path.write_bytes(data)
        with pytest.raises(UserError, match="Arrow stream without its end, or with"):
            open_pool(path)


def test_an_encrypted_file(tmp_path):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    path.write_bytes(b"PARE" + path.read_bytes()[4:])
    with pytest.raises(UserError, match="is encrypted; write it again without"):
        open_pool(path)


def test_a_legible_footer_of_encrypted_columns(tmp_path):
    """Arrow ends the process where it is asked about such a column."""
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):
        def wrap_key(self, key_bytes, master_key_identifier):
            return base64.b64encode(key_bytes)

        def unwrap_key(self, wrapped_key, master_key_identifier):
            return base64.b64decode(wrapped_key)

    settings = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"k": ["response"]}, plaintext_footer=True
    )
    factory = encryption.CryptoFactory(lambda _: Keys())
    how = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    path, table = tmp_path / "pool.parquet", pa.Table.from_pylist(ROWS)
    with pq.ParquetWriter(path, table.schema, encryption_properties=how) as writer:
        writer.write_table(table)
    for door in (open_pool, read_pool):
        with pytest.raises(UserError, match="is encrypted; write it again without enc"):
            door(path)


@pytest.mark.parametrize("place", [0, 3, 5])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_that_is_too_long_is_never_held(place, end, tmp_path, monkeypatch):
    """Blocks of some bytes, so that a long line has many of them."""
    monkeypatch.setattr(lines, "LONGEST", 300)
    monkeypatch.setattr(lines, "_BLOCK", 37)
    held = []
    joined = lines._joined
    monkeypatch.setattr(
        lines, "_joined", lambda *given: held.append(joined(*given)) or held[-1]
    )
    texts = [json.dumps(row).encode() for row in ROWS]
    texts[place] = json.dumps({**ROWS[place], "more": "x" * 10_000}).encode() + b"  "
    path = tmp_path / "pool.jsonl"
    path.write_bytes(b"\n".join(texts) + end)
    ids, unreadable = read(path)
    assert ids == [row["id"] for row in ROWS if row is not ROWS[place]]
    [row] = unreadable
    assert (row.id, row.row, row.rule) == (f"pool.jsonl:{place}", place, "too_long")
    assert row.reason == "longer than 32 MB"
    assert max(map(len, held)) <= 300


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream.arrow"])
def test_a_long_dictionary_makes_no_long_rows(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST", 20_000)
    table = pa.table(
        {
            "id": [f"r{i}" for i in range(50)],
            "prompt": ["Q"] * 50,
            "response": pa.array(
                [f"{i} " * 400 for i in range(50)]
            ).dictionary_encode(),
        }
    )
    table = table.set_column(2, "response", table["response"].dictionary_encode())
    path = tmp_path / f"pool.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with new(path, table.schema) as writer:
            writer.write_table(table)
    ids, unreadable = read(path)
    assert (len(ids), unreadable) == (50, [])


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_arrow_batches_are_read_piece_by_piece(compression, tmp_path, monkeypatch):
    monkeypatch.setattr("routejax.pools.tables._ROWS", 7)
    table = pa.Table.from_pylist([{**ROWS[0], "id": f"r{i}"} for i in range(50)])
    options = pa.ipc.IpcWriteOptions(compression=compression)
    for new in (pa.ipc.new_file, pa.ipc.new_stream):
        path = tmp_path / "pool.arrow"
        with new(path, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=30)
        pool = open_pool(path)
        part = pool.parts(50)[0]
        batches = [batch.rows["id"].to_pylist() for batch in pool.read(part)]
        assert [len(ids) for ids in batches] == [7, 7, 7, 7, 2, 7, 7, 6]
        assert [one for ids in batches for one in ids] == table["id"].to_pylist()


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_batches_that_are_not_compressed_are_not_copied(new, tmp_path):
    """A corpus may be one batch, larger than memory."""
    path = tmp_path / "pool.arrow"
    rows = [{**ROWS[0], "id": f"r{i}", "meta": "{}"} for i in range(20_000)]
    table = pa.Table.from_pylist(rows)
    with new(path, table.schema) as writer:
        writer.write_table(table)
    kind = KINDS["arrow_file" if new is pa.ipc.new_file else "arrow_stream"]
    found = kind.index(str(path))
    before = pa.total_allocated_bytes()
    batches = kind.stream(found, 100, ["id", "response"])
    assert next(batches)["id"][0].as_py() == "r100"
    assert pa.total_allocated_bytes() - before < table.nbytes / 20
    batches.close()


def test_a_mapped_file_that_was_cut_is_said(tmp_path, monkeypatch):
    """To look at a page that is not there any more would end the process."""
    monkeypatch.setattr("routejax.pools.tables._ROWS", 2)
    path = tmp_path / "pool.arrow"
    WRITERS["arrow"](path, ROWS)
    pool = open_pool(path)
    batches = pool.read(pool.parts()[0])
    next(batches)
    with path.open("r+b") as file:
        file.truncate(100)
    with pytest.raises(UserError, match="has become shorter while it was read; bring"):
        list(batches)


@pytest.mark.parametrize("kind", ["grows", "shrinks"])
@pytest.mark.parametrize("writer", ["jsonl", "parquet", "arrow"])
def test_a_file_that_changes_while_it_is_read(kind, writer, tmp_path):
    path = tmp_path / f"pool.{writer}"
    WRITERS[writer](path, ROWS)
    pool = open_pool(path)
    batches = pool.read(pool.parts()[0])
    next(batches)
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data + b"\n" if kind == "grows" else data[:-1])
    with pytest.raises(UserError, match="was changed after it was looked over"):
        list(batches)


ODD_VALUES = {  # of the row in the middle, which Python cannot hold
    "year": pa.array([1, 2**40, 3], pa.timestamp("s")),
    "zone": pa.array([1, 2, 3], pa.timestamp("s", "Mars/Phobos")),
    "date": pa.array([1, 2**31 - 1, 3], pa.date32()),
}


@pytest.mark.parametrize("what", ODD_VALUES)
def test_a_value_that_python_cannot_hold(what, tmp_path):
    path = tmp_path / "pool.parquet"
    kept = {n: [row[n] for row in ROWS[:3]] for n in ("id", "prompt", "response")}
    pq.write_table(pa.table({**kept, "when": ODD_VALUES[what]}), path)
    ids, unreadable = read(path)
    assert len(ids) + len(unreadable) == 3
    assert {row.rule for row in unreadable} == {"unexpected"}
    assert what == "zone" or ids == ["r0", "r2"]


def test_whatever_is_wrong_with_a_row_is_counted(tmp_path, monkeypatch):
    def fails(row, fields, own):
        if own == "r3":
            raise ZeroDivisionError("nothing \ud800 to divide by" + "!" * 1000)
        return solution(row, fields, own)

    solution = rows._solution
    monkeypatch.setattr(rows, "_solution", fails)
    path = tmp_path / "pool.jsonl"
    path.write_text("\n".join(json.dumps({**row, "k": 1}) for row in ROWS))
    ids, [bad] = read(path)
    assert ids == ["r0", "r1", "r2", "r4", "r5"]
    assert (bad.id, bad.row, bad.rule) == ("r3", 3, "unexpected")
    assert bad.reason.startswith("ZeroDivisionError: nothing ? to divide by!!!")
    assert len(bad.reason) == 300


def test_an_id_of_two_lines_is_told_as_such(tmp_path):
    canonical = {"group": "g", "prompt_id": "p", "source": None, "meta": "{}"}
    rows = [row | canonical for row in ROWS[:3]]
    rows[1]["id"] = "one\ntwo"
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ids, unreadable = read(path)
    assert ids == ["r0", "r2"]
    assert [row.reason for row in unreadable] == [
        "id must be one line, got 'one\\ntwo'"
    ]
