"""What a table must fulfil to be a pool: columns, types, nulls, UTF-8, unique ids.

Messages name the file and the row, counted from 0 within its file.
"""

from collections.abc import Sequence

import pyarrow as pa

from routejax.errors import UserError
from routejax.traces import SCHEMA


def conform(table: pa.Table, name: str) -> pa.Table:
    """The table with exactly `SCHEMA`: its columns in order, without foreign metadata.

    Raises:
        UserError: no rows; columns missing, not known or of another type; a null where
            `SCHEMA` allows none, or inside `steps`; text that is not UTF-8.
    """
    _check_columns(table.schema, name)
    if not len(table):
        raise UserError(f"{name} has no rows; a pool needs at least one")
    table = table.select(SCHEMA.names)
    for field in SCHEMA:
        _check_text(table[field.name], field.name, name)
        if not field.nullable:
            _check_nulls(table[field.name], field.name, name)
    _check_steps(table["steps"], name)
    return table.cast(SCHEMA).replace_schema_metadata(None)


def check_ids(tables: Sequence[tuple[str, pa.Table]]) -> None:
    """Nothing comes out.

    Raises:
        UserError: an id that is empty, holds a line break, or stands in two rows of the
            named tables.
    """
    seen: dict[str, tuple[str, int]] = {}
    for name, table in tables:
        for row, value in enumerate(table["id"].to_pylist()):
            if not value or "\n" in value or "\r" in value:
                raise UserError(
                    f"{name}: ids must be texts of one line, got {value!r} in row "
                    f"{row}; rename it"
                )
            if value in seen:
                other, earlier = seen[value]
                raise UserError(
                    f"ids must be unique, {value!r} stands in row {earlier} of {other} "
                    f"and in row {row} of {name}; rename or remove one"
                )
            seen[value] = (name, row)


def _check_columns(schema: pa.Schema, name: str) -> None:
    complaints = []
    missing = [field for field in SCHEMA.names if field not in schema.names]
    extra = [column for column in schema.names if column not in SCHEMA.names]
    twice = sorted(
        {column for column in schema.names if schema.names.count(column) > 1}
    )
    wrong = [
        f"{field.name} ({schema.field(field.name).type}, not {field.type})"
        for field in SCHEMA
        if schema.names.count(field.name) == 1
        and not schema.field(field.name).type.equals(field.type)
    ]
    for words, columns in (
        ("lacks columns", missing),
        ("has unknown columns (put them into 'meta' as JSON)", extra),
        ("has columns twice", twice),
        ("has columns of another type", wrong),
    ):
        if columns:
            complaints.append(f"{words}: {', '.join(columns)}")
    if complaints:
        raise UserError(f"{name} is not a pool: it {'; it '.join(complaints)}")


def _check_text(column: pa.ChunkedArray, field: str, name: str) -> None:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise UserError(
            f"{name}: column {field!r} is damaged ({error}); write the file again"
        ) from error


def _check_nulls(column: pa.ChunkedArray, field: str, name: str) -> None:
    if column.null_count:
        row = column.is_null().index(True).as_py()
        raise UserError(
            f"{name}: column {field!r} must have no nulls, got {column.null_count}, "
            f"the first in row {row}; fill it in or leave the row out"
        )


def _check_steps(column: pa.ChunkedArray, name: str) -> None:
    first = 0
    for chunk in column.chunks:
        steps = chunk.flatten()
        if steps.null_count:
            inside = chunk.value_parent_indices().filter(steps.is_null())[0].as_py()
            raise UserError(
                f"{name}: a step in row {first + inside} of 'steps' is null; remove it"
            )
        first += len(chunk)
