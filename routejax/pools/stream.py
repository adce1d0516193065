"""What a pool streams: record batches of one schema, and the rows it could not read.

The canonical columns, with `large_string` where a text may be long, and beyond them:
`span`, `reasoning` and `answer` (see `routejax.spans`); `turns`, the user and assistant
turns of the conversation; `characters`, the code points of all its messages; `row`, the
number of the input row in its file, from 0. Several solutions of one input row share
its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from routejax.errors import UserError
from routejax.pools import found
from routejax.pools.rows import Solution
from routejax.traces import SCHEMA

_LONG = ("prompt", "response", "meta")
STREAM_SCHEMA = pa.schema(
    [
        *(
            field.with_type(pa.large_string()) if field.name in _LONG else field
            for field in SCHEMA
        ),
        pa.field("span", found.STATE, nullable=False),
        pa.field("reasoning", pa.large_string(), nullable=False),
        pa.field("answer", pa.large_string(), nullable=False),
        pa.field("turns", pa.int32(), nullable=False),
        pa.field("characters", pa.int64(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
    ]
)
SPAN_COLUMNS = ("span", "reasoning", "answer")


class Unreadable(NamedTuple):
    """A row that is not in the stream: which, by what rule, and why in words.

    `id` is its own, or the file's name and the row's number where it has none.
    """

    id: str
    row: int
    rule: str
    reason: str


class Batch(NamedTuple):
    """Rows with the columns asked for, and the rows in between that are unreadable."""

    rows: pa.RecordBatch
    unreadable: list[Unreadable]


def schema_of(columns: Sequence[str] | None) -> pa.Schema:
    """The part of `STREAM_SCHEMA` with these columns, in its order.

    Raises:
        UserError: no column, or one that does not exist.
    """
    if columns is None:
        return STREAM_SCHEMA
    unknown = [name for name in columns if name not in STREAM_SCHEMA.names]
    if unknown or not columns:
        raise UserError(
            f"columns must be among {', '.join(STREAM_SCHEMA.names)}, "
            f"got {', '.join(unknown) or 'none'}"
        )
    return pa.schema([field for field in STREAM_SCHEMA if field.name in columns])


def as_batch(made: Sequence[tuple[int, Solution]], schema: pa.Schema) -> pa.RecordBatch:
    """Solutions with their row numbers as one batch with this schema.

    Raises:
        UnicodeEncodeError: half of a surrogate pair in a text.
    """
    values: dict[str, Iterable[Any]] = {
        name: [getattr(one.trace, name) for _, one in made] for name in SCHEMA.names
    }
    values["turns"] = [one.turns for _, one in made]
    values["characters"] = [one.characters for _, one in made]
    values["row"] = [row for row, _ in made]
    spans = {}
    if set(SPAN_COLUMNS) & set(schema.names):
        spans = dict(zip(SPAN_COLUMNS, _spans(made), strict=True))
    arrays = [
        spans[field.name]
        if field.name in spans
        else pa.array(values[field.name], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _spans(made: Sequence[tuple[int, Solution]]) -> found.Found:
    """Known spans are taken; the responses of the other rows are searched together."""
    known = [one.span for _, one in made]
    searched = [one.trace.response for _, one in made if one.span is None]
    if not searched:
        return found.column([span for span in known if span])
    there = found.find_all(pa.array(searched, pa.large_string()))
    if len(searched) == len(made):
        return there
    rest = iter(zip(*(array.to_pylist() for array in there), strict=True))
    return found.column([span or next(rest) for span in known])
