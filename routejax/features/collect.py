"""All parts together: who is eligible, mean and variance, what was rejected and why.

Parts are read one at a time, so memory hardly grows with the pool (`settle`).
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from routejax import moments, pools, workdir
from routejax.errors import UserError
from routejax.features import folder
from routejax.features.claim import claim
from routejax.features.job import Job
from routejax.features.part import PASSED, exact_sums, sums_from_json
from routejax.features.settle import Failed, read_part, reason_of, rules_of, settle
from routejax.pools import Part

ROWS_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("part", pa.int32(), nullable=False),
        pa.field("index", pa.int32(), nullable=False),
        pa.field("eligible", pa.bool_(), nullable=False),
    ]
)
TABLES = ("rows.parquet", "rejected.parquet", "moments.parquet")


class _Tally(NamedTuple):
    """What is counted over the parts."""

    spans: Counter[str]
    rejected: Counter[str]
    hashes: dict[str, str]


def missing(job: Job, root: Path) -> list[int]:
    """Numbers of the parts that are not done."""
    return [part.number for part in job.parts if not folder.is_done(root, part)]


def collect(job: Job, root: Path) -> dict[str, Any]:
    """Writes `rows.parquet`, `rejected.parquet`, `moments.parquet` and `manifest.json`,
    and returns the manifest.

    Raises:
        UserError: a part is missing, or has changed since it was written; the input has
            changed; no row is eligible (`rejected.parquet` is written then).
    """
    inputs = claim(root, job)
    with folder.locked(root / ".lock-collect", wait=True):
        if parts := missing(job, root):
            raise UserError(
                f"{len(parts)} of {len(job.parts)} parts are missing, the first is "
                f"{parts[0]}; run the shards that make them"
            )
        folder.sweep(root)
        total, tally = _write_rows(job, root)
        _require_eligible(job, root, tally)
        _write_moments(root / "moments.parquet", total, job)
        manifest = inputs | _manifest(job, root, total, tally)
        workdir.write_json(root / "manifest.json", manifest)
        return manifest


def _write_rows(job: Job, root: Path) -> tuple[moments.Sums, _Tally]:
    """The tables of all rows and of the rejected ones, and what they add up to."""
    total = moments.no_sums(len(job.of.features))
    tally = _Tally(Counter(), Counter(), {})
    settled = settle(job, root)
    with (
        _writer(root / "rows.parquet", ROWS_SCHEMA) as rows,
        _writer(root / "rejected.parquet", pools.REJECTED_SCHEMA) as rejected,
    ):
        for part, failed in zip(job.parts, settled, strict=True):
            facts = workdir.read_json(folder.part_path(root, part, "json"))
            names = ["id", "prompt_id", "group", "row", "failed"]
            table = read_part(root, part, names)
            rows.write_table(_rows(part, table, failed))
            unreadable = [pools.Unreadable(**row) for row in facts["unreadable"]]
            _require_rows(root, part, table, unreadable)
            listed = [
                _rejected(part, table, failed, job),
                pools.unreadable_rows(unreadable, part.path),
            ]
            rejected.write_table(pa.concat_tables(listed))
            total += _sums(facts, root, part, table, failed, job)
            tally.spans.update(facts["spans"])
            for found in listed:
                tally.rejected.update(found["rule"].to_pylist())
            tally.hashes[folder.part_name(part)] = facts["sha256"]
    return total, tally


def _require_rows(
    root: Path, part: Part, table: pa.Table, unreadable: list[pools.Unreadable]
) -> None:
    """Every input row of a part is in it, read or not.

    Raises:
        UserError: it is not; the part was made of something else.
    """
    found = np.union1d(table["row"].to_numpy(), [row.row for row in unreadable])
    if not np.array_equal(found, np.arange(part.first, part.first + part.rows)):
        path = folder.part_path(root, part, "json")
        raise UserError(
            f"{path} has {len(found)} of the {part.rows} rows of its part; delete it "
            "and run the same command again to make it anew"
        )


def _rows(part: Part, table: pa.Table, failed: Failed) -> pa.Table:
    columns = [table[name] for name in ("id", "prompt_id", "group")]
    index = pa.array(np.arange(len(table), dtype=np.int32))
    number = pa.repeat(pa.scalar(part.number, pa.int32()), len(table))
    return pa.Table.from_arrays(
        [*columns, number, index, pa.array(failed < 0)], schema=ROWS_SCHEMA
    )


def _rejected(part: Part, table: pa.Table, failed: Failed, job: Job) -> pa.Table:
    """The rows of a part that fail a rule, in the order of the file."""
    places = np.flatnonzero(failed >= 0)
    rules = [rules_of(job)[number] for number in failed[places].tolist()]
    taken = table.select(["id", "row"]).take(pa.array(places))
    columns: dict[str, Any] = {
        "id": taken["id"],
        "row": taken["row"],
        "rule": rules,
        "file": pa.repeat(pa.scalar(part.path), len(places)),
        "reason": [reason_of(rule) for rule in rules],
    }
    return pa.table(columns, schema=pools.REJECTED_SCHEMA)


def _sums(
    facts: dict[str, Any],
    root: Path,
    part: Part,
    table: pa.Table,
    failed: Failed,
    job: Job,
) -> moments.Sums:
    """The part's sums, without rows that were found not to be eligible afterwards."""
    found = sums_from_json(facts["sums"][job.moments_over])
    late = np.flatnonzero((table["failed"].to_numpy() == PASSED) & (failed >= 0))
    if job.moments_over == "all" or not len(late):
        return found
    column = read_part(root, part, ["features"])["features"].take(pa.array(late))
    values = column.combine_chunks().flatten().to_numpy()
    return found - exact_sums(values.reshape(len(late), -1))


