"""A table that is no pool is refused with the column, the row and the file."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from routejax.errors import UserError
from routejax.pools import read_pool, write_pool
from routejax.traces import SCHEMA, to_table

ROW = {name: None for name in SCHEMA.names} | {
    "prompt_id": "p",
    "prompt": "q",
    "response": "r",
    "group": "all",
    "meta": "{}",
}


def pool(*ids, **columns):
    """A table of one row per id, loosely typed, with some columns replaced."""
    table = pa.Table.from_pylist([ROW | {"id": name} for name in ids], LOOSE)
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table


LOOSE = pa.schema([pa.field(field.name, field.type) for field in SCHEMA])
INVALID = pa.Array.from_buffers(  # the bytes ff ff are no UTF-8
    pa.string(),
    1,
    [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xff")],
)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pool("a").drop_columns(["group", "seed"]), "lacks columns: group, seed"),
        (
            pool("a").append_column("score", [[1]]).append_column("extra", [[1]]),
            r"unknown columns \(put them into 'meta' as JSON\): score, extra",
        ),
        (
            pool("a", difficulty=pa.array([3]), verified=pa.array(["yes"])),
            r"type: verified \(string, not bool\), difficulty \(int64, not int32\)",
        ),
        (pool("a").append_column("id", [["a"]]), "has columns twice: id"),
        (pool("a").slice(1), "has no rows"),
        (
            pool("a", group=pa.array([1])).drop_columns(["env"]),
            r"lacks columns: env; it has columns of another type: group \(int64",
        ),
        (
            pool("a", "b", "c", prompt=pa.array(["x", None, None])),
            "'prompt' must have no nulls, got 2, the first in row 1",
        ),
        (
            pool("a", "b", steps=pa.array([["x"], ["y", None]])),
            "a step in row 1 of 'steps' is null",
        ),
        (pool("a", response=INVALID), "column 'response' is damaged"),
        (pool("a", "b", "c", "b"), "'b' stands in row 1 of .* and in row 3 of "),
        (pool("a", ""), "texts of one line, got '' in row 1"),
        (pool("a\n"), r"texts of one line, got 'a\\n' in row 0"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, table, words):
    path = tmp_path / "pool.parquet"
    with pytest.raises(UserError, match=words):
        write_pool(path, table)
    assert not list(tmp_path.iterdir())
    pq.write_table(table, path)
    with pytest.raises(UserError, match=words) as caught:
        read_pool(path)
    assert str(path) in str(caught.value)


def test_an_id_in_two_files_is_named_with_both(tmp_path):
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    write_pool(one, pool("a", "b"))
    write_pool(two, pool("c", "d", "b"))
    words = r"'b' stands in row 1 of .*one\.parquet and in row 2 of .*two\.parquet"
    with pytest.raises(UserError, match=words):
        read_pool([one, two])


def test_a_null_step_is_found_behind_a_chunk(tmp_path):
    late = pa.array([[None]], pa.list_(pa.string()))
    early = pa.array([None, ["x"]], pa.list_(pa.string()))
    table = pa.concat_tables([pool("a", "b", steps=early), pool("c", steps=late)])
    with pytest.raises(UserError, match="a step in row 2"):
        write_pool(tmp_path / "pool.parquet", table)


def test_no_traces_is_no_pool(tmp_path):
    with pytest.raises(UserError, match="has no rows"):
        write_pool(tmp_path / "pool.parquet", to_table([]))
