"""Pool files come back as they were written, or with a message that names the fault."""

import dataclasses
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from routejax.errors import UserError
from routejax.pools import read_pool, write_pool
from routejax.traces import SCHEMA, Trace, from_table, to_table


def traces(count=10, first=0):
    return [
        Trace(
            id=f"row-{i:03d}",
            prompt_id=f"p{i % 3}",
            prompt="2 + 2?\n",
            response=f"<think>{i} é ∑</think> 4",
            verified=[True, False, None][i % 3],
            difficulty=i if i % 2 else None,
            steps=["setup", "conclude"][: i % 3] if i % 4 else None,
            meta=json.dumps({"i": i}),
        )
        for i in range(first, first + count)
    ]


def read_or_refuse(path):
    try:
        return read_pool(path)
    except UserError:
        return None


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pool.parquet"


def test_rows_come_back_as_written(path):
    write_pool(path, traces())
    table = read_pool(path)
    assert table.schema.equals(SCHEMA, check_metadata=True)
    assert list(from_table(table)) == traces()
    assert [file.name for file in path.parent.iterdir()] == ["pool.parquet"]


def test_several_files_are_one_pool_in_their_order(tmp_path):
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    write_pool(one, traces(4))
    write_pool(two, traces(3, first=4))
    ids = read_pool([str(two), one])["id"].to_pylist()
    assert ids == [f"row-{i:03d}" for i in (4, 5, 6, 0, 1, 2, 3)]


def test_the_bytes_depend_on_the_rows_alone(tmp_path):
    # two row groups, and responses of several pages, which end where chunks end
    rows = [dataclasses.replace(t, response=t.id * 60) for t in traces(9000)]
    table = to_table(rows)
    chunks = pa.concat_tables([table.slice(at, 137) for at in range(0, 9000, 137)])
    noted = chunks.replace_schema_metadata({"note": "x"}).select(SCHEMA.names[::-1])
    for name, given in (("a", table), ("b", noted), ("c", iter(rows))):
        write_pool(tmp_path / name, given)
    written = [(tmp_path / name).read_bytes() for name in "abc"]
    assert written[0] == written[1] == written[2]
    assert pq.read_metadata(tmp_path / "a").row_group(0).column(3).compression == "ZSTD"


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    write_pool(path, traces(2))

    def fail(writer, table):
        raise OSError("disk full")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        write_pool(path, traces(5))
    assert len(read_pool(path)) == 2
    assert [file.name for file in path.parent.iterdir()] == ["pool.parquet"]


def test_columns_of_other_writers_are_read(path):
    rows = to_table(traces()).to_pylist()
    loose = pa.schema([pa.field(f.name, f.type) for f in reversed(list(SCHEMA))])
    pq.write_table(pa.Table.from_pylist(rows, loose), path, store_schema=False)
    assert read_pool(path).equals(to_table(traces()))


def test_every_cut_and_every_flipped_bit_is_noticed(path):
    write_pool(path, traces(5))
    whole, table = path.read_bytes(), read_pool(path)
    for end in (0, 1, 4, 11, 60, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(UserError, match=r"empty|not Parquet|cut off"):
            read_pool(path)
    for at in range(4, len(whole) - 4, 23):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert read_or_refuse(path) in (None, table)  # or a bit that nothing reads


def test_files_that_are_no_pool_files(tmp_path):
    text = tmp_path / "pool.jsonl"
    text.write_text('{"id": 1}')
    for paths, words in (
        (tmp_path / "none.parquet", r"none\.parquet does not exist"),
        (tmp_path, "is a folder; name the Parquet files"),
        (text, r"pool\.jsonl is not Parquet"),
        ([], "no pool file was named"),
    ):
        with pytest.raises(UserError, match=words):
            read_pool(paths)
    with pytest.raises(UserError, match=r"folder .*deep does not exist"):
        write_pool(tmp_path / "deep" / "pool.parquet", traces())
