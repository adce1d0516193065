"""Stage `phi`: the candidates in order of their ids, and what distances are taken in.

Features are read part by part and projected block by block; only phi itself is held,
2 bytes an entry. Its order is that of the ids, so `phi.npy` and its hash are the same
whatever the order of the pool.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float, Int64, Num

from routejax import features, selection, workdir
from routejax.features.folder import PARTS
from routejax.moments import Moments
from routejax.progress import track
from routejax.selection.grid import hashed
from routejax.stages.select_features import eligible_rows, pool_moments
from routejax.stages.select_run import Outputs, SelectRun

# A multiple of the blocks in which `selection.project` works: so the blocks are those
# of the whole pool at once, and so are the bits of phi.
BLOCK_ROWS = 4096


class Phi(NamedTuple):
    """What the stage made, read back.

    Attributes:
        rows: table with `id`, `prompt_id`, `group`, `part`, and where in the part's
            file a row comes from: `row` is its input row, `nth` (from 0) which solution
            of it.
        values: a memory map of grid rows (int16), or of phi itself (float32).
        facts: `phi.json`: rows, features, precision, scale and hash of the grid.
    """

    rows: pa.Table
    values: Num[np.ndarray, "E R"]
    facts: dict[str, Any]


def make_phi(run: SelectRun, manifest: dict[str, Any]) -> Outputs:
    """Hashes of `phi.npy`, `rows.parquet` and `phi.json`."""
    inputs = {
        "features": {key: manifest[key] for key in ("parts", "tables")},
        "projection": run.settings.projecting(),
        "group_by": run.settings.group_by,
    }
    return run.stage("phi", inputs, lambda folder: _make(run, folder))


def read_phi(root: Path) -> Phi:
    folder = root / "phi"
    return Phi(
        pq.read_table(folder / "rows.parquet"),
        np.load(folder / "phi.npy", mmap_mode="r"),
        workdir.read_json(folder / "phi.json"),
    )


def _make(run: SelectRun, folder: Path) -> None:
    table = eligible_rows(run.features)
    rank = np.empty(len(table), np.int64)  # by place in the pool
    rank[table["place"].to_numpy()] = np.arange(len(table))
    sources = _Sources(np.empty(len(table), np.int64), np.empty(len(table), np.int64))
    stats = pool_moments(run.features)
    values = np.empty((0, 0))
    with track(run.console, "project", len(table), "rows") as progress:
        for block in _blocks(_parts(run.features, table, rank, sources)):
            phi = _projected(run, stats, block)
            if not progress.done:
                values = np.empty((len(table), phi.shape[1]), phi.dtype)
            values[rank[progress.done :][: len(phi)]] = phi
            progress.update(progress.done + len(phi))
    _write_npy(folder / "phi.npy", values)
    workdir.write_parquet(folder / "rows.parquet", _rows(run, table, sources))
    facts = {"rows": len(values), "features": values.shape[1]}
    facts |= {"family": run.job.family, "precision": run.settings.precision}
    if run.settings.precision == "exact":
        grid = hashed(values, selection.SCALE)
        facts |= {"scale": grid.scale, "sha256": grid.sha256}
    workdir.write_json(folder / "phi.json", facts)


class _Sources(NamedTuple):
    """Input row, and number among its solutions, of every row in order of id."""

    row: Int64[np.ndarray, "E"]
    nth: Int64[np.ndarray, "E"]


def _parts(
    root: Path, table: pa.Table, rank: Int64[np.ndarray, "E"], sources: _Sources
) -> Iterator[Float[np.ndarray, "B D"]]:
    """Features of the eligible rows, part by part; fills in where they come from."""
    in_part = table["index"].to_numpy()
    names = list(workdir.read_json(root / "manifest.json")["parts"])
    done = 0
    for name, (ids, values) in zip(names, features.read_features(root), strict=True):
        if ids:
            here = rank[done : done + len(ids)]
            path = root / PARTS / f"{name}.parquet"
            row = pq.read_table(path, columns=["row"])["row"].to_numpy()
            nth = np.arange(len(row)) - np.searchsorted(row, row)
            sources.row[here] = row[in_part[here]]
            sources.nth[here] = nth[in_part[here]]
            done += len(ids)
            yield values


def _blocks(
    parts: Iterator[Float[np.ndarray, "B D"]],
) -> Iterator[Float[np.ndarray, "B D"]]:
    """The same rows in blocks of `BLOCK_ROWS`, the last one shorter."""
    kept: list[np.ndarray] = []
    for part in parts:
        kept.append(part)
        while sum(map(len, kept)) >= BLOCK_ROWS:
            rows = np.concatenate(kept)
            yield rows[:BLOCK_ROWS]
            kept = [rows[BLOCK_ROWS:]]
    if rest := [part for part in kept if len(part)]:
        yield np.concatenate(rest)


def _projected(
    run: SelectRun, stats: Moments, block: Float[np.ndarray, "B D"]
) -> Num[np.ndarray, "B R"]:
    """phi of a block: on the grid, or float32."""
    settings = run.settings
    phi = selection.project(
        block,
        stats=stats,
        unscaled=settings.unscaled,
        variance_floor=settings.variance_floor,
        r=settings.r,
        seed=settings.projection_seed,
    )
    return selection.to_grid(phi).values if settings.precision == "exact" else phi


def _rows(run: SelectRun, table: pa.Table, sources: _Sources) -> pa.Table:
    kept = table.select(["id", "prompt_id", "group", "part"])
    if run.settings.group_by == "all":
        group = pa.repeat(pa.scalar("all"), len(table))
        kept = kept.set_column(2, "group", group)
    kept = kept.append_column("row", pa.array(sources.row))
    return kept.append_column("nth", pa.array(sources.nth))


def _write_npy(path: Path, values: Num[np.ndarray, "E R"]) -> None:
    """Whole or not at all; written in pieces, not mapped: a full disk is an error."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            header = np.lib.format.header_data_from_array_1_0(values)
            np.lib.format.write_array_header_1_0(file, header)
            for first in range(0, len(values), BLOCK_ROWS):
                file.write(values[first : first + BLOCK_ROWS].tobytes())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise workdir.disk_error(error, path) from error
    finally:
        part.unlink(missing_ok=True)
