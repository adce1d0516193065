"""Canonical columns → stream batches without a Python object per row.

Only for batches in which nothing is amiss: a missing id, a null where none may be, text
that is not UTF-8 or a number out of range sends the whole batch to the reader of single
rows, which gives the same rows and names the bad ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from routejax.errors import UserError
from routejax.pools.found import find_all
from routejax.pools.rows import (
    OTHER_TURNS,
    count_characters,
    count_turns,
    other_turns,
)
from routejax.pools.stream import SPAN_COLUMNS, STREAM_SCHEMA
from routejax.traces import SCHEMA, content_id

# Columns of a file that each column of the stream is made from, beside itself.
_FROM: dict[str, tuple[str, ...]] = {
    **{name: ("response",) for name in SPAN_COLUMNS},
    "turns": ("meta",),
    "characters": ("prompt", "response", "meta"),
}
_DEFAULTS = {"group": "all", "meta": "{}"}


def columns_to_read(
    wanted: Sequence[str], there: Collection[str], complete: Collection[str]
) -> list[str]:
    """The columns of a file that a stream with the columns `wanted` needs.

    Rows without prompt or response are unreadable whatever is wanted, and a missing id
    is made from content. So these columns are read too, except where the file itself
    says that they are `complete`.
    """
    needed = {name for want in wanted for name in (want, *_FROM.get(want, ()))}
    needed |= {"id"} | ({"prompt", "response"} - {*complete})
    if "id" not in complete:
        needed |= {"prompt", "response", "source"}
    if "prompt_id" in wanted and "prompt_id" not in complete:
        needed |= {"prompt"}
    return [name for name in SCHEMA.names if name in needed and name in there]


def check_types(schema: pa.Schema, where: str) -> None:
    """Nothing comes out.

    Raises:
        UserError: a column whose type cannot be the canonical one.
    """
    wrong = [
        f"{field.name} ({field.type}, not {SCHEMA.field(field.name).type})"
        for field in schema
        if not _can_be(field.name, field.type)
    ]
    if wrong:
        raise UserError(
            f"{where} is not a pool: it has columns of another type: "
            f"{', '.join(wrong)}; write them with that type, or under names that are "
            "none of a pool's"
        )


def read_clean(
    batch: pa.RecordBatch, first: int, schema: pa.Schema
) -> pa.RecordBatch | None:
    """The batch with this schema, None if a row needs a look at itself.

    `first` is the number of its first row in the file.
    """
    try:
        made = {
            name: _cast(batch.column(name), STREAM_SCHEMA.field(name).type)
            for name in batch.schema.names
        }
    except pa.ArrowException:
        return None
    if not _is_clean(made):
        return None
    wanted, rows = schema.names, batch.num_rows
    if "prompt_id" in wanted and "prompt_id" not in made:
        hashes = [content_id("prompt", text) for text in made["prompt"].to_pylist()]
        made["prompt_id"] = pa.array(hashes)
    for name, default in _DEFAULTS.items():
        filled = made[name].fill_null(default) if name in made else None
        made[name] = filled if filled is not None else pa.repeat(default, rows)
    made |= beyond(made, wanted)
    made["row"] = pa.array(np.arange(first, first + rows))
    arrays = [
        made[field.name].cast(field.type)
        if field.name in made
        else pa.nulls(rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def beyond(
    columns: Mapping[str, pa.Array], wanted: Collection[str]
) -> dict[str, pa.Array]:
    """Columns of the stream that canonical rows do not have, made from theirs."""
    made = {}
    if {*SPAN_COLUMNS} & {*wanted}:
        made |= zip(SPAN_COLUMNS, find_all(columns["response"]), strict=True)
    if {"turns", "characters"} & {*wanted}:
        made |= _conversations(columns, wanted)
    return made


def _can_be(name: str, given: pa.DataType) -> bool:
    """Whether values of this type can be cast to those of the canonical column."""
    wanted = SCHEMA.field(name).type
    if pa.types.is_dictionary(given):
        given = given.value_type
    if pa.types.is_null(given) or given.equals(wanted):
        return True
    number = pa.types.is_integer(given)
    if pa.types.is_integer(wanted):
        return number or pa.types.is_floating(given)
    if pa.types.is_list(wanted):
        lists = pa.types.is_list(given) or pa.types.is_large_list(given)
        return lists and (_is_text(given.value_type) or given.value_type == pa.null())
    if pa.types.is_boolean(wanted):
        return False
    return _is_text(given) or (number and name not in ("prompt", "response", "meta"))


def _is_text(given: pa.DataType) -> bool:
    return given in (pa.string(), pa.large_string(), pa.string_view())


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The column with this type, every text in it valid UTF-8.

    Raises:
        pa.ArrowException: a value that this type cannot hold.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    column.validate(full=True)
    return column.cast(wanted)


def _is_clean(columns: dict[str, pa.Array]) -> bool:
    """Whether ids are there and of one line, and nothing is null that may not be."""
    if "id" not in columns:
        return False
    for name in ("id", "prompt_id", "prompt", "response"):
        if name in columns and columns[name].null_count:
            return False
    for name in ("id", "prompt_id"):
        if name in columns and _odd(columns[name]):
            return False
    return "steps" not in columns or not columns["steps"].flatten().null_count


def _odd(ids: pa.Array) -> bool:
    """Whether an id is blank or of several lines."""
    blank = pc.call_function("equal", [ids, pa.scalar("", ids.type)])
    options = pc.MatchSubstringOptions(r"[\r\n]")
    broken = pc.call_function("match_substring_regex", [ids], options)
    return bool(blank.true_count or broken.true_count)


def _conversations(
    made: Mapping[str, pa.Array], wanted: Collection[str]
) -> dict[str, pa.Array]:
    """Columns `turns` and `characters`; other turns than two stand in `meta`."""
    rows = len(made["meta"])
    turns, extra = np.full(rows, 2, np.int32), np.zeros(rows, np.int64)
    options = pc.MatchSubstringOptions(OTHER_TURNS)
    more = pc.call_function("match_substring", [made["meta"]], options)
    for row in np.flatnonzero(more):
        others = other_turns(made["meta"][int(row)].as_py())
        turns[row], extra[row] = count_turns(others), count_characters(others)
    if "characters" in wanted:
        for name in ("prompt", "response"):
            extra += pc.call_function("utf8_length", [made[name]]).to_numpy()
    return {"turns": pa.array(turns), "characters": pa.array(extra)}
