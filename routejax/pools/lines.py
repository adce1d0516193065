"""Lines of JSON, plain or compressed: counted once, then streamed from any row on.

Blank lines are no rows. A plain file is entered near any row; a compressed one is read
from its start, so readers should go through it in order. Of a line that is longer than
`LONGEST` no more than its ends is ever held.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from routejax.errors import UserError
from routejax.pools.files import LONGEST, Index
from routejax.pools.recognition import unwrapped

EVERY = 64  # rows between two places where a plain file can be entered
_BLOCK = 1 << 20
_ROWS, _BYTES = 4096, 1 << 24  # of one chunk of lines
_SAMPLE = 64  # rows looked into for their keys
_ENDS = 64  # bytes that are kept of a line that is too long, from either end
_BEFORE = b" \t\r\n\xef\xbb\xbf"  # white space, and the mark of UTF-8


def index(path: str, compression: str | None = None) -> Index:
    """Counts the rows and looks at both ends of every line.

    What is broken inside a line is the matter of that row alone, later.

    Raises:
        UserError: a line that does not begin and end as a JSON object; a file that is
            damaged, cut off or without rows.
    """
    rows, at, starts, names = 0, 0, [], ()
    for number, (line, size) in enumerate(_lines(path, compression, 0), 1):
        if _is_row(line, path, number):
            starts += [] if rows % EVERY else [at]
            names = names or (_names(line) if rows < _SAMPLE else ())
            rows += 1
        at += size + 1
    if not rows:
        raise UserError(f"pool file {path} has no rows; a pool needs at least one")
    return Index(path, rows, names, np.array(starts, np.int64))


def stream(
    found: Index, first: int, compression: str | None = None
) -> Iterator[list[bytes | None]]:
    """Chunks of lines from row `first` on; a chunk is bounded in rows and bytes.

    None stands for a line that is longer than `LONGEST`.
    """
    row, at = (0, 0) if compression else (first - first % EVERY, first // EVERY)
    place = 0 if compression else int(found.starts[at])
    chunk, size = [], 0
    for line, length in _lines(found.path, compression, place):
        if not line.lstrip(_BEFORE):
            continue
        row += 1
        if row <= first:
            continue
        chunk.append(line if length == len(line) else None)
        size += len(line)
        if len(chunk) == _ROWS or size >= _BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _lines(path: str, compression: str | None, at: int) -> Iterator[tuple[bytes, int]]:
    """(line without its end, its length) from byte `at` on.

    Of a line longer than `LONGEST` only its first and last bytes come out.
    """
    tail: list[bytes] = []
    size = 0
    with _opened(path, compression) as file:
        if at:
            file.seek(at)
        while block := file.read(_BLOCK):
            *whole, last = block.split(b"\n")
            for piece in whole:
                size += len(piece)
                yield _joined(tail, piece, size), size
                tail, size = [], 0
            size += len(last)
            tail = [_joined(tail, last, size)] if size > LONGEST else [*tail, last]
    if size:
        yield _joined(tail, b"", size), size


def _joined(pieces: list[bytes], last: bytes, size: int) -> bytes:
    """A line from its pieces, or both ends of one that is too long."""
    if size <= LONGEST:
        return b"".join([*pieces, last]) if pieces else last
    ends = b"".join([*(piece[-_ENDS:] for piece in pieces), last])[-_ENDS:]
    return (pieces[0] if pieces else last)[:_ENDS] + ends


@contextmanager
def _opened(path: str, compression: str | None) -> Iterator[Any]:
    """The file as a stream of bytes.

    Raises:
        UserError: damage that shows while it is read.
    """
    try:
        with pa.OSFile(path) as raw:
            if compression:
                with pa.CompressedInputStream(raw, compression) as file:
                    yield file
            else:
                yield raw
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"pool file {path} is damaged or cut off ({error}); copy or write it again"
        ) from error


def _is_row(line: bytes, path: str, number: int) -> bool:
    """Whether the line is a row, False if it is blank.

    Raises:
        UserError: it is something else than a JSON object.
    """
    if line[:1] == b"{" and line[-1:] == b"}":
        return True
    inner = line.lstrip(_BEFORE)
    if not inner:
        return False
    if inner[:1] == b"{" and inner.rstrip()[-1:] == b"}":
        return True
    if number == 1 and inner[:1] == b"[":
        raise UserError(
            f"{path}, line 1: every line must be one JSON object {{...}}, but this is "
            "a JSON array; write its entries a line each"
        )
    shown = inner if len(inner) <= 60 else inner[:40] + b"..." + inner[-15:]
    raise UserError(
        f"{path}, line {number}: every line must be one JSON object {{...}}, got "
        f"{shown.decode(errors='replace')!r}; mend or remove it"
    )


def _names(line: bytes) -> tuple[str, ...]:
    """The keys of a row, none if it cannot be read."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    return tuple(unwrapped(row)) if isinstance(row, dict) else ()
