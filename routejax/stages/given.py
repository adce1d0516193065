"""Rows that were chosen before the run, by `routejax.select` or by whoever made files.

    rows.paths = DIR                      of routejax.select; each arm is a selector
    rows.paths = ARM=FILES,ARM=FILES      each arm is a corpus of its own

All arms' rows make up the pool of the run, one that several arms share standing in it
once; which arm has which is in `FILE`. Arms must be of equal size, for a larger one
would be another recipe: `rows.n` draws as many from each. Left out: any choosing. Rows
of a selection have passed its rules already, those of files pass them here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from routejax import pools
from routejax.errors import UserError
from routejax.pools.files import state_of
from routejax.pools.paths import find_files
from routejax.progress import track
from routejax.selection import Selection
from routejax.stages.run import Run
from routejax.traces import SCHEMA
from routejax.workdir import read_json, write_json, write_parquet

FILE = "arms.json"  # ids of each arm, in the order read


class Source(NamedTuple):
    """Where the rows of an arm are, how to read them, and what they must pass."""

    paths: Sequence[str]
    layout: str
    columns: Mapping[str, str]
    rules: tuple[str, ...]
    known: Any  # what tells that they are others


class Found(NamedTuple):
    """Rows of all arms so far, and a hash of each one's texts by its id."""

    digests: dict[str, bytes]
    rows: list[pa.RecordBatch]


def sources(settings: Mapping[str, Any], arms: Sequence[str]) -> dict[str, Source]:
    """Where the rows of each arm are.

    Raises:
        UserError: no such folder or file, one that is no selection, or an arm that it
            has no rows of.
    """
    text = settings["paths"]
    if "=" not in text:
        return {arm: _selector(Path(text), arm) for arm in arms}
    parts = (part.partition("=") for part in pools.parse_paths(text))
    named = {arm: files for arm, _, files in parts}
    if missing := [arm for arm in arms if not named.get(arm)]:
        raise UserError(
            f"rows.paths must name the files of every arm, ARM=FILES,ARM=FILES; there "
            f"are none of {', '.join(missing)} in {text!r}"
        )
    rules = tuple(pools.TESTBEDS[settings["testbed"]])
    found = {}
    for arm in arms:
        files = find_files(named[arm])[0]
        known = [(path, *state_of(path)) for path in files]
        found[arm] = Source(files, settings["layout"], {}, rules, known)
    return found


def identity(settings: Mapping[str, Any], arms: Sequence[str]) -> Any:
    """What decides which rows there are, besides the draw."""
    return [
        [arm, one.layout, one.rules, one.known]
        for arm, one in sources(settings, arms).items()
    ]


def write_rows(run: Run, folder: Path) -> dict[str, Any]:
    """Writes `pool.parquet`, `rejected.parquet` and `FILE`; what was counted.

    Raises:
        UserError: an arm without rows, or one id for two rows.
    """
    found, rejected, ids = Found({}, []), [], {}
    rules: dict[str, int] = {}
    for arm, source in sources(run.config["rows"], run.config["arms"]).items():
        ids[arm], others = _read(run, arm, source, found)
        rejected.append(others)
        for name, count in pools.rejection_counts(others, source.rules).items():
            rules[name] = rules.get(name, 0) + count
        if not ids[arm]:
            raise UserError(
                f"no row of arm {arm} is eligible; rules: {', '.join(source.rules)}"
            )
    table = pa.Table.from_batches(found.rows, SCHEMA)
    pools.write_pool(folder / "pool.parquet", table)
    write_parquet(folder / "rejected.parquet", pa.concat_tables(rejected))
    write_json(folder / FILE, ids)
    return {
        "pool": {"rejected": {}, "shortfalls": {}},
        "eligible": len(table),
        "rejected": {name: count for name, count in rules.items() if count},
        "sha256": pools.pool_sha256(table),
    }


