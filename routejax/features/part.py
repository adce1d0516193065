"""One part of a pool to its two files: features per row, and sums and counts.

The bytes depend on the part's rows and on the job's settings alone. A part is read in
batches; only its features are held as a whole.
"""

from __future__ import annotations

import base64
import importlib
import io
import json
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float

from routejax import fingerprints, moments, pools, workdir
from routejax.features.job import Job
from routejax.pools import Part

PASSED = 127  # `failed` of a row that no rule rejects by itself (`pools.Verdicts`)


# Names of a row, and what rules say of it.
_NAMES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("failed", pa.int8(), nullable=False),
    ]
)


def schema(width: int) -> pa.Schema:
    """Columns of a part: names of the row, what rules say of it, its features."""
    kind = pa.list_(pa.float32(), width)
    return _NAMES.append(pa.field("features", kind, nullable=False))


def part_files(job: Job, part: Part) -> dict[str, bytes]:
    """The files of a part by kind: the rows as Parquet, then sums and counts as JSON.

    Raises:
        UserError: damage in the input file.
    """
    width = len(job.of.features)
    tables, unreadable = [_NAMES.empty_table()], []
    blocks: list[np.ndarray] = []
    spans: Counter[str] = Counter()
    keys: dict[str, list[str]] = {}
    for batch in job.pool.read(part, job.reads):
        unreadable += [row._asdict() for row in batch.unreadable]
        if not batch.rows.num_rows:
            continue
        verdicts = pools.judge(batch.rows, job.rules)
        blocks.append(fingerprints.features(batch.rows, job.family, job.engine))
        spans.update(batch.rows["span"].to_pylist())
        for name, found in verdicts.keys.items():
            keys.setdefault(name, []).extend(map(_text, found))
        tables.append(_rows(batch.rows, verdicts.failed))
    names, values = pa.concat_tables(tables), _joined(blocks, width)
    rows = _parquet(names, values)
    facts = {
        "part": part.number,
        "file": part.path,
        "sha256": workdir.sha256(rows),
        "rows": len(names),
        "spans": dict(sorted(spans.items())),
        "unreadable": unreadable,
        "keys": keys,
        "sums": {over: _as_json(found) for over, found in _sums(names, values)},
    }
    text = json.dumps(facts, separators=(",", ":"))
    return {"parquet": rows, "json": text.encode()}


def exact_sums(values: Float[np.ndarray, "B D"]) -> moments.Sums:
    """The exact sums of a block; none for no rows."""
    if not len(values):
        return moments.no_sums(values.shape[1])
    if fingerprints.has_numba():
        return importlib.import_module("routejax.fingerprints.engine.sums").sums(values)
    return moments.sums([values])


def sums_from_json(facts: dict[str, Any]) -> moments.Sums:
    """The sums that `part_files` wrote."""
    return moments.Sums(
        facts["count"],
        tuple(int(digits, 16) for digits in facts["values"].split(" ")),
        tuple(int(digits, 16) for digits in facts["squares"].split(" ")),
    )


def keys_from_json(facts: dict[str, list[str]]) -> dict[str, list[bytes]]:
    """The keys of counting rules that `part_files` wrote."""
    return {rule: [base64.b64decode(k) for k in found] for rule, found in facts.items()}


def _as_json(found: moments.Sums) -> dict[str, Any]:
    """Sums are integers of up to 150 bits, so they are kept as hexadecimal digits."""
    return {
        "count": found.count,
        "values": " ".join(f"{value:x}" for value in found.values),
        "squares": " ".join(f"{value:x}" for value in found.squares),
    }


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _sums(
    names: pa.Table, values: Float[np.ndarray, "N D"]
) -> tuple[tuple[str, moments.Sums], ...]:
    """The exact sums of all rows, and of the eligible ones.

    Once for a part: sums are thousands of integers of Python's, and to make and add
    those of every batch holds up the other threads. Of the eligible rows and the others
    the fewer are summed.
    """
    total, passed = exact_sums(values), names["failed"].to_numpy() == PASSED
    if 2 * np.count_nonzero(passed) <= len(passed):
        return ("all", total), ("eligible", exact_sums(values[passed]))
    return ("all", total), ("eligible", total - exact_sums(values[~passed]))


def _joined(blocks: list[np.ndarray], width: int) -> Float[np.ndarray, "N D"]:
    """The rows of all blocks, in memory that Arrow uses again for the next part."""
    rows = sum(map(len, blocks))
    room = pa.allocate_buffer(rows * width * np.dtype(np.float32).itemsize)
    values = np.frombuffer(room, np.float32).reshape(rows, width)
    return np.concatenate(blocks, out=values) if blocks else values


def _rows(batch: pa.RecordBatch, failed: np.ndarray) -> pa.Table:
    columns = [batch[name] for name in ("id", "prompt_id", "group", "row")]
    return pa.Table.from_arrays([*columns, pa.array(failed)], schema=_NAMES)


def _parquet(names: pa.Table, values: Float[np.ndarray, "N D"]) -> bytes:
    """All rows as one row group; features plain and not compressed, as they are noise
    to a compressor and are read more often than written."""
    width = values.shape[1]
    found = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), width)
    columns = [*names.columns, pa.chunked_array([found])]
    table = pa.Table.from_arrays(columns, schema=schema(width))
    out = io.BytesIO()
    others = [name for name in table.schema.names if name != "features"]
    compression = dict.fromkeys(others, "zstd") | {"features.list.element": "none"}
    pq.write_table(
        table.combine_chunks(),
        out,
        compression=compression,  # pyright: ignore[reportArgumentType]
        use_dictionary=["group", "prompt_id"],  # pyright: ignore[reportArgumentType]
        write_statistics=False,
        write_page_checksum=True,
        row_group_size=max(len(table), 1),
        data_page_size=1 << 20,
    )
    return out.getvalue()
