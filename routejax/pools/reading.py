"""A chunk of a file → a batch of the stream, and the rows in it that are unreadable."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from routejax.pools import canonical
from routejax.pools.files import LONGEST, Index
from routejax.pools.layouts import COMMON, LAYOUTS, Layout
from routejax.pools.recognition import fits, recognise, unwrapped
from routejax.pools.rows import Solution, Unread, not_read, solutions
from routejax.pools.sizes import row_bytes
from routejax.pools.stream import Batch, Unreadable, as_batch
from routejax.pools.turns import BadRow, parse
from routejax.pools.values import identity, look

_TOO_LONG = ("too_long", f"longer than {LONGEST // 1_000_000} MB")
_SAID = 300  # characters of a reason


@dataclasses.dataclass(frozen=True)
class Source:
    """One file of a pool: what it is, what is in it, and how it is laid out.

    Attributes:
        kind: a name among `opened.KINDS`.
        index: its rows and columns.
        layout: where its fields lie.
        per_row: whether rows that lack the layout's columns may have another one.
        state: size and time of change of the file before it was looked over.
    """

    kind: str
    index: Index
    layout: Layout
    per_row: bool = False
    state: tuple[int, int] = (0, 0)

    @property
    def is_canonical(self) -> bool:
        """Whether whole columns can be taken as they are."""
        return self.index.schema is not None and self.layout == LAYOUTS["canonical"]


def columns_of(source: Source, schema: pa.Schema) -> list[str]:
    """The columns of a table file that a stream with this schema needs."""
    names = source.index.names
    if source.is_canonical:
        return canonical.columns_to_read(schema.names, names, source.index.complete)
    if "meta" in schema.names:
        return list(names)
    maps = [{**COMMON, **fields} for fields in source.layout.fields]
    specs = [spec for fields in maps for spec in fields.values()]
    specs += [*source.layout.each, *source.layout.beside]
    parts = {part for spec in specs for part in spec.split("|")}
    heads = parts | {part.split(".")[0] for part in parts}
    return [name for name in names if name in heads]


def read_table(
    batch: pa.RecordBatch, first: int, source: Source, schema: pa.Schema
) -> Batch:
    """Rows of a typed file; `first` is the number of the first one in its file."""
    unread = {}
    if row_bytes(batch) > LONGEST:  # a batch of several rows is never that large
        return _assemble([[_too_long(batch)]], first, source, schema)
    if source.is_canonical:
        clean = canonical.read_clean(batch, first, schema)
        if clean is not None:
            return Batch(clean, [])
        # columns that were not read because the file says that nothing is missing
        unread = {n: "" for n in ("prompt", "response") if n not in batch.schema.names}
    read: list[list[Solution | Unread]] = []
    for row in _dicts(batch):
        bad = isinstance(row, Unread)
        read.append([row] if bad else solutions({**unread, **row}, source.layout))
    return _assemble(read, first, source, schema)


def read_lines(
    chunk: Sequence[bytes | None], first: int, source: Source, schema: pa.Schema
) -> Batch:
    """Rows of a file of JSON lines, None for one that is too long; `first` is the
    number of the first one."""
    read = [_solutions_of(line, source) for line in chunk]
    return _assemble(read, first, source, schema)


def _solutions_of(line: bytes | None, source: Source) -> list[Solution | Unread]:
    """What a line holds; if the file's layout does not fit it, by one that does."""
    if line is None or len(line) > LONGEST:
        return [Unread(None, *_TOO_LONG)]
    try:
        row = parse(line)
    except BadRow as error:
        return [Unread(None, error.rule, error.reason)]
    if not isinstance(row, dict) or fits(source.layout, row):
        return solutions(row, source.layout)
    if source.per_row:
        row = unwrapped(row)
    if fits(source.layout, row):
        return solutions(row, source.layout)
    key = recognise(row) if source.per_row else None
    if key is None:
        name, _ = look(row, COMMON["id"], identity)
        return [Unread(name, "layout", f"no layout has the columns {', '.join(row)}")]
    return solutions(row, LAYOUTS[key])


def _too_long(batch: pa.RecordBatch) -> Unread:
    """The one row of a batch that is too long to be read."""
    named = "id" in batch.schema.names and pa.types.is_string(batch["id"].type)
    return Unread(batch["id"][0].as_py() if named else None, *_TOO_LONG)


def _dicts(batch: pa.RecordBatch) -> list[Any]:
    """The rows as objects; an `Unread` for one with a value that Python cannot hold."""
    try:
        return batch.to_pylist()
    except Exception as error:  # Arrow's types raise many: of one row, not of the file
        if batch.num_rows == 1:
            return [not_read(None, error)]
    half = batch.num_rows // 2
    return _dicts(batch.slice(0, half)) + _dicts(batch.slice(half))


def _assemble(
    read: Sequence[Sequence[Solution | Unread]],
    first: int,
    source: Source,
    schema: pa.Schema,
) -> Batch:
    made: list[tuple[int, Solution]] = []
    bad: list[Unreadable] = []
    name = Path(source.index.path).name
    for row, entries in enumerate(read, first):
        for entry in map(_encodable, entries):
            if isinstance(entry, Solution):
                made.append((row, entry))
            else:
                known = _utf8(entry.id or f"{name}:{row}")
                reason = _utf8(entry.reason[:_SAID])
                bad.append(Unreadable(known, row, entry.rule, reason))
    return Batch(as_batch(made, schema), bad)


def _utf8(text: str) -> str:
    """The text with a question mark for half of a surrogate pair."""
    return text.encode(errors="replace").decode()


def _encodable(solution: Solution | Unread) -> Solution | Unread:
    """The solution, unless one of its texts has half of a surrogate pair."""
    if isinstance(solution, Unread):
        return solution
    trace = solution.trace
    for text in (*vars(trace).values(), *(trace.steps or ())):
        if isinstance(text, str) and not text.isascii():  # known without a look
            try:
                text.encode()
            except UnicodeEncodeError as error:
                why = f"a text cannot be UTF-8: {error.reason}"
                return Unread(trace.id, "not_utf8", why)
    return solution
