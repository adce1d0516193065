"""The rows that any selector chose, read back from the pool into pieces on disk.

A piece is a run of the pool's parts with at least `PIECE_ROWS` chosen rows. Its two
files appear whole, the second says that it is done; so a run that was killed goes on at
the next piece, and no more than a piece is in memory.

    parts/00000.own.parquet   the input rows with the pool's own columns
    parts/00000.parquet       of the same rows: place in `phi/`, source, chat, …
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int64

from routejax import workdir
from routejax.errors import UserError
from routejax.pools.originals import Originals, read_originals
from routejax.pools.own_columns import (
    OwnColumns,
    Types,
    merged,
    own_columns,
    own_rows,
    types_of_rows,
    types_of_schema,
)
from routejax.progress import track
from routejax.stages.select_run import SelectRun

PIECE_ROWS = 1024
_AS_JSON = b"routejax_as_json"


class Chosen(NamedTuple):
    """The rows that any selector chose, in the order of the pool.

    `at` are their rows in `phi/`; `part`, `row`, `nth` say where they lie (`Phi.rows`).
    """

    at: Int64[np.ndarray, "m"]
    part: Int64[np.ndarray, "m"]
    row: Int64[np.ndarray, "m"]
    nth: Int64[np.ndarray, "m"]


class Piece(NamedTuple):
    """Chosen rows `first` to `last` (not included) and the files that hold them."""

    first: int
    last: int
    own: Path
    path: Path


def chosen_rows(rows: pa.Table, at: Sequence[Int64[np.ndarray, "n"]]) -> Chosen:
    """All of `at` once."""
    union = np.unique(np.concatenate(at))
    names = ("part", "row", "nth")
    places = [rows[name].to_numpy()[union].astype(np.int64) for name in names]
    order = np.lexsort(places[::-1])
    return Chosen(union[order], *(place[order] for place in places))


def pieces(chosen: Chosen, folder: Path) -> list[Piece]:
    """The rows cut into pieces, no part across two."""
    borders = np.flatnonzero(np.diff(chosen.part)) + 1
    ends = [0]
    for border in [*borders.tolist(), len(chosen.part)]:
        if border - ends[-1] >= PIECE_ROWS or border == len(chosen.part):
            ends.append(border)
    names = (folder / "parts" / f"{number:05d}" for number in range(len(ends)))
    return [
        Piece(first, last, Path(f"{name}.own.parquet"), Path(f"{name}.parquet"))
        for first, last, name in zip(ends, ends[1:], names, strict=False)
    ]


def spool(run: SelectRun, rows: pa.Table, chosen: Chosen, folder: Path) -> list[Piece]:
    """Every piece, those that are missing written.

    Raises:
        UserError: the pool is not what it was when its fingerprints were made.
    """
    cut = pieces(chosen, folder)
    left = [piece for piece in cut if not piece.path.exists()]
    ready = len(chosen.at) - sum(piece.last - piece.first for piece in left)
    with track(run.console, "read rows", len(chosen.at), "rows", ready) as progress:
        for piece in left:
            _write_piece(run, rows, chosen, piece)
            progress.update(progress.done + piece.last - piece.first)
    return cut


def read_own(piece: Piece, own: OwnColumns) -> pa.Table:
    """The own columns of a piece, with the types that hold those of all pieces."""
    table = pq.read_table(piece.own)
    done = _texts(table.schema)
    own = own._replace(as_json=tuple(n for n in own.as_json if n not in done))
    made = [own_rows(batch, own) for batch in table.to_batches()]
    return pa.Table.from_batches(made, own.schema)


def types_of(piece: Piece) -> Types:
    """The types of a piece's own columns, None for those that are JSON there."""
    schema = pq.read_schema(piece.own)
    texts = _texts(schema)
    return {n: None if n in texts else t for n, t in types_of_schema(schema).items()}


def _write_piece(run: SelectRun, rows: pa.Table, chosen: Chosen, piece: Piece) -> None:
    found = list(_originals(run, chosen, piece))
    ids = [name for one in found for name in one.ids]
    at = chosen.at[piece.first : piece.last]
    wanted = rows["id"].take(pa.array(at)).to_pylist()
    if ids != wanted:
        changed = next(w for i, w in zip(ids, wanted, strict=True) if i != w)
        raise UserError(
            f"the row {changed!r} is no longer where it was in the pool, which has "
            "changed since its fingerprints were made; bring back its files"
        )
    types = merged(types_of_rows(one.own) for one in found)
    own = own_columns(types)
    table = pa.Table.from_batches([own_rows(one.own, own) for one in found], own.schema)
    marked = {_AS_JSON: json.dumps(own.as_json).encode()}
    workdir.write_parquet(piece.own, table.replace_schema_metadata(marked))
    columns: dict[str, Any] = {
        "at": at,
        "source": pa.array([s for one in found for s in one.sources], pa.string()),
        "characters": [n for one in found for n in one.characters],
        "chat": pa.array(map(_as_line, _chats(found)), pa.large_string()),
    }
    workdir.write_parquet(piece.path, pa.table(columns))


def _originals(run: SelectRun, chosen: Chosen, piece: Piece) -> Iterator[Originals]:
    inside = slice(piece.first, piece.last)
    numbers, starts = np.unique(chosen.part[inside], return_index=True)
    ends = [*starts[1:], piece.last - piece.first]
    for number, first, last in zip(numbers.tolist(), starts, ends, strict=True):
        here = slice(piece.first + first, piece.first + last)
        part = run.job.parts[number]
        yield from read_originals(
            run.job.pool, part, chosen.row[here], chosen.nth[here]
        )


def _chats(found: Sequence[Originals]) -> Iterator[Sequence[Mapping[str, Any]]]:
    return (chat for one in found for chat in one.chats)


def _as_line(chat: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(chat, ensure_ascii=False)


def _texts(schema: pa.Schema) -> tuple[str, ...]:
    return tuple(json.loads((schema.metadata or {}).get(_AS_JSON, b"[]")))
