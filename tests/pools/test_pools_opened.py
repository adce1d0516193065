"""A pool gives the same rows from any kind of file, in parts of any size, anywhere."""

import json
import pickle
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_cases import ASKED, chat
from pool_files import WRITERS, write_all
from trace_cases import CASES as PITFALLS
from trace_cases import real

from routejax.errors import UserError
from routejax.pools import STREAM_SCHEMA, Part, open_pool, opened, read_pool
from routejax.spans import find
from routejax.traces import SCHEMA

TEXTS = [
    case.given
    for case in PITFALLS.values()
    if isinstance(case.given, str) and len(case.given) < 2000
]
TALKS = [
    {
        "id": f"row-{i:03d}",
        "source": "sub",
        "messages": [ASKED, chat("assistant", TEXTS[i % len(TEXTS)])],
    }
    for i in range(40)
]
PLAIN = [
    {
        "id": f"row-{i:03d}" if i != 11 else None,
        "prompt": f"{i}?",
        "response": TEXTS[i % len(TEXTS)],
        "verified": [True, False, None][i % 3],
        "difficulty": i if i % 2 else None,
        "steps": ["setup", "conclude"][: i % 3] if i % 4 else None,
        "meta": json.dumps({"i": i}),
    }
    for i in range(40)
]


def rows_of(pool, size=4096, columns=None):
    batches = [b for part in pool.parts(size) for b in pool.read(part, columns)]
    assert not any(batch.unreadable for batch in batches)
    return [row for batch in batches for row in batch.rows.to_pylist()]


def rest_of(batches):
    return [row for batch in batches for row in batch.rows.to_pylist()]


@pytest.mark.parametrize("rows", [TALKS, PLAIN], ids=["messages", "canonical"])
def test_all_kinds_of_file_give_equal_rows(tmp_path, rows):
    files = write_all(tmp_path, rows)
    found = {kind: rows_of(open_pool(path)) for kind, path in files.items()}
    assert [row["row"] for row in found["jsonl"]] == list(range(40))
    expected = [tuple(find(text)) for text in (TEXTS * 9)[:40]]
    got = [(r["span"], r["reasoning"], r["answer"]) for r in found["jsonl"]]
    assert got == expected
    for kind, given_rows in found.items():
        assert given_rows == found["jsonl"], kind


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pools")
    files = {}
    for name, rows in (("talks", TALKS), ("plain", PLAIN)):
        (folder / name).mkdir()
        files |= {(name, k): v for k, v in write_all(folder / name, rows).items()}
    return {key: open_pool(path) for key, path in files.items()}


@given(data=st.data())
@settings(deadline=None, max_examples=20)
def test_parts_of_any_size_in_any_order(pools, data):
    pool = pools[data.draw(st.sampled_from(sorted(pools)))]
    whole = rows_of(pool)
    parts = pool.parts(data.draw(st.integers(1, 45)))
    assert [part.number for part in parts] == list(range(len(parts)))
    assert sum(part.rows for part in parts) == pool.rows == 40
    found = {}
    for part in data.draw(st.permutations(parts)):
        batches = list(pool.read(part))
        found[part.first] = [r for b in batches for r in b.rows.to_pylist()]
    assert [row for first in sorted(found) for row in found[first]] == whole


@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_columns_are_those_asked_for(pools, data):
    pool = pools[data.draw(st.sampled_from(sorted(pools)))]
    names = data.draw(st.sets(st.sampled_from(STREAM_SCHEMA.names), min_size=1))
    batches = [batch.rows for batch in pool.read(pool.parts()[0], sorted(names))]
    wanted = pa.schema([field for field in STREAM_SCHEMA if field.name in names])
    assert all(batch.schema.equals(wanted) for batch in batches)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert rows == [{name: row[name] for name in wanted.names} for row in rows_of(pool)]


def test_a_small_limit_makes_small_batches(pools, monkeypatch):
    monkeypatch.setattr(opened, "_BYTES", 1000)
    for key, pool in pools.items():
        [part] = pool.parts()
        batches = list(pool.read(part))
        if key[1] in ("parquet", "arrow", "stream.arrow"):
            assert len(batches) > 3
            assert all(b.rows.num_rows == 1 or b.rows.nbytes < 4000 for b in batches)
        monkeypatch.undo()
        assert [r for b in batches for r in b.rows.to_pylist()] == rows_of(pool)
        monkeypatch.setattr(opened, "_BYTES", 1000)


def test_a_reader_given_up_half_way_disturbs_no_other(pools):
    for pool in pools.values():
        whole, (first, second) = rows_of(pool), pool.parts(20)
        half = pool.read(first)
        next(half)
        rest = [row for b in pool.read(second) for row in b.rows.to_pylist()]
        assert rest == whole[20:]
        half.close()
        again = [row for b in pool.read(first) for row in b.rows.to_pylist()]
        assert again == whole[:20]


def test_two_readers_from_the_place_where_one_ended(pools):
    for pool in pools.values():
        whole, (first, second) = rows_of(pool), pool.parts(20)
        list(pool.read(first))
        one, other = pool.read(second), pool.read(second)
        begun = [next(one).rows, next(other).rows]
        pairs = zip(begun, (one, other), strict=True)
        read = [[*head.to_pylist(), *rest_of(rest)] for head, rest in pairs]
        assert read == [whole[20:], whole[20:]]


