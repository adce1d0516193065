"""Who is eligible, once all parts are there: rules that need the rows before.

Rows are taken in the order of the pool. The rules that count come from the testbed; the
last one is of every pool: ids are unique, so of eligible rows with one id the first is
kept (our choice). It is a rule and no error because a corpus without ids of its own has
them from its content, where a row that is there twice is common; and as for every rule
the rows are counted and listed, so that files that number their rows alike are seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int8

from routejax import pools, workdir
from routejax.errors import UserError
from routejax.features import folder
from routejax.features.job import Job
from routejax.features.part import keys_from_json
from routejax.pools import Part

DISTINCT_ID = "distinct_id"
_REASON = "an earlier row has the same id"

Failed = Int8[np.ndarray, "N"]


def rules_of(job: Job) -> tuple[str, ...]:
    """The testbed's rules, and the one of every pool; `settle` numbers them so."""
    return (*job.rules, DISTINCT_ID)


def reason_of(rule: str) -> str:
    return _REASON if rule == DISTINCT_ID else pools.RULES[rule].reason


def settle(job: Job, root: Path) -> list[Failed]:
    """Per part and row the number of the first rule that it fails, -1 if eligible.

    Takes 9 bytes per row of the pool, and a hash for each row that a rule counts.

    Raises:
        UserError: a part has changed since it was written.
    """
    memory = pools.Memory(job.rules)
    settled: list[Failed] = []
    hashes: list[np.ndarray] = []
    for part in job.parts:
        facts = workdir.read_json(folder.part_path(root, part, "json"))
        table = _verified(folder.part_path(root, part, "parquet"), facts["sha256"])
        keys = keys_from_json(facts["keys"])
        failed = memory.settle(pools.Verdicts(table["failed"].to_numpy(), keys))
        ids = table["id"].filter(pa.array(failed < 0)).to_pylist()
        # any hash will do: which ids are equal is decided by the ids themselves
        hashes.append(np.fromiter(map(hash, ids), np.int64, len(ids)))
        settled.append(failed)
    if suspects := _twice(hashes):
        _reject_later(job.parts, root, settled, suspects, len(job.rules))
    return settled


def read_part(root: Path, part: Part, columns: Sequence[str]) -> pa.Table:
    """Columns of a part that is done.

    Raises:
        UserError: the file is damaged.
    """
    path = folder.part_path(root, part, "parquet")
    try:
        return pq.read_table(path, columns=list(columns)).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        raise _changed(path) from error


def _verified(path: Path, sha256: str) -> pa.Table:
    """What rules need of a part whose file is as it was written."""
    data = path.read_bytes()
    if workdir.sha256(data) != sha256:
        raise _changed(path)
    return pq.read_table(pa.BufferReader(data), columns=["id", "failed"])


def _changed(path: Path) -> UserError:
    return UserError(
        f"{path} has changed since it was written; delete it and run the same command "
        "again to make it anew"
    )


def _twice(hashes: Sequence[np.ndarray]) -> set[int]:
    """The values that are there more than once."""
    values = np.concatenate([np.empty(0, np.int64), *hashes])
    values.sort()
    return set(values[1:][values[1:] == values[:-1]].tolist())


def _reject_later(
    parts: Sequence[Part],
    root: Path,
    settled: Sequence[Failed],
    suspects: set[int],
    rule: int,
) -> None:
    """Marks eligible rows whose id an earlier eligible row has."""
    seen: set[str] = set()
    for part, failed in zip(parts, settled, strict=True):
        ids = read_part(root, part, ["id"])["id"].to_pylist()
        for row in np.flatnonzero(failed < 0).tolist():
            if hash(ids[row]) in suspects:
                if ids[row] in seen:
                    failed[row] = rule
                seen.add(ids[row])
