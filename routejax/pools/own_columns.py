"""The columns of a pool's own files as one table that Parquet can hold.

Files of a pool may differ in their columns, and lines of JSON have no types at all. The
columns of all of them are kept, in order of appearance; a type is widened where Arrow
can do that without loss. A column that has no common type, or one that Parquet does not
know, becomes JSON text: every value is still there, and the column is named.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from routejax.errors import UserError
from routejax.pools.values import plain

# Type of each column by its name; None where its values have no common one.
Types = Mapping[str, pa.DataType | None]
# A batch of a file with types, or objects of lines of JSON.
InputRows = pa.RecordBatch | list[dict[str, Any]]


class OwnColumns(NamedTuple):
    """Columns with their types, and which of them are written as JSON text."""

    schema: pa.Schema
    as_json: tuple[str, ...]


def types_of_schema(schema: pa.Schema) -> Types:
    return {field.name: field.type for field in schema}


def types_of_rows(rows: InputRows) -> Types:
    """The types of the columns, or of the values of each key."""
    if not isinstance(rows, list):
        return types_of_schema(rows.schema)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _type([row.get(name) for row in rows]) for name in names}


def merged(found: Iterable[Types]) -> Types:
    """The types that hold the values of all."""
    known: dict[str, pa.DataType | None] = {}
    for types in found:
        for name, one in types.items():
            known[name] = _common(known[name], one) if name in known else one
    return known


def own_columns(types: Types) -> OwnColumns:
    """What to write; columns without a value become empty texts."""
    as_json = [name for name, one in types.items() if not _fits_parquet(one)]
    fields = []
    for name, one in types.items():
        kind = pa.large_string() if name in as_json else one
        fields.append(pa.field(name, pa.string() if kind == pa.null() else kind))
    return OwnColumns(pa.schema(fields), tuple(as_json))


def own_rows(rows: InputRows, own: OwnColumns) -> pa.RecordBatch:
    """The rows with these columns, null where a row has none.

    Raises:
        UserError: a value that the common type of its column cannot hold.
    """
    arrays = []
    for field in own.schema:
        try:
            arrays.append(_column(rows, field, field.name in own.as_json))
        except (pa.ArrowException, OverflowError) as error:
            raise UserError(
                f"column {field.name!r} of the pool has a value that is no "
                f"{field.type}, the type of other files: {error}; write the column "
                "with one type in all files"
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=own.schema)


def _column(rows: InputRows, field: pa.Field, as_json: bool) -> pa.Array:
    if not isinstance(rows, list):
        if field.name not in rows.schema.names:
            return pa.nulls(len(rows), field.type)
        if not as_json:
            return rows[field.name].cast(field.type)
        values = rows[field.name].to_pylist()
    else:
        values = [row.get(field.name) for row in rows]
    if as_json:
        values = [None if value is None else _text(value) for value in values]
    return pa.array(values, field.type)


def _text(value: Any) -> str:
    """JSON of the value; escaped where it has half of a surrogate pair."""
    text = json.dumps(plain(value), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(plain(value))
    return text


def _type(values: Sequence[Any]) -> pa.DataType | None:
    try:
        return pa.array(values).type
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None


def _common(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    if one is None or other is None or one == other:
        return one if one == other else None
    both = [_decoded(one), _decoded(other)]
    schemas = [pa.schema([pa.field("x", found)]) for found in both]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _decoded(found: pa.DataType) -> pa.DataType:
    return found.value_type if pa.types.is_dictionary(found) else found


def _fits_parquet(found: pa.DataType | None) -> bool:
    if found is None:
        return False
    try:
        pq.write_table(pa.table({"x": pa.nulls(1, found)}), io.BytesIO())
    except (pa.ArrowException, TypeError):
        return False
    return True
