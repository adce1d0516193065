"""Every rule by hand, the testbeds of the paper; a stream is judged as a table is."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_cases import ASKED, chat

from routejax.errors import UserError
from routejax.pools import (
    REJECTED_SCHEMA,
    RULES,
    TESTBEDS,
    Memory,
    columns_for,
    eligible,
    judge,
    open_pool,
    rejected_rows,
    rejection_counts,
    unreadable_rows,
)
from routejax.traces import Trace, to_table

DONE = "<think>So.</think> \\boxed{4}"


def failing(rule, *rows):
    """The positions of the rows that the rule rejects."""
    base = {"prompt_id": "p", "prompt": "Q", "response": DONE}
    traces = [Trace(**{**base, "id": f"{i}", **row}) for i, row in enumerate(rows)]
    kept, rejected = eligible(to_table(traces), [rule])
    assert len(kept) + len(rejected) == len(rows)
    assert set(rejected["rule"].to_pylist()) <= {rule}
    return rejected["row"].to_pylist()


def test_non_empty():
    blank = [{"prompt": text} for text in ("", " \n", "\x1c", "\u2003", "\u3000 ")]
    blank += [{"response": row["prompt"]} for row in blank]
    filled = [{"prompt": text} for text in ("x", " é ", "答", "\u200b", "\x00")]
    assert failing("non_empty", *filled, *blank) == list(range(5, 15))


def test_verified():
    assert failing("verified", {"verified": True}, {"verified": False}, {}) == [1, 2]


def test_complete_span():
    texts = [
        *(DONE, "So.</think>4", "think\nSo.\nanswer\n4", "x <think>So.</think>4"),
        *("<think>So.", "So.", "<think></think>4", "<think>So.</think> "),
        "<think>A</think><think>B</think>4",
    ]
    rows = [{"response": text} for text in texts]
    assert failing("complete_span", *rows) == [4, 5, 6, 7, 8]
    assert failing("complete_reasoning", *rows) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_boxed_answer():
    found = ["\\boxed{4}", "is $\\boxed { \\frac12 }$", "\\boxed{}\\boxed{5}"]
    missing = ["4", "\\boxed{}", "\\boxed{ \n}", "boxed{4}", "\\fbox{4}"]
    rows = [{"response": text} for text in (*found, *missing)]
    assert failing("boxed_answer", *rows) == [3, 4, 5, 6, 7]


def test_usable_steps():
    lists = [["setup"], ["a", "b"], None, [], ["a", " "], [""]]
    assert failing("usable_steps", *({"steps": steps} for steps in lists)) == [
        *range(2, 6)
    ]


def test_turns_and_characters_over_all_messages():
    def meta(*turns):
        return {"meta": json.dumps({"routejax_turns": turns})}

    system, user = chat("system", "S" * 9), chat("user", "more")
    rows = [{}, meta(system), meta(user), meta(chat("assistant", "a")), meta(system)]
    assert failing("single_turn", *rows) == [2, 3]
    edge = 50_000 - len("Q")
    rows = [
        *({"response": "é" * edge}, {"response": "x" * (edge + 1)}),
        {"response": "x" * (edge - 9), **meta(system)},
        {"response": "x" * (edge - 8), **meta(system)},
    ]
    assert failing("at_most_50000_characters", *rows) == [1, 3]


def test_the_first_of_equal_responses_is_kept():
    rows = [{"response": text} for text in ("a", "b", "a", "a ", "b", "a")]
    assert failing("distinct_response", *rows) == [2, 4, 5]


def test_eight_per_prompt():
    rows = [{"prompt_id": "pq"[i % 3 == 0]} for i in range(15)]
    # p stands at 1, 2, 4, 5, 7, 8, 10, 11, 13, 14, and q five times
    assert failing("at_most_8_per_prompt", *rows) == [13, 14]


def test_a_counting_rule_counts_what_passed_before_it():
    rows = [
        Trace(id=f"{i}", prompt_id="p", prompt="Q", response="a", verified=ok)
        for i, ok in enumerate((False, True, True, False))
    ]
    _, rejected = eligible(to_table(rows), ["verified", "distinct_response"])
    assert rejection_counts(rejected, ["verified", "distinct_response"]) == {
        "verified": 2,
        "distinct_response": 1,
    }
    _, rejected = eligible(to_table(rows), ["distinct_response", "verified"])
    assert rejected["rule"].to_pylist() == ["verified", *["distinct_response"] * 3]


def test_the_testbeds_of_the_paper():
    released = {"openthoughts3", "intellect3", "nemotron_cascade2"}
    assert {*TESTBEDS} - released == {
        *("rlve", "omega", "dolci", "single_teacher", "sokoban")
    }
    for name, rules in TESTBEDS.items():
        assert rules[0] == "non_empty"
        assert ("verified" in rules) is (name not in released)
        assert ({"single_turn", "complete_span"} <= {*rules}) is (name in released)
    assert TESTBEDS["omega"][-1] == "distinct_response"
    assert RULES["distinct_response"].at_most == 1
    assert RULES["at_most_8_per_prompt"].at_most == 8
    assert "at_most_50000_characters" in TESTBEDS["nemotron_cascade2"]


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "response": st.sampled_from(
                ["", DONE, "So.</think>4", "4", "<think>So.</think>5", "x" * 50_000]
            ),
            "prompt": st.sampled_from(["Q", " ", "P"]),
            "prompt_id": st.sampled_from("ab"),
            "verified": st.sampled_from([True, True, False, None]),
            "steps": st.sampled_from([None, ["a"], [], [" "]]),
        }
    ),
    min_size=1,
    max_size=30,
)


@given(rows=ROWS, name=st.sampled_from(sorted(TESTBEDS)), size=st.integers(1, 30))
@settings(deadline=None, max_examples=40)
def test_a_stream_is_judged_as_a_table(tmp_path_factory, rows, name, size):
    rules = TESTBEDS[name]
    table = to_table([Trace(id=f"{i}", **row) for i, row in enumerate(rows)])
    path = tmp_path_factory.mktemp("p") / "pool.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    pool = open_pool(path)
    columns = columns_for(rules)
    batches = [b.rows for part in pool.parts(size) for b in pool.read(part, columns)]
    # any worker may judge them in any order; only settling needs that of the pool
    verdicts = [judge(batch, rules) for batch in reversed(batches)][::-1]
    memory = Memory(rules)
    settled = [memory.settle(one) for one in verdicts]
    rejected = pa.concat_tables(
        rejected_rows(batch, failed, rules, "pool.arrow")
        for batch, failed in zip(batches, settled, strict=True)
    )
    kept, expected = eligible(table, rules)
    assert rejected.drop_columns("file").equals(expected.drop_columns("file"))
    assert set(rejected["file"].to_pylist()) <= {"pool.arrow"}
    passing = [
        key
        for batch, failed in zip(batches, settled, strict=True)
        for key, rule in zip(batch["id"].to_pylist(), failed, strict=True)
        if rule < 0
    ]
    assert passing == kept["id"].to_pylist()


def test_released_messages_to_rejected_rows(tmp_path):
    good = [ASKED, chat("assistant", DONE)]
    talks = [good, good[:1], [*good, *good], [chat("system", "S"), *good], "[", good]
    path = tmp_path / "pool.jsonl"
    path.write_text("".join(json.dumps({"messages": t}) + "\n" for t in talks))
    rules, pool = TESTBEDS["openthoughts3"], open_pool(path)
    [batch] = pool.read(pool.parts()[0], columns_for(rules))
    failed = Memory(rules).settle(judge(batch.rows, rules))
    rejected = pa.concat_tables(
        [
            unreadable_rows(batch.unreadable, "pool.jsonl"),
            rejected_rows(batch.rows, failed, rules, "pool.jsonl"),
        ]
    )
    assert rejected.schema.equals(REJECTED_SCHEMA)
    assert rejected.select(["row", "rule"]).to_pylist() == [
        {"row": 1, "rule": "unreadable/no_response"},
        {"row": 4, "rule": "unreadable/json"},
        {"row": 2, "rule": "single_turn"},
    ]
    assert rejected["id"].to_pylist()[:2] == ["pool.jsonl:1", "pool.jsonl:4"]
    assert rejection_counts(rejected, rules) == {
        **{"non_empty": 0, "single_turn": 1, "complete_span": 0},
        **{"unreadable/json": 1, "unreadable/no_response": 1},
    }
    assert batch.rows.num_rows == 4


def test_unknown_rules_are_refused():
    with pytest.raises(UserError, match=r"among non_empty, .*, got tidy"):
        columns_for(["tidy"])
    with pytest.raises(UserError, match=r"among non_empty, .*, got tidy"):
        judge(pa.RecordBatch.from_pydict({"id": ["a"]}), ["tidy"])