def _require_eligible(job: Job, root: Path, tally: _Tally) -> None:
    solutions = sum(tally.spans.values())
    said = ", ".join(f"{n:,} {rule}" for rule, n in tally.rejected.most_common())
    if solutions == sum(tally.rejected[rule] for rule in rules_of(job)):
        others = tally.rejected.total() - solutions
        rows, traces = job.pool.rows, solutions + others
        several = f"{traces:,} traces of " if traces != rows else ""
        raise UserError(
            f"none of {several}{rows:,} rows is eligible (rejected: {said}); "
            f"{root / 'rejected.parquet'} has the reason of each. Mend the pool, or "
            "choose other rules than those of --config.fingerprint.testbed="
            f"{job.testbed} with another --workdir"
        )


def _write_moments(path: Path, total: moments.Sums, job: Job) -> None:
    found = total.moments()
    names = job.of.feature_names
    table = pa.table({"name": names, "mean": found.mean, "variance": found.variance})
    counted = {"rows": str(found.count), "over": job.moments_over}
    workdir.write_parquet(path, table.replace_schema_metadata(counted))


def _manifest(
    job: Job, root: Path, total: moments.Sums, tally: _Tally
) -> dict[str, Any]:
    """What came out; the counts of every rule, zeros too, then of unreadable rows."""
    rules = {rule: tally.rejected[rule] for rule in rules_of(job)}
    others = {k: n for k, n in sorted(tally.rejected.items()) if k not in rules}
    solutions = sum(tally.spans.values())
    return {
        "rows": {
            "input": job.pool.rows,
            "solutions": solutions,
            "eligible": solutions - sum(rules.values()),
            "unreadable": sum(others.values()),
        },
        "spans": dict(sorted(tally.spans.items())),
        "rejected": rules | others,
        "moments": {"over": job.moments_over, "rows": total.count},
        "features": list(job.of.feature_names),
        "blocks": dict(job.of.blocks),
        "tables": {name: folder.file_sha256(root / name) for name in TABLES},
        "parts": tally.hashes,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pyarrow": pa.__version__,
        },
    }


@contextmanager
def _writer(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """A Parquet file that takes its name when it is whole."""
    part = path.with_name(f".{path.name}.part")
    try:
        with pq.ParquetWriter(part, schema, compression="zstd") as writer:
            yield writer
        part.replace(path)
    except OSError as error:
        raise workdir.disk_error(error, path) from error
    finally:
        part.unlink(missing_ok=True)
