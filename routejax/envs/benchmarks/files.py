"""Rows of a file of questions, each with the place where it stands in the file.

JSONL, a JSON list, CSV with a header, Parquet; told apart by the end of the name.
A file that is absent, empty, damaged or of another kind is a `UserError` that says
which row, where there is one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from routejax.errors import UserError

_BATCH = 1024  # rows of Parquet read at once
csv.field_size_limit(2**31 - 1)


class Row(NamedTuple):
    """One row: `where` is "line 3" or "row 3", counted from one, without a header."""

    where: str
    cells: dict


def read_rows(path: str | Path) -> list[Row]:
    """All rows of the file, in order."""
    file = Path(path)
    if not file.is_file():
        raise UserError(f"{file} is no file; name a JSONL, JSON, CSV or Parquet file")
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        kinds = ", ".join(READERS)
        raise UserError(f"{file} must end in one of {kinds} to be read as questions")
    try:
        rows = list(reader(file))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror or error}") from None
    if not rows:
        raise UserError(f"{file} has no rows; a file of questions needs at least one")
    return rows


def _lines(file: Path) -> Iterator[Row]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _object(file, f"line {number}", line)


def _object(file: Path, where: str, line: bytes) -> Row:
    cells = _json(f"{file}, {where}", line)
    if not isinstance(cells, dict):
        shown = line[:40].decode(errors="replace")
        raise UserError(f"{file}, {where}: a JSON object is wanted, got {shown!r}")
    return Row(where, cells)


def _json(where: str, data: bytes) -> Any:
    """The value of a text in UTF-8, which has no half characters either."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: no JSON ({error})") from None
    return value


def _list(file: Path) -> Iterator[Row]:
    rows = _json(str(file), file.read_bytes())
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{file}: a JSON list of objects is wanted; or name it .jsonl")
    for number, cells in enumerate(rows, 1):
        yield Row(f"row {number}", cells)


def _csv(file: Path) -> Iterator[Row]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            for number, cells in enumerate(csv.DictReader(text, strict=True), 1):
                if None in cells or None in cells.values():
                    raise UserError(
                        f"{file}, row {number}: not as many cells as the header has"
                    )
                yield Row(f"row {number}", cells)
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{file}: no CSV ({error})") from None


def _parquet(file: Path) -> Iterator[Row]:
    number = 0
    try:
        with pq.ParquetFile(file) as table:
            for batch in table.iter_batches(_BATCH):
                for cells in batch.to_pylist():
                    number += 1
                    yield Row(f"row {number}", cells)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(
            f"{file}: damaged or no Parquet behind row {number} ({error})"
        ) from None


READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".json": _list,
    ".csv": _csv,
    ".parquet": _parquet,
}
