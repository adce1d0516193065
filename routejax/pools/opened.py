"""The door to pools larger than memory: `open_pool`, its parts, and their batches.

    paths ─files→ kinds ─index→ rows, columns ─layout→ Pool ─read(part)→ batches

Everything that is wrong with a whole file is said when a pool is opened, before any
work. What is wrong with one row comes out beside the rows of its batch.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from routejax.errors import UserError
from routejax.pools import canonical, lines, tables
from routejax.pools.files import Index, kind_of, require_state, state_of
from routejax.pools.layouts import LAYOUTS
from routejax.pools.paths import find_files
from routejax.pools.reading import Source, columns_of, read_lines, read_table
from routejax.pools.recognition import AUTO, check_named, choose
from routejax.pools.sizes import row_bytes
from routejax.pools.stream import Batch, schema_of

_BYTES = 1 << 24  # of one batch, about; a single row may be larger


class Kind(NamedTuple):
    """How files of a kind are looked over, and streamed from a row on."""

    index: Callable[[str], Index]
    stream: Callable[..., Iterator[Any]]


def _jsonl(compression: str | None) -> Kind:
    return Kind(
        partial(lines.index, compression=compression),
        lambda found, first, _: lines.stream(found, first, compression),
    )


KINDS: dict[str, Kind] = {
    "parquet": Kind(tables.index_parquet, tables.stream_parquet),
    "arrow_file": Kind(tables.index_arrow_file, tables.stream_arrow_file),
    "arrow_stream": Kind(tables.index_arrow_stream, tables.stream_arrow_stream),
    "jsonl": _jsonl(None),
    "jsonl_gzip": _jsonl("gzip"),
    "jsonl_zstd": _jsonl("zstd"),
}


class Part(NamedTuple):
    """A piece of one file: `rows` input rows from row `first` on.

    `number` counts the parts of a pool from 0.
    """

    number: int
    path: str
    first: int
    rows: int


@dataclasses.dataclass(frozen=True)
class Pool:
    """Files that were looked over; `sources` are in the order of their paths.

    `repeated` are paths that lead to one of the files too, and were left out.
    """

    sources: tuple[Source, ...]
    repeated: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Input rows of all files."""
        return sum(source.index.rows for source in self.sources)

    def parts(self, rows: int = 4096) -> tuple[Part, ...]:
        """The pool in pieces of at most `rows` input rows, none across two files.

        Raises:
            UserError: fewer than one row.
        """
        if rows < 1:
            raise UserError(f"rows of a part must be at least 1, got {rows}")
        pieces = [
            (source.index.path, first, min(rows, source.index.rows - first))
            for source in self.sources
            for first in range(0, source.index.rows, rows)
        ]
        return tuple(Part(number, *piece) for number, piece in enumerate(pieces))

    def read(self, part: Part, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """The rows of a part in order, in batches of about 16 MB at most.

        `columns` are those of `STREAM_SCHEMA`, all by default; of the others nothing is
        read that the rows can be told without, and their texts are not checked. Parts
        that follow each other are read on from where the last one ended, in each
        thread.

        Raises:
            UserError: an unknown column; a part of another pool; damage in the file.
        """
        schema = schema_of(columns)
        sources = {source.index.path: source for source in self.sources}
        if part.path not in sources:
            raise UserError(f"{part.path} is no file of this pool")
        source = sources[part.path]
        read = read_table if source.index.schema is not None else read_lines
        for first, chunk in chunks(source, part, tuple(columns_of(source, schema))):
            yield read(chunk, first, source, schema)


def open_pool(
    paths: str | Path | Sequence[str | Path],
    layout: str = AUTO,
    columns: Mapping[str, str] | None = None,
) -> Pool:
    """A pool of all files that `paths` name: files, folders, globs.

    Parquet, Arrow (file and stream) and lines of JSON (plain, gzip, zstd), told apart
    by their first bytes. `layout` is one of `LAYOUTS`, or recognised per file, and for
    lines of JSON per row; `columns` says where single fields lie, for example
    `{"prompt": "question", "response": "model_answer"}`.

    Raises:
        UserError: what is wrong with a path, a name or a whole file.
    """
    check_named(layout, columns)
    files, repeated = find_files(paths)
    pool = Pool(tuple(_source(path, layout, columns) for path in files), repeated)
    if not pool.rows:
        raise UserError(f"{', '.join(files)}: no rows; a pool needs at least one")
    return pool


def _source(path: str, layout: str, columns: Mapping[str, str] | None) -> Source:
    state = state_of(path)  # before anything is read, so that no change is missed
    kind = kind_of(path)
    found = KINDS[kind].index(path)
    chosen = choose(found.names, layout, columns, path)
    if found.schema is not None and chosen == LAYOUTS["canonical"]:
        canonical.check_types(found.schema, path)
    per_row = layout == AUTO and found.schema is None
    return Source(kind, found, chosen, per_row, state)


class _Place(NamedTuple):
    """Where reading stopped: the row that comes next, and what was decoded of it."""

    key: tuple[Any, ...]
    row: int
    ahead: Iterator[Any]
    rest: Any


_stopped = threading.local()


def chunks(
    source: Source, part: Part, columns: tuple[str, ...]
) -> Iterator[tuple[int, Any]]:
    """(first row, chunk) over a part: record batches, or lists of lines."""
    require_state(part.path, source.state)
    key = (part.path, source.state, columns)
    place = getattr(_stopped, "place", None)
    _stopped.place = None  # a reader that is given up half-way leaves nothing behind
    if place and place.key == key and place.row == part.first:
        ahead, rest = place.ahead, place.rest
    else:
        ahead = KINDS[source.kind].stream(source.index, part.first, columns)
        rest = None
    row, end = part.first, part.first + part.rows
    while row < end:
        chunk = rest if rest is not None else next(ahead, None)
        if chunk is None:
            raise UserError(
                f"pool file {part.path} ends at row {row}; it was changed, run the "
                "same command again"
            )
        taken = _fitting(chunk, end - row)
        rest = _behind(chunk, taken)
        yield row, _slice(chunk, taken)
        row += taken
    require_state(part.path, source.state)
    _stopped.place = _Place(key, row, ahead, rest)


def _fitting(chunk: Any, rows: int) -> int:
    """How many rows of a chunk to take: at most `rows`, about 16 MB, at least one."""
    taken = min(rows, len(chunk))
    if isinstance(chunk, pa.RecordBatch):
        while taken > 1 and row_bytes(chunk.slice(0, taken)) > _BYTES:
            taken = (taken + 1) // 2
    return taken


def _slice(chunk: Any, rows: int) -> Any:
    table = isinstance(chunk, pa.RecordBatch)
    return chunk.slice(0, rows) if table else chunk[:rows]


def _behind(chunk: Any, rows: int) -> Any:
    """The rows of a chunk after the first `rows`, None if there are none."""
    if rows == len(chunk):
        return None
    return chunk.slice(rows) if isinstance(chunk, pa.RecordBatch) else chunk[rows:]
