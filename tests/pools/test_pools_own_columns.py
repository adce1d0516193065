"""Columns of files that differ become one table that loses no value."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.pools.own_columns import (
    merged,
    own_columns,
    own_rows,
    types_of_rows,
    types_of_schema,
)

ROWS = [
    {"a": 1, "b": "x", "c": {"k": 1}, "d": [], "e": None},
    {"b": 2, "c": {"l": "y"}, "d": [{"m": 1}], "f": 0.5, "g": {}},
    {"a": 3, "b": None, "d": None, "f": 2},
]


def test_lines_of_json_by_hand():
    own = own_columns(types_of_rows(ROWS))
    assert own.schema.names == ["a", "b", "c", "d", "e", "f", "g"]
    assert own.as_json == ("b", "g")
    assert own.schema.field("e").type == pa.string()
    assert own_rows(ROWS, own).to_pylist() == [
        {
            **{"a": 1, "b": '"x"', "c": {"k": 1, "l": None}, "d": []},
            **{"e": None, "f": None, "g": None},
        },
        {
            **{"a": None, "b": "2", "c": {"k": None, "l": "y"}, "d": [{"m": 1}]},
            **{"e": None, "f": 0.5, "g": "{}"},
        },
        {
            **{"a": 3, "b": None, "c": None, "d": None},
            **{"e": None, "f": 2.0, "g": None},
        },
    ]


# Types in two files → the type of both, None for JSON text.
PAIRS = {
    "same": (pa.int64(), pa.int64(), pa.int64()),
    "wider": (pa.int32(), pa.int64(), pa.int64()),
    "with nulls": (pa.int64(), pa.float64(), pa.float64()),
    "long text": (pa.string(), pa.large_string(), pa.large_string()),
    "nothing": (pa.null(), pa.string(), pa.string()),
    "coded": (pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.string()),
    "number and text": (pa.int64(), pa.string(), None),
    "bool and number": (pa.bool_(), pa.int64(), None),
    "lists": (pa.list_(pa.int64()), pa.list_(pa.string()), None),
}


@pytest.mark.parametrize("what", PAIRS)
def test_types_of_two_files(what):
    one, other, wanted = PAIRS[what]
    for pair in ((one, other), (other, one)):
        types = merged({"x": kind} for kind in pair)
        assert types["x"] == wanted
        own = own_columns(types)
        for kind in pair:
            batch = pa.record_batch({"x": pa.nulls(2, kind)})
            assert own_rows(batch, own)["x"].to_pylist() == [None, None]


def test_a_type_that_parquet_does_not_know_becomes_text():
    kind = pa.month_day_nano_interval()
    batch = pa.record_batch({"x": pa.array([(1, 2, 3), None], kind)})
    own = own_columns(types_of_schema(batch.schema))
    assert own.as_json == ("x",)
    first, second = own_rows(batch, own)["x"].to_pylist()
    assert json.loads(first)
    assert second is None


def test_half_of_a_surrogate_pair_is_escaped():
    own = own_columns(types_of_rows([{"x": "\ud800"}]))
    assert own_rows([{"x": "\ud800"}], own)["x"].to_pylist() == ['"\\ud800"']


def test_numbers_beyond_64_bits():
    own = own_columns(types_of_rows([{"x": 2**70}]))
    assert own_rows([{"x": 2**70}], own)["x"].to_pylist() == [str(2**70)]


def test_a_number_that_the_common_type_cannot_hold():
    own = own_columns(merged([{"x": pa.int64()}, {"x": pa.float64()}]))
    batch = pa.record_batch({"x": pa.array([2**53 + 1])})
    with pytest.raises(
        UserError, match="column 'x' of the pool has a value that is no"
    ):
        own_rows(batch, own)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from("kl"), inner, max_size=2)
    ),
    max_leaves=4,
)


ROW = st.fixed_dictionaries({"a": VALUES}, optional={"b": VALUES, "c": VALUES})


@given(st.lists(ROW, min_size=1, max_size=6))
def test_no_value_is_lost(rows):
    """In pieces as in one; objects may gain keys without a value."""
    own = own_columns(merged([types_of_rows(rows[:2]), types_of_rows(rows[2:])]))
    for row, made in zip(rows, own_rows(rows, own).to_pylist(), strict=True):
        for name, value in made.items():
            found = value
            if name in own.as_json and value is not None:
                found = json.loads(value)
            assert without_nulls(found) == without_nulls(row.get(name))


def without_nulls(value):
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None} or None
    if isinstance(value, list):
        return [without_nulls(v) for v in value]
    return value
