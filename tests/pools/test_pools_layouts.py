"""Every layout of the table is recognised, read alike from any file, loses nothing."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from layout_cases import ASKED, CASES, THOUGHT, chat
from trace_cases import layouts

from routejax.errors import UserError
from routejax.pools import LAYOUTS, open_pool
from routejax.pools.recognition import recognise
from routejax.traces import content_id


def write(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path, **settings):
    pool = open_pool(path, **settings)
    batches = [batch for part in pool.parts() for batch in pool.read(part)]
    rows = [row for batch in batches for row in batch.rows.to_pylist()]
    return rows, [bad for batch in batches for bad in batch.unreadable]


def check(rows, expected):
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        given = {**row, "meta": json.loads(row["meta"])}
        assert {name: given[name] for name in wanted} == wanted


def test_every_layout_has_a_case():
    assert list(CASES) == list(LAYOUTS)
    assert all(layout.what for layout in LAYOUTS.values())


@pytest.mark.parametrize("name", CASES)
def test_a_layout_is_recognised_and_read(tmp_path, name):
    case = CASES[name]
    assert recognise(case.row) == name
    rows, bad = read(write(tmp_path / "a.jsonl", [case.row]))
    assert not bad
    check(rows, case.expected)
    named, _ = read(tmp_path / "a.jsonl", layout=name)
    typed, _ = read(write(tmp_path / "a.parquet", [case.row, case.row]))
    assert named == rows
    again = [{**row, "row": 1} for row in rows]
    assert typed == rows + again


def test_layouts_may_be_mixed_in_lines(tmp_path):
    rows, bad = read(write(tmp_path / "a.jsonl", [c.row for c in CASES.values()]))
    assert not bad
    check(rows, [wanted for case in CASES.values() for wanted in case.expected])


def test_a_row_in_an_envelope(tmp_path):
    lines = [{"row_idx": 5, "row": case.row} for case in CASES.values()]
    del lines[0]  # with a column more than the canonical ones it is another layout
    rows, bad = read(write(tmp_path / "a.jsonl", lines))
    assert not bad
    wanted = [one for c in list(CASES.values())[1:] for one in c.expected]
    check(rows, [{k: v for k, v in one.items() if k != "meta"} for one in wanted])
    assert all(json.loads(row["meta"])["row_idx"] == 5 for row in rows)


@pytest.mark.skipif(not layouts(), reason="the published rows are absent")
@pytest.mark.parametrize("path", layouts(), ids=lambda path: path.stem)
def test_published_rows(path):
    rows, bad = read(path)
    assert not bad
    assert rows
    assert all(row["response"].strip() and row["turns"] == 2 for row in rows)
    assert all(row["prompt"] for row in rows if "ollama" not in path.stem)


def test_ids_are_made_from_content(tmp_path):
    row = {"prompt": "2+2?", "response": THOUGHT, "id": "", "source": "m"}
    [made], _ = read(write(tmp_path / "a.jsonl", [row]))
    assert made["id"] == content_id("trace", "m", "2+2?", THOUGHT)
    assert made["prompt_id"] == content_id("prompt", "2+2?")
    [typed], _ = read(write(tmp_path / "a.parquet", [row]))
    assert typed == made


def test_columns_named_by_hand(tmp_path):
    row = {"q": {"text": "2+2?"}, "a": "4", "why": "So.", "topic": "math", "id": 7}
    path = write(tmp_path / "a.jsonl", [row])
    with pytest.raises(
        UserError, match=r"not a pool: it has a, id, q, topic, why; want"
    ):
        open_pool(path)
    by_hand = {"prompt": "q.text", "answer": "a", "reasoning": "why", "group": "topic"}
    [made], _ = read(path, columns=by_hand)
    check([made], [{"id": "7", "group": "math", "span": "field", "answer": "4"}])
    assert json.loads(made["meta"]) == {"q": {}}
    [typed], _ = read(write(tmp_path / "a.parquet", [row]), columns=by_hand)
    assert typed == made


def test_columns_complete_a_layout(tmp_path):
    row = CASES["openthoughts3"].row
    for name in ("a.jsonl", "a.parquet"):
        path = write(tmp_path / name, [row])
        [made], _ = read(path, columns={"source": "source", "difficulty": "difficulty"})
        check([made], [{"source": "questions", "difficulty": 7, "meta": {}}])
        [made], _ = read(
            write(path, [CASES["canonical"].row]), columns={"group": "env"}
        )
        assert made["group"] == "sum"
        assert json.loads(made["meta"])["group"] == "math"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"layout": "dolcy"}, "layout must be auto or one of canonical, .*'dolcy'"),
        ({"columns": {"respons": "x"}}, "fields among id, .*, got 'respons'"),
        (
            {"columns": {"group": "topic"}},
            "'topic', named for 'group', is not there; it",
        ),
        (
            {"layout": "dolci"},
            "it has prompt, response; wanted are dolci: messages, id",
        ),
    ],
)
def test_wrong_names_are_refused(tmp_path, settings, words):
    path = write(tmp_path / "a.jsonl", [{"prompt": "Q", "response": "A"}])
    with pytest.raises(UserError, match=words):
        open_pool(path, **settings)


BAD = {  # message list → rule, reason
    "none": (None, "messages", "must be a list, got None"),
    "no list": ("[1", "json", "no JSON"),
    "no object": ([3], "messages", "must be an object, got 3"),
    "no role": ([{"content": "x"}], "role", "must say its role"),
    "no text": ([chat("user", 5)], "not_text", "content must be text, got 5"),
    "no answer": ([ASKED], "no_response", "no assistant turn"),
    "no question": ([chat("assistant", "4")], "no_prompt", "no user turn"),
    "deep": ("[" * 100_000, "json", "recursion"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_messages_are_one_bad_row(tmp_path, name):
    messages, rule, reason = BAD[name]
    good = {"id": "g", "messages": [ASKED, chat("assistant", THOUGHT)]}
    lines = [good, {"id": "b", "messages": messages}, {**good, "id": "h"}]
    rows, [bad] = read(write(tmp_path / "a.jsonl", lines))
    assert [row["id"] for row in rows] == ["g", "h"]
    assert (bad.id, bad.row, bad.rule) == ("b", 1, rule)
    assert reason in bad.reason


BLOCKS = [
    {"type": "thinking", "thinking": "So."},
    {"type": "text", "text": "4"},
    {"type": "tool_use", "name": "py"},
]


@pytest.mark.parametrize(
    ("message", "reasoning", "answer"),
    [
        ({"content": BLOCKS[:2]}, "So.", "4"),
        ({"content": BLOCKS}, "So.", '4\n\n{"type": "tool_use", "name": "py"}'),
        ({"content": None, "reasoning": "So."}, "So.", ""),
        ({"content": "", "thoughts": "<think>So.</think>"}, "So.", ""),
        ({"content": "<think>other</think>4", "thinking": "So."}, "So.", "4"),
        ({"content": "4", "reasoning_content": BLOCKS[:1]}, "So.", "4"),
        ({"content": ["4"], "reasoning_content": "So."}, "So.", "4"),
    ],
)
def test_content_and_reasoning_in_their_shapes(tmp_path, message, reasoning, answer):
    row = {"messages": [ASKED, {"role": "assistant", **message}]}
    [made], _ = read(write(tmp_path / "a.jsonl", [row]))
    check([made], [{"span": "field", "reasoning": reasoning, "answer": answer}])
    assert made["response"] == f"<think>\n{reasoning}\n</think>\n\n{answer}"


def test_a_blank_reasoning_field_leaves_the_markers(tmp_path):
    message = chat("assistant", THOUGHT, reasoning_content=" ")
    [made], _ = read(write(tmp_path / "a.jsonl", [{"messages": [ASKED, message]}]))
    assert (made["span"], made["response"]) == ("closed", THOUGHT)


def test_nothing_of_a_message_is_lost(tmp_path):
    call = [{"function": {"name": "py", "arguments": "{}"}}]
    turns = [
        *(chat("developer", "S"), ASKED, chat("assistant", None, tool_calls=call)),
        *(chat("tool", "4", name="py"), chat("assistant", THOUGHT, weight=2)),
    ]
    [made], _ = read(write(tmp_path / "a.jsonl", [{"messages": turns}]))
    assert made["turns"] == 3
    assert json.loads(made["meta"]) == {
        "routejax_turns": [
            {"role": "system", "content": "S"},
            {"role": "assistant", "content": "", "tool_calls": call},
            {"role": "tool", "content": "4", "name": "py"},
        ],
        "routejax_assistant": {"weight": 2},
    }
