"""Chosen rows read once more: as they stand, and as conversations."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax import pools
from routejax.errors import UserError
from routejax.pools.originals import read_originals

THOUGHT = "<think>\nWhy.\n</think>\nSo."


def pair(n):
    return {"id": f"r{n}", "question": f"q{n}", "response": f"{THOUGHT} {n}", "x": n}


def write(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
        return path
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(path, wanted, rows=1000):
    """All originals of (row, nth) pairs of the pool's parts, as lists."""
    pool = pools.open_pool(path)
    found = []
    for part in pool.parts(rows):
        here = [(r, k) for r, k in wanted if part.first <= r < part.first + part.rows]
        if here:
            asked = np.array(here, np.int64).T
            found += read_originals(pool, part, asked[0], asked[1])
    own = [one.own for one in found]
    whole = [o.to_pylist() if isinstance(o, pa.RecordBatch) else o for o in own]
    return found, [row for rows in whole for row in rows]


@pytest.mark.parametrize("name", ["p.parquet", "p.jsonl", "p.jsonl.gz"])
def test_rows_as_they_stand(name, tmp_path):
    rows = [pair(n) for n in range(30)]
    path = write(tmp_path / name, rows)
    found, own = read(path, [(0, 0), (7, 0), (8, 0), (29, 0)])
    assert own == [rows[n] for n in (0, 7, 8, 29)]
    assert [name for one in found for name in one.ids] == ["r0", "r7", "r8", "r29"]
    assert [place for one in found for place in one.places] == [0, 1, 2, 3]
    assert found[0].chats[0] == [
        {"role": "user", "content": "q0"},
        {"role": "assistant", "content": f"{THOUGHT} 0"},
    ]
    assert found[0].characters[0] == len("q0") + len(f"{THOUGHT} 0")


@settings(deadline=None, max_examples=25)
@given(st.sets(st.integers(0, 29), min_size=1), st.integers(1, 40))
def test_any_rows_of_any_parts(tmp_path_factory, wanted, rows):
    folder = tmp_path_factory.mktemp("pool")
    everything = [pair(n) for n in range(30)]
    for name in ("p.parquet", "p.jsonl"):
        path = write(folder / name, everything)
        _, own = read(path, [(n, 0) for n in sorted(wanted)], rows)
        assert own == [everything[n] for n in sorted(wanted)]


def test_several_solutions_of_a_row(tmp_path):
    rows = [
        {"problem": f"q{n}", "generations": ["a", "b", "c"], "n": n} for n in (0, 1)
    ]
    path = write(tmp_path / "p.jsonl", [{"id": f"r{r['n']}", **r} for r in rows])
    found, own = read(path, [(0, 1), (1, 0), (1, 2)])
    assert [row["n"] for row in own] == [0, 1, 1]
    assert [name for one in found for name in one.ids] == ["r0/1", "r1/0", "r1/2"]
    assert [c[-1]["content"] for one in found for c in one.chats] == ["b", "a", "c"]


def test_rows_that_are_gone(tmp_path):
    path = write(tmp_path / "p.jsonl", [pair(0), {**pair(1), "question": None}])
    with pytest.raises(UserError, match=r"p\.jsonl: row 1 \(from 0\) was chosen and"):
        read(path, [(0, 0), (1, 0)])
    with pytest.raises(UserError, match=r"row 0 .* cannot be read again"):
        read(path, [(0, 1)])


TURNS = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "first", "reasoning_content": "hm"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "", "tool_calls": [{"f": "g"}]},
    {"role": "tool", "content": "42", "tool_call_id": "c1"},
    {"role": "assistant", "content": THOUGHT},
]
# The messages of a file → those that come out.
CHATS = {
    "system first": (TURNS[:2] + TURNS[6:], [0, 1, 6]),
    "many turns and tools": (TURNS, range(7)),
    "no system": (TURNS[1:2] + TURNS[6:], [1, 6]),
}


@pytest.mark.parametrize("what", CHATS)
@pytest.mark.parametrize("as_text", [False, True])
def test_conversations_keep_their_order(what, as_text, tmp_path):
    messages, wanted = CHATS[what]
    given_as = json.dumps(messages) if as_text else messages
    path = write(
        tmp_path / "p.jsonl", [{"id": "a", "messages": given_as, "domain": "m"}]
    )
    [found], _ = read(path, [(0, 0)])
    whole = [{k: v for k, v in t.items() if k != "reasoning_content"} for t in TURNS]
    whole[2]["content"] = "<think>\nhm\n</think>\n\nfirst"
    assert found.chats == [[whole[n] for n in wanted]]


def test_prompt_and_completion_with_a_system_column(tmp_path):
    row = {"prompt": "q", "completion": [{"role": "assistant", "content": THOUGHT}]}
    path = write(tmp_path / "p.parquet", [{**row, "system": "s"}])
    [found], own = read(path, [(0, 0)])
    assert own == [{**row, "system": "s"}]
    assert [m["role"] for m in found.chats[0]] == ["system", "user", "assistant"]
    assert found.chats[0][0]["content"] == "s"


def test_reasoning_of_its_own_field_is_in_the_turn(tmp_path):
    row = {"question": "q", "reasoning": "hm", "answer": "So."}
    [found], _ = read(write(tmp_path / "p.jsonl", [row]), [(0, 0)])
    assert found.chats[0][-1]["content"] == "<think>\nhm\n</think>\n\nSo."


def test_turns_of_a_canonical_row_come_before_its_prompt(tmp_path):
    kept = [{"role": "user", "content": "one"}, {"role": "system", "content": "s"}]
    meta = json.dumps({"routejax_turns": kept})
    row = {"id": "a", "prompt": "two", "response": THOUGHT, "meta": meta}
    [found], _ = read(write(tmp_path / "p.parquet", [row]), [(0, 0)])
    assert [m["content"] for m in found.chats[0]] == ["s", "one", "two", THOUGHT]
