"""Stage `selected`: the chosen rows of every selector as files.

    <selector>.parquet         the pool's own columns, and how each row was chosen
    <selector>.chat.jsonl      the same rows as `messages`, for trainers
    <selector>.selection.json  per row what a report needs, in order of id
    columns.json               the names of the columns
    capped.parquet             rows left out by the cap per prompt, if there is one

In the first two, rows stand in the order of the pool. A report reads the third, with
`phi/phi.npy` and `phi/rows.parquet`, whose rows its `at` are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from routejax import workdir
from routejax.pools.own_columns import OwnColumns, merged, own_columns
from routejax.progress import track
from routejax.stages.select_features import within_cap
from routejax.stages.select_phi import read_phi
from routejax.stages.select_picks import Picks, read_picks
from routejax.stages.select_run import Outputs, SelectRun
from routejax.stages.select_spool import (
    Piece,
    chosen_rows,
    read_own,
    spool,
    types_of,
)

SCHEMA = 1  # of <selector>.selection.json
ADDED = {
    "id": pa.string(),
    "rank": pa.int64(),
    "cluster": pa.int64(),
    "distance": pa.float64(),
}
_ROW_GROUP, _ROW_GROUP_BYTES = 4096, 1 << 25


class _Files(NamedTuple):
    """The open files of a selector, and rows that wait for a row group to be full."""

    table: pq.ParquetWriter
    chat: IO[str]
    waiting: list[pa.Table]


def make_files(run: SelectRun, phi: Outputs, picks: Mapping[str, Outputs]) -> Outputs:
    """Hashes of the files of all selectors."""
    inputs = {"phi": phi, "picks": picks, "per_prompt": run.settings.per_prompt}
    return run.stage("selected", inputs, lambda folder: _make(run, folder))


def free_prefix(names: Sequence[str]) -> str:
    """Of the added columns: `routejax_`, with a number where the pool has such names.

    A pool that is itself a selection has.
    """
    number = 1
    while True:
        prefix = f"routejax{'' if number == 1 else number}_"
        if not any(f"{prefix}{name}" in names for name in ADDED):
            return prefix
        number += 1


def _make(run: SelectRun, folder: Path) -> None:
    rows = read_phi(run.root).rows
    picks = {name: read_picks(run.root, name) for name in run.settings.methods}
    chosen = chosen_rows(rows, [found.at for found in picks.values()])
    cut = spool(run, rows, chosen, folder)
    own = own_columns(merged(map(types_of, cut)))
    prefix = free_prefix(own.schema.names)
    added = [pa.field(f"{prefix}{name}", kind) for name, kind in ADDED.items()]
    schema = pa.schema([*own.schema, *added])
    with ExitStack() as stack:
        files = {n: stack.enter_context(_opened(folder, n, schema)) for n in picks}
        with track(run.console, "write rows", len(chosen.at), "rows") as progress:
            for piece in cut:
                _write_piece(rows, picks, files, piece, own)
                progress.update(piece.last)
    for name, found in picks.items():
        facts = {"schema": SCHEMA, "selector": name, **_facts(rows, found, cut)}
        workdir.write_json(folder / f"{name}.selection.json", facts)
    names = {"own": own.schema.names, "as_json": own.as_json}
    names["added"] = [field.name for field in added]
    workdir.write_json(folder / "columns.json", names)
    if run.settings.per_prompt is not None:
        capped = ~within_cap(rows["prompt_id"], run.settings.per_prompt)
        left_out = rows.select(["id", "prompt_id", "group"]).filter(pa.array(capped))
        workdir.write_parquet(folder / "capped.parquet", left_out)


def _write_piece(
    rows: pa.Table,
    picks: Mapping[str, Picks],
    files: Mapping[str, _Files],
    piece: Piece,
    own: OwnColumns,
) -> None:
    """The rows of a piece to the files of the selectors that chose them."""
    originals, facts = read_own(piece, own), pq.read_table(piece.path)
    at = facts["at"].to_numpy()
    for name, found in picks.items():
        where, which = _both(at, found.at)  # places in the piece, and in the picks
        taken = originals.take(pa.array(where))
        known = rows.select(["id", "prompt_id", "group"]).take(pa.array(at[where]))
        values = [known["id"], *_numbers(found, which)]
        for (column, kind), value in zip(ADDED.items(), values, strict=True):
            taken = taken.append_column(column, value.cast(kind))
        open_files = files[name]
        open_files.waiting.append(taken.rename_columns(open_files.table.schema.names))
        _flush(open_files, _ROW_GROUP, _ROW_GROUP_BYTES)
        _write_chats(open_files.chat, known, facts.take(pa.array(where)))


def _both(at: np.ndarray, picked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places in `at` of what was picked too, in order, and its places in `picked`."""
    place = np.minimum(np.searchsorted(picked, at), len(picked) - 1)
    where = np.flatnonzero(picked[place] == at)
    return where, place[where]


