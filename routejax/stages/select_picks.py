"""Stages `picks/<selector>`: which candidates each selector chooses, and how."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float64, Int64

from routejax import selection, workdir
from routejax.progress import track
from routejax.selection import Grid, Selection
from routejax.stages import select_spaces as spaces
from routejax.stages.select_phi import Phi, read_phi
from routejax.stages.select_run import Outputs, SelectRun


class Picks(NamedTuple):
    """The chosen candidates in order of id; `at` are their rows in `phi/`."""

    at: Int64[np.ndarray, "n"]
    rank: Int64[np.ndarray, "n"]
    cluster: Int64[np.ndarray, "n"]
    distance: Float64[np.ndarray, "n"]
    report: dict[str, Any]


def make_picks(run: SelectRun, phi: Outputs) -> dict[str, Outputs]:
    """Hashes of `picks.parquet`, `report.json` and, where a selector has clusters,
    `clusters.parquet`, which has the cluster of every candidate.

    Each selector is a stage of its own, so a kill costs at most one of them.
    """
    methods, made = run.settings.methods, {}
    with track(run.console, "select", len(methods), "selectors") as progress:
        for done, method in enumerate(methods, 1):
            inputs = {"phi": phi, "asked": run.settings.choosing()}
            if space := run.settings.space_file(method):
                inputs["space"] = {space[0]: spaces.file_hash(space[1])}
            work = functools.partial(_pick, run, method)
            made[method] = run.stage(f"picks/{method}", inputs, work)
            progress.update(done, method)
    return made


def read_picks(root: Path, method: str) -> Picks:
    table = pq.read_table(root / "picks" / method / "picks.parquet")
    at, rank, cluster, distance = (column.to_numpy() for column in table.columns)
    report = workdir.read_json(root / "picks" / method / "report.json")
    return Picks(at, rank, cluster, distance, report)


def read_clusters(root: Path, method: str) -> Int64[np.ndarray, "N"] | None:
    """The cluster of every row of `phi/` in its group, chosen or not; see `Selection`.

    None of a method without clusters.
    """
    path = root / "picks" / method / "clusters.parquet"
    if not path.exists():
        return None
    return pq.read_table(path)["cluster"].to_numpy().astype(np.int64)


def _pick(run: SelectRun, method: str, folder: Path) -> None:
    chosen = _select(run, read_phi(run.root), method, folder)
    columns = {"at": chosen.rows, "rank": chosen.rank, "cluster": chosen.cluster}
    table = pa.table({**columns, "distance": chosen.distance})
    workdir.write_parquet(folder / "picks.parquet", table)
    if chosen.labels is not None:
        every = pa.table({"cluster": chosen.labels.astype(np.int32)})
        workdir.write_parquet(folder / "clusters.parquet", every)
    workdir.write_json(folder / "report.json", chosen.report)


def _select(run: SelectRun, phi: Phi, method: str, folder: Path) -> Selection:
    exact = run.settings.precision == "exact"
    return selection.select(
        method,
        ids=phi.rows["id"],
        groups=phi.rows["group"],
        prompt_ids=phi.rows["prompt_id"],
        phi=Grid(phi.values, phi.facts["scale"], phi.facts["sha256"])
        if exact
        else phi.values,
        spaces=spaces.of_method(run, method, folder),
        **run.settings.choosing(),
    )