def test_two_readers_at_once_and_two_threads(pools):
    for pool in pools.values():
        whole, (first, second) = rows_of(pool), pool.parts(20)
        pairs = zip(pool.read(first), pool.read(second), strict=True)
        both = [(a.rows.to_pylist(), b.rows.to_pylist()) for a, b in pairs]
        assert [r for a, _ in both for r in a] == whole[:20]
        assert [r for _, b in both for r in b] == whole[20:]
        found = {}

        def work(part, pool=pool, found=found):
            found[part.first] = [b.rows for b in pool.read(part)]

        threads = [threading.Thread(target=work, args=[p]) for p in pool.parts(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rows = [b for first in sorted(found) for b in found[first]]
        assert [row for batch in rows for row in batch.to_pylist()] == whole


def test_a_pool_can_be_sent_to_another_process(pools):
    for pool in pools.values():
        there = pickle.loads(pickle.dumps(pool))
        assert rows_of(there, 9) == rows_of(pool)
        assert there.parts(9) == pool.parts(9)


def test_a_large_row_group_is_read_in_pieces(tmp_path):
    path, rows, length = tmp_path / "pool.parquet", 3000, 20_000
    letters = np.random.default_rng(0).integers(97, 123, rows * length, np.uint8)
    ends = pa.py_buffer(np.arange(0, rows * length + 1, length, np.int32))
    texts = pa.Array.from_buffers(
        pa.string(), rows, [None, ends, pa.py_buffer(letters)]
    )
    names = pa.array([f"{i}" for i in range(rows)])
    table = pa.table({"id": names, "prompt": names, "response": texts})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    pool, sizes, before = open_pool(path), [], pa.total_allocated_bytes()
    for part in pool.parts(1000):
        for batch in pool.read(part, ["response", "reasoning"]):
            used = pa.total_allocated_bytes() - before
            sizes.append((batch.rows["response"].nbytes, used))
    assert sum(size for size, _ in sizes) > rows * length
    assert max(size for size, _ in sizes) < 2**24
    assert max(used for _, used in sizes) < 4 * 2**24 < rows * length * 1.2


def test_a_canonical_stream_is_the_pool_file(tmp_path):
    path = tmp_path / "pool.parquet"
    table = pa.Table.from_pylist(
        [
            {**dict.fromkeys(SCHEMA.names), **row, "id": f"{i}"}
            for i, row in enumerate(PLAIN)
        ],
        pa.schema([pa.field(f.name, f.type) for f in SCHEMA]),
    )
    table = table.set_column(1, "prompt_id", table["id"])
    table = table.set_column(4, "group", pa.array(["all"] * 40))
    pq.write_table(table, path)
    streamed = rows_of(open_pool(path), columns=SCHEMA.names)
    assert streamed == read_pool(path).to_pylist()


@pytest.mark.parametrize("as_type", [pa.string(), pa.large_string(), pa.string_view()])
def test_types_of_text(tmp_path, as_type):
    path = tmp_path / "pool.arrow"
    names = ["id", "prompt", "response"]
    columns = [pa.array([row[n] for row in PLAIN[:9]], as_type) for n in names]
    table = pa.table(dict(zip(names, columns, strict=True)))
    coded = table.set_column(
        1, "prompt", table["prompt"].cast(pa.string()).dictionary_encode()
    )
    for given_table in (table, coded):
        with pa.ipc.new_file(path, given_table.schema) as writer:
            writer.write_table(given_table)
        rows = rows_of(open_pool(path))
        assert [r["response"] for r in rows] == [row["response"] for row in PLAIN[:9]]
        assert [r["prompt"] for r in rows] == [f"{i}?" for i in range(9)]


def test_other_turns_come_back_from_a_canonical_file(tmp_path):
    talk = {
        "messages": [chat("system", "Think."), *[ASKED, chat("assistant", "A")] * 2]
    }
    raw, file = tmp_path / "a.jsonl", tmp_path / "b.parquet"
    raw.write_text(json.dumps(talk) + "\n" + json.dumps(TALKS[0]))
    rows = rows_of(open_pool(raw))
    assert [row["turns"] for row in rows] == [4, 2]
    assert rows[0]["characters"] == 6 + 2 * 5
    pq.write_table(pa.Table.from_pylist(rows).select(SCHEMA.names), file)
    assert rows_of(open_pool(file)) == rows


@pytest.mark.skipif(not real(), reason="the real traces are absent")
def test_real_files():
    path = next(path for path in real() if path.stem == "extras_mit")
    pool = open_pool(path)
    texts = pq.read_table(path, columns=["response"])["response"].to_pylist()
    rows = rows_of(pool, 500, ["id", "span", "reasoning", "answer", "row"])
    found = [(row["span"], row["reasoning"], row["answer"]) for row in rows]
    assert found == [tuple(find(text)) for text in texts]
    assert [row["row"] for row in rows] == list(range(len(texts)))


def test_what_cannot_be_asked_for(pools):
    pool = pools["plain", "jsonl"]
    [part] = pool.parts()
    with pytest.raises(UserError, match="at least 1, got 0"):
        pool.parts(0)
    with pytest.raises(UserError, match=r"columns must be among id, .*, got texts"):
        next(pool.read(part, ["id", "texts"]))
    with pytest.raises(UserError, match=r"must be among .*, got none"):
        next(pool.read(part, []))
    with pytest.raises(UserError, match="other is no file of this pool"):
        next(pool.read(Part(0, "other", 0, 1)))


def test_a_file_that_shrinks_is_noticed(tmp_path):
    path = tmp_path / "pool.jsonl"
    WRITERS["jsonl"](path, PLAIN)
    pool = open_pool(path)
    WRITERS["jsonl"](path, PLAIN[:30])
    with pytest.raises(UserError, match="was changed after it was looked over"):
        list(pool.read(pool.parts()[0]))


def test_the_schema_is_the_canonical_one_and_more():
    long = [f.name for f in STREAM_SCHEMA if f.type == pa.large_string()]
    assert long == ["prompt", "response", "meta", "reasoning", "answer"]
    assert STREAM_SCHEMA.names[:13] == SCHEMA.names
