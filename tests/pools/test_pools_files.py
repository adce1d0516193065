"""A bad file is refused before any work; a bad row comes out beside the good ones."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pool_files import WRITERS, write_all

from routejax.errors import UserError
from routejax.pools import open_pool
from routejax.pools.paths import find_files

ROWS = [
    {"id": f"r{i}", "prompt": f"{i}?", "response": f"<think>{i}</think>é{i} " * 3}
    for i in range(300)
]


def read(path, columns=None):
    pool = open_pool(path)
    batches = [b for part in pool.parts(64) for b in pool.read(part, columns)]
    rows = [row for batch in batches for row in batch.rows.to_pylist()]
    return rows, [bad for batch in batches for bad in batch.unreadable]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_that_was_cut_off_is_refused(tmp_path, kind):
    path = tmp_path / f"pool.{kind}"
    WRITERS[kind](path, ROWS)
    whole = path.read_bytes()
    for end in (1, 9, len(whole) // 2, len(whole) - 9):
        path.write_bytes(whole[:end])
        with pytest.raises(UserError, match=r"pool\.") as caught:
            open_pool(path)
        assert str(path) in str(caught.value)
    path.write_bytes(b"")
    with pytest.raises(UserError, match=r"is empty \(0 bytes\)"):
        open_pool(path)


def test_damage_in_compressed_lines_is_refused(tmp_path):
    path = tmp_path / "pool.jsonl.gz"
    rng = np.random.default_rng(0)
    noise = [{**row, "noise": rng.bytes(40).hex()} for row in ROWS]
    text = gzip.compress("".join(json.dumps(row) + "\n" for row in noise).encode())
    for at in range(2000, len(text), 3001):
        path.write_bytes(text[:at] + bytes([text[at] ^ 8]) + text[at + 1 :])
        with pytest.raises(UserError, match=r"pool\.jsonl\.gz"):
            open_pool(path)


def test_damage_in_parquet_is_refused_when_it_is_met(tmp_path):
    path = tmp_path / "pool.parquet"
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, path, write_page_checksum=True, compression="none")
    whole = path.read_bytes()
    at = whole.index(b"<think>77</think>")
    path.write_bytes(whole[:at] + b"#" + whole[at + 1 :])
    with pytest.raises(UserError, match=r"pool\.parquet is damaged or cut off"):
        read(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}\n[1, 2]\n{"a": 1}\n', r"line 2: every .* got '\[1, 2\]'"),
        ('\n{"a": 1}\n\n{"a": \n', r"""line 4: every line .*, got '{"a": '"""),
        ('[{"prompt": "Q"}]', "line 1: every line .*, but this is a JSON array; write"),
        ("prompt,response\nQ,A\n", "line 1: .* got 'prompt,response'"),
        ("\n \r\n", "has no rows"),
        (
            '{"prompt": 1}\n',
            "not a pool: it has prompt; wanted are canonical: prompt, r",
        ),
        ("{nothing}\n", "not a pool: it has none; wanted are"),
    ],
)
def test_lines_that_are_no_pool(tmp_path, text, words):
    path = tmp_path / "pool.jsonl"
    path.write_text(text, newline="")
    with pytest.raises(UserError, match=words):
        open_pool(path)


def test_tables_that_are_no_pool(tmp_path):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"a": [1], "text": ["x"]}), path)
    with pytest.raises(
        UserError, match=r"pool\.parquet is not a pool: it has a, text; w"
    ):
        open_pool(path)
    pq.write_table(pa.table([["x"], ["y"]], ["id", "id"]), path)
    with pytest.raises(UserError, match="has columns twice: id"):
        open_pool(path)
    table = pa.table({"prompt": ["Q"], "response": [1], "verified": ["yes"]})
    pq.write_table(table, path)
    words = r"type: response \(int64, not string\), verified \(string, not bool\)"
    with pytest.raises(UserError, match=words):
        open_pool(path)
    pq.write_table(pa.Table.from_pylist(ROWS).slice(0, 0), path)
    with pytest.raises(UserError, match="no rows; a pool needs at least one"):
        open_pool(path)


def test_files_are_what_their_names_say(tmp_path):
    for kind in ("parquet", "arrow", "jsonl.gz", "jsonl.zst"):
        path = tmp_path / f"pool.{kind}"
        WRITERS["jsonl"](path, ROWS)
        with pytest.raises(UserError, match="is not what its name says"):
            open_pool(path)
    plain = tmp_path / "pool"
    for kind, write in WRITERS.items():
        write(plain, ROWS)
        assert len(read(plain)[0]) == 300, kind


def test_paths(tmp_path):
    (tmp_path / "a").mkdir()
    files = write_all(tmp_path / "a", ROWS)
    (tmp_path / "a" / "state.json").write_text("{}")
    (tmp_path / "a" / ".hidden.jsonl").write_text("{}")
    (tmp_path / "a" / "b").mkdir()
    WRITERS["jsonl"](tmp_path / "a" / "b" / "z.jsonl", ROWS[:3])
    everything = tuple(sorted(map(str, [*files.values(), tmp_path / "a/b/z.jsonl"])))
    assert find_files(tmp_path).files == everything
    assert find_files([tmp_path / "a", *reversed(everything)]).files == everything
    assert find_files(str(tmp_path / "*" / "*.parquet")).files == (
        str(files["parquet"]),
    )
    assert find_files(str(tmp_path / "**" / "z*")).files == (everything[0],)
    assert open_pool(tmp_path).rows == 6 * 300 + 3
    odd = tmp_path / "odd[1].jsonl"
    WRITERS["jsonl"](odd, ROWS)
    assert find_files(odd).files == (str(odd),)
    for paths, words in (
        ([], "no pool was named"),
        (tmp_path / "none.jsonl", r"none\.jsonl does not exist"),
        (str(tmp_path / "*.csv"), "there is no pool file at"),
        (tmp_path / "a" / "c", "does not exist"),
    ):
        with pytest.raises(UserError, match=words):
            find_files(paths)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"in folders these are taken: \*\.parquet, "):
        find_files(tmp_path / "empty")


BAD_LINES = {  # line → rule
    b'{"id": "bad", "prompt": "Q", "response": }': "json",
    b'{"prompt": "Q", "response": "\xff"}': "json",
    b'{"id": "bad", "prompt": "Q", "response": "\\ud83d"}': "not_utf8",
    b'{"id": "bad", "prompt": "Q", "response": null}': "no_response",
    b'{"id": "bad", "prompt": null, "response": "A"}': "no_prompt",
    b'{"id": "bad", "prompt": "Q", "response": ["A"]}': "not_text",
    b'{"id": "bad", "question": "Q"}': "layout",
    b'{"id": "bad", "prompt": "Q", "response": "A", "seed": 1e30}': "type",
    b'{"id": "bad", "prompt": "Q", "response": "A", "steps": [1]}': "type",
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000: "json",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=list(BAD_LINES.values()))
@pytest.mark.parametrize("compressed", [False, True])
def test_one_bad_line_among_good_ones(tmp_path, line, compressed):
    path = tmp_path / "pool.jsonl"
    good = [json.dumps(row).encode() for row in ROWS]
    text = b"\n".join([*good[:70], line, *good[70:]])
    path.write_bytes(gzip.compress(text) if compressed else text)
    rows, [bad] = read(path)
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert [row["row"] for row in rows] == [*range(70), *range(71, 301)]
    whole = b'"bad"' in line and BAD_LINES[line] != "json"
    assert bad.id == ("bad" if whole else "pool.jsonl:70")
    assert (bad.row, bad.rule) == (70, BAD_LINES[line])
    assert bad.reason


def text_column(values, kind):
    """Texts as they are, valid UTF-8 or not."""
    ends = np.cumsum([0, *map(len, values)])
    offsets = ends.astype(np.int64 if kind == pa.large_string() else np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def canonical(kind, **columns):
    names = ("id", "prompt", "response")
    made = {n: text_column([row[n].encode() for row in ROWS], kind) for n in names}
    return pa.table({**made, **columns})


def changed(name, value, kind):
    values = [row[name].encode() for row in ROWS]
    values[70] = value
    return {name: text_column(values, kind)}


def nulled(name, kind):
    return {name: pa.array([None if r is ROWS[70] else r[name] for r in ROWS], kind)}


BAD_VALUES = {
    "response is null": (lambda kind: nulled("response", kind), "no_response"),
    "prompt is null": (lambda kind: nulled("prompt", kind), "no_prompt"),
    "no UTF-8": (lambda kind: changed("response", b"\xff\xfe", kind), "not_utf8"),
    "half a character": (lambda kind: changed("prompt", b"\xc3", kind), "not_utf8"),
    "out of range": (
        lambda _: {"difficulty": pa.array([1] * 70 + [2**31] + [1] * 229)},
        "type",
    ),
    "broken id": (lambda kind: changed("id", b"a\nb", kind), "type"),
    "null step": (lambda _: {"steps": [["a"]] * 70 + [[None]] + [["a"]] * 229}, "type"),
}


@pytest.mark.parametrize("name", BAD_VALUES)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("file", ["parquet", "arrow"])
def test_one_bad_value_among_good_ones(tmp_path, name, kind, file):
    make, rule = BAD_VALUES[name]
    table, path = canonical(kind, **make(kind)), tmp_path / f"pool.{file}"
    if file == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    rows, [bad] = read(path)
    assert [row["row"] for row in rows] == [*range(70), *range(71, 300)]
    assert [row["response"] for row in rows] == [
        row["response"] for row in ROWS if row is not ROWS[70]
    ]
    assert (bad.row, bad.rule) == (70, rule)
    assert bad.id in ("r70", f"pool.{file}:70")
    if rule in ("no_response", "no_prompt"):  # whatever is asked for
        for columns in (["row"], ["id", "group"], ["reasoning", "row"]):
            assert read(path, columns)[1] == [bad]


def test_a_bad_row_in_another_layout_of_a_table(tmp_path):
    talk = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
    rows = [{"messages": talk, "k": i} for i in range(9)]
    rows[4] = {"messages": talk[:1], "k": 4}
    for kind in ("parquet", "arrow", "stream.arrow"):
        path = tmp_path / f"pool.{kind}"
        WRITERS[kind](path, rows)
        good, [bad] = read(path)
        assert [json.loads(row["meta"])["k"] for row in good] == [
            0,
            1,
            2,
            3,
            5,
            6,
            7,
            8,
        ]
        assert (bad.id, bad.row, bad.rule) == (f"pool.{kind}:4", 4, "no_response")


def test_lines_of_other_systems(tmp_path):
    path = tmp_path / "pool.jsonl"
    lines = [json.dumps(row) for row in ROWS[:3]]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\r\n\r\n")
    rows, bad = read(path)
    assert not bad
    assert [row["id"] for row in rows] == ["r0", "r1", "r2"]


def test_a_row_longer_than_any_block(tmp_path):
    long = {**ROWS[0], "response": "x" * 3_000_000}
    for kind, write in WRITERS.items():
        path = tmp_path / f"pool.{kind}"
        write(path, [ROWS[1], long, ROWS[2]])
        rows, _ = read(path, ["response"])
        assert [len(row["response"]) for row in rows] == [
            len(ROWS[1]["response"]),
            3_000_000,
            len(ROWS[2]["response"]),
        ]
        path.unlink()
