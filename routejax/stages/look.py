"""One trace of a pool with all that there is to see of it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from routejax import features, fingerprints, pools
from routejax.errors import UserError
from routejax.features import Job
from routejax.pools import Part
from routejax.report.trace_page_view import TraceView

_NEAR = 3  # ids named where there is none of the one asked for


def look(job: Job, root: Path, name: str) -> TraceView:
    """The trace with this id, the first where several have it, its steps and
    fingerprint, and the pool's moments if the folder `root` has them already.

    Raises:
        UserError: no trace of the pool has the id, or only one that is unreadable; the
            family labels no steps; the folder is another job's, or damaged.
    """
    _require_utf8(name)
    require_steps(job)
    made = features.is_claimed(root, job)
    done = root if made and (root / "manifest.json").exists() else None
    bad = [] if done is None else _rejected(done, name)
    part = _find(_ids(job, done, bad), name, bad)
    return _view(job, part, name, root if made else None, done)


def view(job: Job, root: Path, part: Part, name: str) -> TraceView:
    """`look` where the part is known in which the trace lies, and the folder `root` is
    finished: nothing is searched for."""
    return _view(job, part, name, root, root)


def require_steps(job: Job) -> None:
    """Raises: UserError, where the family labels no steps."""
    if job.of.grammar is None:
        known = [one.name for one in fingerprints.FAMILIES.values() if one.grammar]
        raise UserError(
            f"family {job.family!r} labels no steps in the text; traces can be looked "
            f"at with a family that does: {', '.join(known)}"
        )


def _view(
    job: Job, part: Part, name: str, moments: Path | None, done: Path | None
) -> TraceView:
    """The trace; `moments` is the folder that may have the pool's, `done` one that is
    finished."""
    family = job.of
    batch = _row(job, part, name)
    row = batch.to_pylist()[0]
    mean, sigma, rows = _pool_moments(moments) if moments else (None, None, None)
    if done is None:
        standing = _so_far(job, batch)
    else:
        standing = _settled(done, part, row, _rejected(done, name))
    return TraceView(
        id=row["id"],
        prompt=row["prompt"],
        group=row["group"],
        source=row["source"],
        verified=row["verified"],
        span=row["span"],
        family=family.name,
        version=family.version,
        steps=fingerprints.explain(row["reasoning"], family.name),
        cues=fingerprints.cues(row["reasoning"], family.name),
        names=family.feature_names,
        meanings=[feature.meaning for feature in family.features],
        values=fingerprints.features(batch, family.name, "reference")[0],
        pool_mean=mean,
        pool_sigma=sigma,
        pool_rows=rows,
        standing=standing,
    )


def _find(
    ids: Iterator[tuple[Part, pa.Array]], name: str, bad: list[dict[str, Any]]
) -> Part:
    """The first part with the id.

    Raises:
        UserError: none has it; why it is unreadable if it is among the `bad` rows, else
            those that are written most like it.
    """
    near: list[tuple[int, str]] = []
    for part, found in ids:
        if _where(found, name) >= 0:
            return part
        like = ((_likeness(one, name), one) for one in found.to_pylist())
        near = heapq.nlargest(_NEAR, [*near, *like])
    for row in bad:
        if row["id"] == name:
            raise UserError(
                f"{name!r}, row {row['row']} of {row['file']}, cannot be read, so it "
                f"has no steps: {row['rule']}, {row['reason']}"
            )
    said = ", ".join(repr(one) for _, one in near)
    raise UserError(
        f"no trace of the pool has the id {name!r}; the nearest are {said or 'none'}"
    )


def _likeness(one: str, other: str) -> int:
    """Characters that two ids share at their beginning and at their end."""
    return _same(one, other) + _same(one[::-1], other[::-1])


def _same(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _ids(
    job: Job, done: Path | None, bad: list[dict[str, Any]]
) -> Iterator[tuple[Part, pa.Array]]:
    """The ids of each part: from the folder if it is finished, else from the pool,
    whose unreadable rows are added to `bad`."""
    if done is None:
        for part in job.parts:
            for batch in job.pool.read(part, ("id",)):
                bad += pools.unreadable_rows(batch.unreadable, part.path).to_pylist()
                yield part, batch.rows["id"]
        return
    path = done / "rows.parquet"
    with _intact(path), pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=["id", "part"])
            if len(rows):
                part = job.parts[rows["part"][0].as_py()]
                yield part, rows["id"].combine_chunks()


def _rejected(done: Path, name: str) -> list[dict[str, Any]]:
    """The rejected and unreadable rows with an id."""
    path = done / "rejected.parquet"
    with _intact(path):
        return pq.read_table(path, filters=[("id", "==", name)]).to_pylist()


def _so_far(job: Job, batch: pa.RecordBatch) -> str:
    """What rules say of one row alone."""
    failed = int(pools.judge(batch, job.rules).failed[0])
    if failed < len(job.rules):
        rule = job.rules[failed]
        return f"not eligible: {rule}, {pools.RULES[rule].reason}"
    return (
        "passes the rules that look at a row alone; whether it is eligible is known "
        "when all parts are made"
    )


def _settled(
    done: Path, part: Part, row: dict[str, Any], rejected: list[dict[str, Any]]
) -> str:
    """What came of a row, and how many have its id."""
    path = done / "rows.parquet"
    with _intact(path):
        same = pq.read_table(path, columns=["id"], filters=[("id", "==", row["id"])])
    at = part.path, row["row"]
    here = [one for one in rejected if (one["file"], one["row"]) == at]
    text = "eligible"
    if here:
        text = f"not eligible: {here[0]['rule']}, {here[0]['reason']}"
    many = f"; {len(same):,} rows have this id, this is the first"
    return text + (many if len(same) > 1 else "")


def _require_utf8(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"the id must be UTF-8, got {name!r}") from error


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Raises: UserError, where one of the folder's tables cannot be read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{path} is missing or damaged ({error}); run the command without "
            "--explain to make it anew"
        ) from error


def _row(job: Job, part: Part, name: str) -> pa.RecordBatch:
    rows = (batch.rows for batch in job.pool.read(part))
    found = ((batch, _where(batch["id"], name)) for batch in rows)
    return next(batch.slice(place, 1) for batch, place in found if place >= 0)


def _where(ids: pa.Array, name: str) -> int:
    """The place of the first id that is the name, -1 if there is none."""
    options = pc.IndexOptions(pa.scalar(name, ids.type))
    return pc.call_function("index", [ids], options).as_py()


def _pool_moments(
    root: Path,
) -> tuple[np.ndarray, np.ndarray, int] | tuple[None, None, None]:
    """Mean, sigma and rows of the pool, if they have been collected."""
    path = root / "moments.parquet"
    if not path.exists():
        return None, None, None
    with _intact(path):
        table = pq.read_table(path)
    rows = int(table.schema.metadata[b"rows"])
    return table["mean"].to_numpy(), np.sqrt(table["variance"].to_numpy()), rows
