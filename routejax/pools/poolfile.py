"""Canonical pool files: Parquet with the columns of `routejax.traces.SCHEMA`.

A file is written whole or not at all, and the same rows in the same order give the same
bytes. A file that is read is checked completely, because everything behind this door
trusts it. Left out: the layouts of released corpora, and pools larger than memory.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from routejax.errors import UserError
from routejax.pools.checks import check_ids, conform
from routejax.traces import SCHEMA, Trace, to_table

_ROW_GROUP = 8192
_MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_SIGNATURE = 28  # bytes behind a footer that is legible though columns are not


def write_pool(path: str | Path, rows: Iterable[Trace] | pa.Table) -> None:
    """Writes `rows` to `path`, replacing what is there; Parquet with zstd.

    The bytes depend on the rows, their order and the version of pyarrow, not on how the
    table is cut into chunks. They go to a temporary file beside `path`, reach the disk,
    and only then take the name.

    Raises:
        UserError: no folder, no rows, or rows that `read_pool` would not accept.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise UserError(f"folder {path.parent} does not exist; make it first")
    table = rows if isinstance(rows, pa.Table) else to_table(rows)
    table = conform(table, str(path))
    check_ids([(str(path), table)])
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            _write(table, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    _sync_folder(path.parent)


def read_pool(paths: str | Path | Sequence[str | Path]) -> pa.Table:
    """The rows of one or several pool files as one table with exactly `SCHEMA`.

    Files in the given order, rows in the order of each file. Columns may stand in any
    order in a file.

    Raises:
        UserError: no path; a file that is missing, empty, cut off, damaged or not
            Parquet; a column that is missing, not known or of another type; a null in a
            column that allows none; text that is not UTF-8; an id that is empty, of
            several lines or there twice; a file without rows.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    if not listed:
        raise UserError("no pool file was named; name at least one Parquet file")
    tables = [(str(path), conform(_read(Path(path)), str(path))) for path in listed]
    check_ids(tables)
    return pa.concat_tables([table for _, table in tables])


def _write(table: pa.Table, file: object) -> None:
    """Row groups of 8,192 rows, each one chunk, whatever the chunks of the table."""
    with pq.ParquetWriter(
        file, SCHEMA, compression="zstd", write_page_checksum=True
    ) as writer:
        for first in range(0, len(table), _ROW_GROUP):
            writer.write_table(table.slice(first, _ROW_GROUP).combine_chunks())


def _sync_folder(folder: Path) -> None:
    """Makes a rename last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path) -> pa.Table:
    check_envelope(path)
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        check_plain(path, file.metadata)
        return file.read()
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{path} is a damaged Parquet file ({error}); copy or write it again"
        ) from error


def check_envelope(path: str | Path) -> None:
    """A Parquet file begins and ends with four known bytes.

    Raises:
        UserError: it does not, is not there, or is a folder.
    """
    path = Path(path)
    if not path.exists():
        raise UserError(f"pool file {path} does not exist; check the path")
    if not path.is_file():
        raise UserError(f"pool file {path} is a folder; name the Parquet files in it")
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(max(0, size - 4))
        tail = file.read(4)
    if not size:
        raise UserError(f"pool file {path} is empty (0 bytes); write it again")
    if head == _ENCRYPTED:
        raise _encrypted(path)
    if head != _MAGIC:
        raise UserError(
            f"pool file {path} is not Parquet (it begins with {head!r}); "
            "convert it to a pool file first"
        )
    if size < 12 or tail != _MAGIC:
        raise UserError(
            f"pool file {path} is cut off after {size} bytes (the end of a Parquet "
            "file is missing); copy or write it again"
        )


def check_plain(path: str | Path, meta: pq.FileMetaData) -> None:
    """Nothing comes out. Arrow ends the process when it is asked about a column that is
    encrypted, so this comes before; such a file has its footer signed.

    Raises:
        UserError: columns of the file are encrypted.
    """
    with Path(path).open("rb") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
    if length - meta.serialized_size == _SIGNATURE:
        raise _encrypted(path)


def _encrypted(path: str | Path) -> UserError:
    return UserError(
        f"pool file {path} is encrypted; write it again without encryption"
    )
