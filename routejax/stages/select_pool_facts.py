"""Stage `measures/pool`: the pool that selections are drawn over and compared with.

    plane.npy    two coordinates of every candidate, in the order of `phi/`
    pool.json    density of the map; groups, sources and lengths of the candidates

Groups are counted over all candidates. Sources and lengths stand in the pool's files,
which may be large: of more than `ROWS` rows, whole parts at even steps are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Float64, Num

from routejax import selection, workdir
from routejax.progress import track
from routejax.stages.select_features import eligible_rows
from routejax.stages.select_phi import read_phi
from routejax.stages.select_run import Outputs, SelectRun

ROWS = 200_000
CELLS = 72  # of the density, along either side
_BEYOND = 0.0005  # share of rows at either end that the frame of the map may leave out
_NOTHING = 1e-4  # below it all rows lie in one place
_BLOCK_ROWS = 8192


def make_pool_facts(
    run: SelectRun, phi: Outputs, manifest: Mapping[str, Any]
) -> Outputs:
    """Hashes of `plane.npy` and `pool.json`."""
    inputs = {"phi": phi, "files": manifest["files"], "rows": ROWS, "cells": CELLS}
    return run.stage("measures/pool", inputs, lambda folder: _make(run, folder))


def length_bin(characters: int) -> int:
    """The half octave of a length: bin b holds lengths from 2^(b/2) up to the next."""
    return int(np.floor(2 * np.log2(max(1, characters)) + 1e-9))


def density(plane: Num[np.ndarray, "N 2"]) -> dict[str, Any]:
    """How many rows lie in each cell of a square frame, empty cells left out.

    The frame holds all but the outermost 0.05 % of the rows of each side, which count
    in the cells at the border.
    """
    low, high = np.quantile(plane, [_BEYOND, 1 - _BEYOND], axis=0)
    reach = float((high - low).max())
    side = 1.02 * reach if reach > _NOTHING else 1.0
    corner = (low + high) / 2 - side / 2
    inside = np.clip((plane - corner) / side * CELLS, 0, CELLS - 1).astype(np.int64)
    counts = np.bincount(inside[:, 1] * CELLS + inside[:, 0], minlength=CELLS**2)
    cells = np.flatnonzero(counts)
    return {
        "cells": CELLS,
        "corner": [round(float(x), 6) for x in corner],
        "side": round(side, 6),
        "at": cells.tolist(),
        "rows": counts[cells].tolist(),
    }


def _make(run: SelectRun, folder: Path) -> None:
    phi = read_phi(run.root)
    plane = selection.principal_plane(phi.values) / phi.facts.get("scale", 1)
    np.save(folder / "plane.npy", plane.astype(np.float32))
    groups = eligible_rows(run.features)["group"].value_counts().to_pylist()
    facts = {
        "groups": dict(sorted((g["values"], g["counts"]) for g in groups)),
        "map": density(plane) | {"variance": _held(phi.values, plane, phi.facts)},
        **_read(run),
    }
    workdir.write_json(folder / "pool.json", facts)


def _held(
    values: Num[np.ndarray, "N R"],
    plane: Float64[np.ndarray, "N 2"],
    facts: Mapping[str, Any],
) -> float:
    """The share of the variance of phi that the plane holds."""
    squares, total = 0.0, np.zeros(values.shape[1])
    for first in range(0, len(values), _BLOCK_ROWS):
        rows = np.asarray(values[first : first + _BLOCK_ROWS], np.float64)
        squares += float((rows * rows).sum())
        total += rows.sum(axis=0)
    mean = total / len(values)
    whole = (squares / len(values) - float(mean @ mean)) / facts.get("scale", 1) ** 2
    return round(float(plane.var(axis=0).sum()) / whole, 4) if whole > 0 else 1.0


def _read(run: SelectRun) -> dict[str, Any]:
    """Sources and lengths of candidates, and how many were read."""
    parts = run.job.parts
    step = max(1, -(-run.job.pool.rows // ROWS))
    taken = parts[::step]
    rows = pq.read_table(run.features / "rows.parquet", columns=["part", "eligible"])
    part, eligible = (rows[name].to_numpy() for name in ("part", "eligible"))
    sources: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    with track(run.console, "read pool", len(taken), "parts") as progress:
        for done, one in enumerate(taken, 1):
            first, last = np.searchsorted(part, [one.number, one.number + 1]).tolist()
            keep, at = eligible[first:last], 0
            for batch in run.job.pool.read(one, ("source", "characters")):
                here = np.flatnonzero(keep[at : at + batch.rows.num_rows])
                at += batch.rows.num_rows
                found = batch.rows.take(here)
                sources.update(s or "" for s in found["source"].to_pylist())
                lengths.update(map(length_bin, found["characters"].to_pylist()))
            progress.update(done)
    return {
        "read": sum(sources.values()),
        "sources": dict(sorted(sources.items())),
        "lengths": {str(b): n for b, n in sorted(lengths.items())},
    }
