"""Parquet and Arrow files: looked over once, then streamed from any row on.

Row groups and batches are entered where they begin; rows before the wanted one are
decoded and passed over, so readers should go through a large row group in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from routejax.errors import UserError
from routejax.pools.files import Index
from routejax.pools.poolfile import check_envelope

# Of one batch. What is made of it stays in the cache, and its memory is used again for
# the next; batches of 16 MB took a third more time, for fresh pages.
_ROWS, _BYTES = 4096, 1 << 22
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_IDS = ("id", "prompt_id")  # made from content where they are missing
_READ_AHEAD = 1 << 20  # bytes of a column; all of it would be as large as a row group


def index_parquet(path: str) -> Index:
    """Rows, columns and row groups from the footer.

    Raises:
        UserError: a file that is cut off, damaged, or has a column twice.
    """
    check_envelope(path)
    with _damage(path), pq.ParquetFile(path) as file:
        meta, schema = file.metadata, file.schema_arrow
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    starts = np.cumsum([0, *(group.num_rows for group in groups)])[:-1]
    return Index(
        path,
        meta.num_rows,
        _names(schema, path),
        starts.astype(np.int64),
        schema,
        frozenset(name for name in schema.names if _is_complete(meta, name)),
        size // max(1, meta.num_rows),
    )


def stream_parquet(
    found: Index, first: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Batches from row `first` on with these columns, of about 4 MB."""
    group = int(np.searchsorted(found.starts, first, "right")) - 1
    rows = max(1, min(_ROWS, _BYTES // max(1, found.row_bytes)))
    with (
        _damage(found.path),
        pq.ParquetFile(
            found.path,
            buffer_size=_READ_AHEAD,
            pre_buffer=False,  # it would hold all pages of a row group
            page_checksum_verification=True,
        ) as file,
    ):
        groups = range(group, file.metadata.num_row_groups)
        batches = file.iter_batches(
            rows, row_groups=list(groups), columns=list(columns), use_threads=False
        )
        yield from _from_row(batches, first - int(found.starts[group]))


def index_arrow_file(path: str) -> Index:
    """Rows, columns and batches of an Arrow file (Feather)."""
    return _index_arrow(path, _file_batches)


def index_arrow_stream(path: str) -> Index:
    """Rows, columns and batches of an Arrow stream; only its headers are read.

    Raises:
        UserError: damage; no mark at the end, without which nobody can tell whether
            batches are missing.
    """
    found = _index_arrow(path, _stream_batches)
    with Path(path).open("rb") as file:
        file.seek(-min(8, Path(path).stat().st_size), os.SEEK_END)
        if file.read() != _END_OF_STREAM:
            raise UserError(
                f"pool file {path} is an Arrow stream without its end, which may be "
                "cut off; write it again and close the writer"
            )
    return found


def stream_arrow_file(
    found: Index, first: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Batches from row `first` on with these columns, as they were written."""
    at = int(np.searchsorted(found.starts, first, "right")) - 1
    with _damage(found.path), pa.OSFile(found.path) as raw:
        file = pa.ipc.open_file(raw, options=_only(found, columns))
        batches = (file.get_batch(i) for i in range(at, file.num_record_batches))
        yield from _from_row(batches, first - int(found.starts[at]))


def stream_arrow_stream(
    found: Index, first: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Batches from row `first` on with these columns, as they were written."""
    with _damage(found.path), pa.OSFile(found.path) as raw:
        batches = pa.ipc.open_stream(raw, options=_only(found, columns))
        yield from _from_row(batches, first)


def _index_arrow(
    path: str,
    read: Callable[[pa.NativeFile], tuple[pa.Schema, Iterator[pa.RecordBatch]]],
) -> Index:
    # mapped: the texts themselves are not touched
    with _damage(path), pa.memory_map(path) as raw:
        schema, batches = read(raw)
        rows = [batch.num_rows for batch in batches]
    starts = np.cumsum([0, *rows])[:-1].astype(np.int64)
    return Index(path, sum(rows), _names(schema, path), starts, schema)


def _file_batches(
    raw: pa.NativeFile,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    file = pa.ipc.open_file(raw)
    batches = (file.get_batch(i) for i in range(file.num_record_batches))
    return file.schema, batches


def _stream_batches(
    raw: pa.NativeFile,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    reader = pa.ipc.open_stream(raw)
    return reader.schema, iter(reader)


def _only(found: Index, columns: Sequence[str]) -> pa.ipc.IpcReadOptions:
    """Decode these columns only."""
    places = [found.names.index(name) for name in columns]
    return pa.ipc.IpcReadOptions(use_threads=False, included_fields=places)


def _from_row(
    batches: Iterator[pa.RecordBatch], skipped: int
) -> Iterator[pa.RecordBatch]:
    """The batches without their first `skipped` rows."""
    for batch in batches:
        if skipped < batch.num_rows:
            yield batch.slice(skipped)
        skipped = max(0, skipped - batch.num_rows)


def _is_complete(meta: pq.FileMetaData, name: str) -> bool:
    """Whether statistics say that no value of a column is null, and no id is blank."""
    for i in range(meta.num_row_groups):
        group = meta.row_group(i)
        chunks = (group.column(k) for k in range(group.num_columns))
        of_name = [chunk for chunk in chunks if chunk.path_in_schema == name]
        stats = of_name[0].statistics if of_name else None
        if stats is None or not stats.has_null_count or stats.null_count:
            return False
        known = stats.has_min_max and stats.min not in ("", b"")
        if name in _IDS and not known:
            return False
    return True


def _names(schema: pa.Schema, path: str) -> tuple[str, ...]:
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise UserError(f"pool file {path} has columns twice: {', '.join(twice)}")
    return tuple(schema.names)


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Raises: UserError, where Arrow finds the file damaged."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"pool file {path} is damaged or cut off ({error}); copy or write it again"
        ) from error
