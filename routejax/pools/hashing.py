"""One hash for the rows of a pool, whatever their order and their files."""

import hashlib
import json

import pyarrow as pa

from routejax.traces import SCHEMA


def pool_sha256(table: pa.Table) -> str:
    """SHA-256 over the sorted SHA-256 hashes of the rows, 64 hexadecimal digits.

    A row is hashed as a JSON array of its values in the order of `SCHEMA` (UTF-8, no
    spaces), so the hash changes with any value and with nothing else: not with row
    order, chunks, files or the version of Parquet.
    """
    hashes = sorted(
        hashlib.sha256(_row_bytes(row)).digest()
        for batch in table.select(SCHEMA.names).to_batches(max_chunksize=4096)
        for row in batch.to_pylist()
    )
    return hashlib.sha256(b"".join(hashes)).hexdigest()


def _row_bytes(row: dict[str, object]) -> bytes:
    text = json.dumps(list(row.values()), ensure_ascii=False, separators=(",", ":"))
    return text.encode()
