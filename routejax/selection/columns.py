"""Columns of text as Arrow arrays: checked, ordered, counted by value.

Two million ids are sorted in about a second and never become Python objects.
"""

# pyarrow.compute makes its functions when it is imported.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from routejax.errors import UserError

Column = Sequence[Any] | pa.Array | pa.ChunkedArray  # entries: see `texts`


def texts(name: str, column: Column) -> pa.LargeStringArray:
    """The column as one Arrow array of texts.

    Args:
        name: of the column, for messages.
        column: texts in a list or tuple, or an Arrow array of any kind of string.

    Raises:
        UserError: an entry that is no text, with its row.
    """
    try:
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if isinstance(column, pa.Array):
            found = column.cast(pa.large_string())
        else:
            found = pa.array(column, pa.large_string())
    except (pa.ArrowException, UnicodeEncodeError, TypeError) as error:
        raise UserError(f"{name} must be texts in UTF-8; {_culprit(column)}") from error
    if found.null_count:
        row = found.is_null().index(True).as_py()
        raise UserError(f"{name} must be texts, got None in row {row}")
    return found


def _culprit(column: Column) -> str:
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return f"got an array of {column.type}"
    for row, value in enumerate(column):
        try:
            value.encode()
        except (AttributeError, UnicodeEncodeError):
            return f"got {value!r} in row {row}"
    return f"got {column!r:.80}"


def taken(
    column: pa.LargeStringArray, rows: Int64[np.ndarray, "n"]
) -> pa.LargeStringArray:
    """The texts of these rows, in this order."""
    return column.take(pa.array(rows))


def order_of_ids(ids: pa.LargeStringArray) -> Int64[np.ndarray, "N"]:
    """Positions that put the ids in order of their UTF-8 bytes, that is by code point.

    Raises:
        UserError: an id that is empty, holds a line break, or occurs twice.
    """
    lines = pc.or_(pc.match_substring(ids, "\n"), pc.match_substring(ids, "\r"))
    odd = pc.or_(lines, pc.equal(pc.binary_length(ids), 0))
    if (row := odd.index(True).as_py()) >= 0:
        name = ids[row].as_py()
        raise UserError(
            f"ids must be texts of one line, got {name!r} in row {row}; rename it"
        )
    order = pc.sort_indices(ids).to_numpy().astype(np.int64)
    in_order = ids.take(pa.array(order))
    twice = (
        pc.equal(in_order[1:], in_order[:-1]).index(True).as_py() if order.size else -1
    )
    if twice >= 0:
        before, after = sorted(order[twice : twice + 2].tolist())
        raise UserError(
            f"ids must be unique, {ids[after].as_py()!r} stands in rows {before} and "
            f"{after}; make the ids differ or leave one row out"
        )
    return order


def coded(
    column: pa.LargeStringArray,
) -> tuple[list[str], Int64[np.ndarray, "N"]]:
    """The distinct texts in order, and the number of each row's among them."""
    encoded = column.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return [names[i] for i in order], rank[encoded.indices.to_numpy()]


def earlier(codes: Int64[np.ndarray, "N"]) -> Int64[np.ndarray, "N"]:
    """How many rows before each row have the same code."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    seen = np.empty(len(codes), np.int64)
    seen[order] = np.arange(len(codes)) - starts
    return seen


def members(codes: Int64[np.ndarray, "N"], count: int) -> list[Int64[np.ndarray, "m"]]:
    """The rows of each code 0..count-1, ascending."""
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=count))
    return np.split(order, ends[:-1]) if count else []
