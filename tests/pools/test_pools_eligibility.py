"""Every row is either eligible or rejected by its first failing rule, by name."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.pools import (
    REJECTED_SCHEMA,
    RULES,
    TESTBEDS,
    eligible,
    rejection_counts,
)
from routejax.traces import SCHEMA, Trace, to_table

GOOD = "<think>so</think> 4"
CASES = [  # response, prompt, verified, the first RLVE rule that it fails
    (GOOD, "q", True, None),
    ("", "q", True, "non_empty"),
    (" \n\u2003", "q", False, "non_empty"),
    (GOOD, " ", True, "non_empty"),
    (GOOD, "q", False, "verified"),
    (GOOD, "q", None, "verified"),
    ("no span", "q", False, "verified"),
    ("no span", "q", True, "complete_reasoning"),
    ("<think>open", "q", True, "complete_reasoning"),
    ("<think> </think> 4", "q", True, "complete_reasoning"),
    ("<think>so</think> \n", "q", True, "complete_reasoning"),
    ("<think>a</think><think>b</think> 4", "q", True, "complete_reasoning"),
    ("so</think> 4", "q", True, "complete_reasoning"),
]


def table_of(cases):
    return to_table(
        Trace(id=f"{i}", prompt_id="p", prompt=prompt, response=text, verified=ok)
        for i, (text, prompt, ok, _) in enumerate(cases)
    )


def test_the_rules_of_rlve():
    kept, rejected = eligible(table_of(CASES), TESTBEDS["rlve"])
    assert kept["id"].to_pylist() == ["0"]
    assert rejected.schema.equals(REJECTED_SCHEMA)
    assert rejected.to_pylist() == [
        {
            **{"id": f"{i}", "row": i, "rule": rule, "file": None},
            "reason": RULES[rule].reason,
        }
        for i, (_, _, _, rule) in enumerate(CASES)
        if rule
    ]
    assert rejection_counts(rejected, TESTBEDS["rlve"]) == {
        "non_empty": 3,
        "verified": 3,
        "complete_reasoning": 6,
    }


@given(st.lists(st.sampled_from(CASES), max_size=20), st.integers(0, 20))
@settings(deadline=None, max_examples=50)
def test_no_row_disappears(cases, cut):
    table = table_of(cases)
    table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    kept, rejected = eligible(table, TESTBEDS["rlve"])
    assert kept.schema.equals(SCHEMA)
    both = kept["id"].to_pylist() + rejected["id"].to_pylist()
    assert sorted(both, key=int) == table["id"].to_pylist()
    assert rejected["rule"].to_pylist() == [case[3] for case in cases if case[3]]
    for row_id, row in zip(rejected["id"], rejected["row"], strict=True):
        assert table["id"][row.as_py()] == row_id


def test_rules_are_asked_in_the_order_given():
    table = table_of([("no span", "q", False, None)])
    for rules in (
        ["verified", "complete_reasoning"],
        ["complete_reasoning", "verified"],
    ):
        _, rejected = eligible(table, rules)
        assert rejected["rule"].to_pylist() == rules[:1]
        assert rejection_counts(rejected, rules) == {rules[0]: 1, rules[1]: 0}
    kept, rejected = eligible(table, [])
    assert (len(kept), len(rejected)) == (1, 0)


def test_the_tables_agree():
    assert {name for rules in TESTBEDS.values() for name in rules} <= set(RULES)
    assert all(rule.reason for rule in RULES.values())
    with pytest.raises(UserError, match=r"among non_empty, .*, got tidy"):
        eligible(table_of(CASES), ["verified", "tidy"])