def _numbers(found: Picks, which: np.ndarray) -> list[pa.Array]:
    """Rank, cluster and distance; null for the distance that a selector has not."""
    distance = pa.array(found.distance[which], from_pandas=True)
    return [pa.array(found.rank[which]), pa.array(found.cluster[which]), distance]


def _write_chats(file: IO[str], known: pa.Table, facts: pa.Table) -> None:
    """Lines of JSON; `chat` is JSON already.

    An unknown source is "": readers of such files want a column of one type.
    """
    source = facts["source"].fill_null("")
    named = known.append_column("source", source).to_pylist()
    for row, chat in zip(named, facts["chat"].to_pylist(), strict=True):
        start = json.dumps(row, ensure_ascii=False).removesuffix("}")
        file.write(f'{start}, "messages": {chat}}}\n')


def _flush(files: _Files, rows: int, size: int) -> None:
    """Writes what waits as one row group, if it is so many rows or bytes."""
    waiting = files.waiting
    if sum(map(len, waiting)) >= rows or sum(t.nbytes for t in waiting) >= size:
        table = pa.concat_tables(waiting).combine_chunks()
        files.table.write_table(table, row_group_size=max(len(table), 1))
        waiting.clear()


@contextmanager
def _opened(folder: Path, name: str, schema: pa.Schema) -> Iterator[_Files]:
    """The files of a selector, which take their names when both are whole."""
    paths = [folder / f"{name}.parquet", folder / f"{name}.chat.jsonl"]
    parts = [path.with_name(f".{path.name}.part") for path in paths]
    try:
        with parts[1].open("w", encoding="utf-8", newline="\n") as chat:
            with pq.ParquetWriter(parts[0], schema, compression="zstd") as table:
                files = _Files(table, chat, [])
                yield files
                _flush(files, 0, 0)
            chat.flush()
        for part, path in zip(parts, paths, strict=True):
            with part.open("rb") as whole:
                os.fsync(whole.fileno())
            part.replace(path)
    except OSError as error:
        raise workdir.disk_error(error, folder) from error
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _facts(rows: pa.Table, found: Picks, cut: Sequence[Piece]) -> dict[str, Any]:
    """What a report needs of every chosen row, in order of id, and of the groups."""
    names = ["at", "source", "characters"]
    tables = [pq.read_table(piece.path, columns=names) for piece in cut]
    beside = pa.concat_tables(tables).sort_by("at")
    beside = beside.take(pa.array(np.searchsorted(beside["at"].to_numpy(), found.at)))
    named = rows.select(["id", "prompt_id", "group"]).take(pa.array(found.at))
    distance = pa.array(found.distance, from_pandas=True)
    return {
        "report": found.report,
        "rows": {
            **named.to_pydict(),
            "source": beside["source"].to_pylist(),
            "characters": beside["characters"].to_pylist(),
            "cluster": found.cluster.tolist(),
            "rank": found.rank.tolist(),
            "distance": distance.to_pylist(),
            "at": found.at.tolist(),
        },
    }
