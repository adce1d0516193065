"""Rows of a pool as they stand in its files, beside the solutions that are in them.

For the few rows of a large pool that were chosen: their parts are read once more, whole
columns and all, and everything else is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from routejax.errors import UserError
from routejax.pools.chats import chat
from routejax.pools.opened import Part, Pool, chunks
from routejax.pools.own_columns import InputRows
from routejax.pools.reading import Source, columns_of, read_lines, read_table
from routejax.pools.stream import schema_of
from routejax.pools.turns import parse

_READ = ("id", "prompt", "response", "source", "characters", "meta", "row")
Message = dict[str, Any]


class Originals(NamedTuple):
    """Solutions of a part, in its order, one entry each.

    Attributes:
        places: numbers of the solutions among those asked for.
        own: their input rows; a row stands as often as solutions in it were asked for.
        ids, sources, characters: of the solutions.
        chats: their conversations as messages.
    """

    places: Int64[np.ndarray, "n"]
    own: InputRows
    ids: list[str]
    sources: list[str | None]
    characters: list[int]
    chats: list[list[Message]]


def read_originals(
    pool: Pool,
    part: Part,
    rows: Int64[np.ndarray, "n"],
    nth: Int64[np.ndarray, "n"],
) -> Iterator[Originals]:
    """The solutions `nth` (from 0) of the input rows `rows` of a part's file.

    Both are sorted, by row and within one by number. Every one comes out once.

    Raises:
        UserError: one of them is not there; damage in the file.
    """
    source, done = _source(pool, part), 0
    for first, places, own in _taken(source, part, np.unique(rows)):
        last = int(np.searchsorted(rows, first + int(places[-1]), "right"))
        asked = slice(done, last)
        yield _originals(source, places + first, own, rows, nth, asked)
        done = last
    if done < len(rows):
        raise _gone(part.path, int(rows[done]))


def _originals(
    source: Source,
    numbers: Int64[np.ndarray, "m"],
    own: Any,
    rows: Int64[np.ndarray, "n"],
    nth: Int64[np.ndarray, "n"],
    asked: slice,
) -> Originals:
    """Those of one chunk, of which the rows `numbers` were taken."""
    made = _solutions(source, own)
    at = made["row"].to_numpy()  # places in `own`: it was read as if it were the file
    inner = np.arange(len(at)) - np.searchsorted(at, at)  # which solution of its row
    known = zip(numbers[at].tolist(), inner.tolist(), strict=True)
    found = {one: place for place, one in enumerate(known)}
    wanted = list(zip(rows[asked].tolist(), nth[asked].tolist(), strict=True))
    if missing := [row for row, k in wanted if (row, k) not in found]:
        raise _gone(source.index.path, missing[0])
    picked = np.array([found[one] for one in wanted])
    taken = made.take(pa.array(picked))
    lines = _repeated(own, at[picked])
    originals = [parse(line) for line in lines] if isinstance(lines, list) else lines
    return Originals(
        np.arange(asked.start, asked.stop),
        originals,
        taken["id"].to_pylist(),
        taken["source"].to_pylist(),
        taken["characters"].to_pylist(),
        _chats(source, taken, originals),
    )


def _solutions(source: Source, own: Any) -> pa.RecordBatch:
    schema = schema_of(_READ)
    if isinstance(own, list):
        return read_lines(own, 0, source, schema).rows
    return read_table(own.select(columns_of(source, schema)), 0, source, schema).rows


def _chats(source: Source, made: pa.RecordBatch, own: InputRows) -> list[list[Message]]:
    columns = (made[name].to_pylist() for name in ("prompt", "response", "meta"))
    texts = zip(*columns, strict=True)
    return [
        chat(prompt, response, meta, lambda row=row: _object(own, row), source)
        for row, (prompt, response, meta) in enumerate(texts)
    ]


def _taken(
    source: Source, part: Part, rows: Int64[np.ndarray, "m"]
) -> Iterator[tuple[int, Int64[np.ndarray, "k"], Any]]:
    """Per chunk with some of these input rows: its first row, their places, they."""
    for first, chunk in chunks(source, part, source.index.names):
        low, high = np.searchsorted(rows, [first, first + len(chunk)])
        places = rows[low:high] - first
        if len(places):
            yield first, places, _repeated(chunk, places)


def _repeated(chunk: Any, places: Int64[np.ndarray, "k"]) -> Any:
    """The entries of a chunk at these places."""
    if isinstance(chunk, pa.RecordBatch):
        return chunk.take(pa.array(places))
    return [chunk[place] for place in places.tolist()]


def _object(own: InputRows, row: int) -> Mapping[str, Any]:
    """An input row as an object."""
    return own[row] if isinstance(own, list) else own.slice(row, 1).to_pylist()[0]


def _source(pool: Pool, part: Part) -> Source:
    return next(s for s in pool.sources if s.index.path == part.path)


def _gone(path: str, row: int) -> UserError:
    return UserError(
        f"{path}: row {row} (from 0) was chosen and cannot be read again; the file "
        "was changed, or a column that was not needed before cannot be read. Bring "
        "back the file and run the same command again"
    )
