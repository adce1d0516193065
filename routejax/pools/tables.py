"""Parquet and Arrow files: looked over once, then streamed from any row on.

Row groups and batches are entered where they begin; rows before the wanted one are
decoded and passed over, so readers should go through a large row group in order.

What has to fit in memory, once per thread: a page of Parquet (1 MB as it is usually
written) and the values in it; a whole batch of Arrow where it is compressed (Feather
compresses, and its batches have 65,536 rows unless `chunksize` says otherwise). Batches
that are not compressed are mapped and read piece by piece.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from routejax.errors import UserError
from routejax.pools.files import Index
from routejax.pools.poolfile import check_envelope, check_plain
from routejax.pools.sizes import row_bytes

_ROWS, _BYTES = 4096, 1 << 24  # of one batch
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_IDS = ("id", "prompt_id")  # made from content where they are missing
_READ_AHEAD = 1 << 20  # bytes of a column; all of it would be as large as a row group


def index_parquet(path: str) -> Index:
    """Rows, columns and row groups from the footer.

    Raises:
        UserError: a file that is cut off, damaged, encrypted, or has a column twice.
    """
    check_envelope(path)
    with _damage(path), pq.ParquetFile(path) as file:
        meta, schema = file.metadata, file.schema_arrow
    check_plain(path, meta)
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
    """Batches from row `first` on with these columns, of about 16 MB."""
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
    with _damage(path), pa.memory_map(path) as raw:
        file = pa.ipc.open_file(raw)
        rows = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
    return _index_arrow(path, file.schema, rows)


def index_arrow_stream(path: str) -> Index:
    """Rows, columns and batches of an Arrow stream.

    Raises:
        UserError: damage; no mark at the end, without which nobody can tell whether
            batches are missing; something behind it, such as a second stream.
    """
    with _damage(path), pa.memory_map(path) as raw:
        batches = pa.ipc.open_stream(raw)
        rows = [batch.num_rows for batch in batches]
        end = raw.tell()
        raw.seek(max(0, end - len(_END_OF_STREAM)))
        mark = raw.read(len(_END_OF_STREAM) + 1)
    if mark != _END_OF_STREAM:
        raise UserError(
            f"pool file {path} is an Arrow stream without its end, or with something "
            "behind it; write it again as one stream and close the writer"
        )
    return _index_arrow(path, batches.schema, rows)


def stream_arrow_file(
    found: Index, first: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Pieces of batches from row `first` on with these columns, of about 16 MB."""
    at = int(np.searchsorted(found.starts, first, "right")) - 1

    def batches(data: pa.Buffer) -> Iterator[pa.RecordBatch]:
        file = pa.ipc.open_file(data)
        if not _lies_in(data, file.get_batch(at)):
            # only what is needed is decoded; of other batches this would make copies
            file = pa.ipc.open_file(data, options=_only(found, columns))
        for i in range(at, file.num_record_batches):
            yield file.get_batch(i).select(list(columns))

    yield from _mapped(found.path, batches, first - int(found.starts[at]))


def stream_arrow_stream(
    found: Index, first: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Pieces of batches from row `first` on with these columns, of about 16 MB."""

    def batches(data: pa.Buffer) -> Iterator[pa.RecordBatch]:
        return iter(pa.ipc.open_stream(data, options=_only(found, columns)))

    yield from _mapped(found.path, batches, first)


def _lies_in(data: pa.Buffer, batch: pa.RecordBatch) -> bool:
    """Whether a batch that was read from these bytes is a part of them."""
    pieces = (piece for column in batch.columns for piece in column.buffers())
    last = data.address + data.size
    return all(data.address <= one.address < last for one in pieces if one and one.size)


def _mapped(
    path: str,
    read: Callable[[pa.Buffer], Iterator[pa.RecordBatch]],
    skipped: int,
) -> Iterator[pa.RecordBatch]:
    """The rows of a file's batches without the first ones, in pieces.

    The file is mapped, so a batch that is not compressed takes no memory but for the
    pages that are looked at, which are given back after each piece.
    """
    with _damage(path), Path(path).open("rb") as file:
        # not closed here: the batches refer to it, and close it when they are gone
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for batch in _from_row(read(pa.py_buffer(pages)), skipped):
            rows = max(1, min(_ROWS, _BYTES // max(1, _mean_bytes(batch))))
            for first in range(0, batch.num_rows, rows):
                # to touch a page that the file has no more would end the process
                if os.fstat(file.fileno()).st_size < len(pages):
                    raise UserError(
                        f"pool file {path} has become shorter while it was read; bring "
                        "it back and run the same command again"
                    )
                yield batch.slice(first, rows)
                pages.madvise(mmap.MADV_DONTNEED)


def _mean_bytes(batch: pa.RecordBatch) -> int:
    return row_bytes(batch) // max(1, batch.num_rows)


def _index_arrow(path: str, schema: pa.Schema, rows: list[int]) -> Index:
    starts = np.cumsum([0, *rows])[:-1].astype(np.int64)
    return Index(path, sum(rows), _names(schema, path), starts, schema)


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
