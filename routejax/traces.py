"""The record every stage exchanges: one candidate solution, and its one Arrow schema.

One row is one candidate solution to one prompt. Columns and types are those of a pool
file on disk; `Trace` is the same row in memory.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator

import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("response", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("source", pa.string()),
        pa.field("verified", pa.bool_()),
        pa.field("env", pa.string()),
        pa.field("difficulty", pa.int32()),
        pa.field("seed", pa.int64()),
        pa.field("steps", pa.list_(pa.string())),
        pa.field("strategy", pa.string()),
        pa.field("meta", pa.string(), nullable=False),
    ]
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace:
    """One candidate solution.

    Attributes:
        id: unique in its pool.
        prompt_id: equal for all rows that answer one prompt.
        prompt: the user turn.
        response: the whole assistant turn, as released.
        group: domain label; `"all"` when selection runs over the whole pool.
        source: name of the generator, or None if unknown.
        verified: whether the verifier accepted it; None for released corpora.
        env, difficulty, seed: provenance of a procedurally generated prompt.
        steps, strategy: annotated step types and strategy label, where they exist.
        meta: JSON of everything else in the input row, so that nothing is lost.
    """

    id: str
    prompt_id: str
    prompt: str
    response: str
    group: str = "all"
    source: str | None = None
    verified: bool | None = None
    env: str | None = None
    difficulty: int | None = None
    seed: int | None = None
    steps: list[str] | None = None
    strategy: str | None = None
    meta: str = "{}"


def content_id(*parts: object) -> str:
    """16 hexadecimal digits of the SHA-256 of the parts, for ids made from content."""
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def to_table(traces: Iterable[Trace]) -> pa.Table:
    """Rows in the given order as one Arrow table with `SCHEMA`."""
    rows = [dataclasses.asdict(trace) for trace in traces]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def from_table(table: pa.Table) -> Iterator[Trace]:
    """The rows of a table with `SCHEMA`, in order."""
    for batch in table.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            yield Trace(**row)