def selections(run: Run, table: pa.Table, groups: list[str]) -> dict[str, Selection]:
    """Each arm's rows of the pool; none where the run selects by itself.

    Raises:
        UserError: arms of different sizes, or with fewer rows than `rows.n`.
    """
    settings = run.config["rows"]
    if not settings["paths"]:
        return {}
    place = {name: n for n, name in enumerate(table["id"].to_pylist())}
    listed = read_json(run.root / "pool" / FILE)
    there = {arm: [i for i in ids if i in place] for arm, ids in listed.items()}
    sizes = {arm: len(ids) for arm, ids in there.items()}
    fewest, n = min(sizes.values()), settings["n"]
    said = ", ".join(f"{arm} {size:,}" for arm, size in sizes.items())
    if n is None and len({*sizes.values()}) > 1:
        raise UserError(
            f"all arms must have equally many rows, got {said}; --config.rows.n="
            f"{fewest} draws as many of each"
        )
    if n is not None and n > fewest:
        raise UserError(
            f"rows.n must be at most {fewest:,} (rows that pass the rules and fit into "
            f"sft.row_tokens: {said}), got {n:,}; lower it or name more files"
        )
    return {
        arm: _selection(_drawn(ids, n, settings["seed"]), place, groups)
        for arm, ids in there.items()
    }


def _selector(folder: Path, arm: str) -> Source:
    path = folder / "manifest.json"
    known = read_json(path) if path.is_file() else {}
    if "selectors" not in known:
        raise UserError(
            "rows.paths must be a folder of a finished python -m routejax.select, or "
            f"ARM=FILES,ARM=FILES; got {str(folder)!r}, where there is no "
            "manifest.json of a selection"
        )
    if arm not in known["selectors"]:
        raise UserError(
            f"{folder} has no selection {arm}; there are "
            f"{', '.join(known['selectors'])}: choose among them with --config.arms"
        )
    pool, name = known["config"]["pool"], f"{arm}.parquet"
    columns = {field: at for field, at in pool["columns"].items() if at}
    digest = known["selectors"][arm]["files"][name]
    paths = [str(folder / "selected" / name)]
    return Source(paths, pool["layout"], columns, (), digest)


def _read(
    run: Run, arm: str, source: Source, found: Found
) -> tuple[list[str], pa.Table]:
    """Ids of the arm's rows, put into `found`, and the rows that a rule rejected."""
    pool = pools.open_pool(source.paths, source.layout, source.columns)
    memory, ids = pools.Memory(source.rules), []
    needed = [*pools.columns_for(source.rules)]
    columns = [*dict.fromkeys((*SCHEMA.names, *needed))]
    rejected = [pools.REJECTED_SCHEMA.empty_table()]
    parts = pool.parts()
    with track(run.console, f"rows of {arm}", len(parts), "parts") as progress:
        for done, part in enumerate(parts, 1):
            for batch in pool.read(part, columns):
                failed = memory.settle(
                    pools.judge(batch.rows.select(needed), source.rules)
                )
                rejected.append(
                    pools.rejected_rows(batch.rows, failed, source.rules, part.path)
                )
                rejected.append(pools.unreadable_rows(batch.unreadable, part.path))
                passed = batch.rows.filter(pa.array(failed < 0)).select(SCHEMA.names)
                ids += _put(passed.cast(SCHEMA), arm, found)
            progress.update(done)
    return ids, pa.concat_tables(rejected)


def _put(rows: pa.RecordBatch, arm: str, found: Found) -> list[str]:
    """Adds the rows that no arm has yet; the ids of all of them."""
    ids, new = rows["id"].to_pylist(), []
    texts = zip(rows["prompt"].to_pylist(), rows["response"].to_pylist(), strict=True)
    for n, (name, both) in enumerate(zip(ids, texts, strict=True)):
        digest = hashlib.sha256("\x1f".join(both).encode()).digest()
        if name not in found.digests:
            found.digests[name] = digest
            new.append(n)
        elif found.digests[name] != digest:
            raise UserError(
                f"row {name} of arm {arm} has the id of a row with another text; each "
                "row needs an id of its own, or none, and one is made from its text"
            )
    found.rows.append(rows.take(pa.array(new, pa.int64())))
    return ids


def _drawn(ids: Sequence[str], n: int | None, seed: int) -> list[str]:
    """`n` of the ids by a hash of seed and id, whatever their order; None takes all."""
    if n is None or n == len(ids):
        return [*ids]
    return sorted(
        ids, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest()
    )[:n]


def _selection(
    ids: Sequence[str], place: Mapping[str, int], groups: list[str]
) -> Selection:
    names = sorted(ids)
    rows = np.array([place[name] for name in names])
    return Selection(
        rows=rows,
        ids=names,
        group=[groups[row] for row in rows.tolist()],
        cluster=np.full(len(rows), -1),
        rank=np.arange(len(rows)),
        distance=np.full(len(rows), np.nan),
        capped_ids=[],
        report={"method": "given", "groups": {}},
        labels=None,
    )
