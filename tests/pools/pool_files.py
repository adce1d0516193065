"""The same rows in a file of every kind."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq


def _lines(path, rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)


def _jsonl(path, rows):
    path.write_bytes(_lines(path, rows))


def _gzip(path, rows):
    """Two members, as when files are put behind each other."""
    text = _lines(path, rows)
    half = len(text) // 2
    path.write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))


def _zstd(path, rows):
    """Two frames, as when files are put behind each other."""
    text = _lines(path, rows)
    codec, half = pa.Codec("zstd"), len(text) // 2
    frames = (
        codec.compress(piece, asbytes=True) for piece in (text[:half], text[half:])
    )
    path.write_bytes(b"".join(frames))


def _arrow(new):
    def write(path, rows):
        table = pa.Table.from_pylist(rows)
        with new(path, table.schema) as writer:
            for first in range(0, len(table), 5):
                writer.write_table(table.slice(first, 5))

    return write


WRITERS = {
    "parquet": _parquet,
    "jsonl": _jsonl,
    "jsonl.gz": _gzip,
    "jsonl.zst": _zstd,
    "arrow": _arrow(pa.ipc.new_file),
    "stream.arrow": _arrow(pa.ipc.new_stream),
}


def write_all(folder, rows):
    """One file of each kind with these rows, by kind."""
    files = {kind: folder / f"pool.{kind}" for kind in WRITERS}
    for kind, path in files.items():
        WRITERS[kind](path, rows)
    return files
