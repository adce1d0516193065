"""Stages `measures/<selector>`: how one selection lies in its pool.

    geometry.json      distances of pool rows to the selection, Vendi score, clusters
    picks.parquet      per chosen row, in order of id: the nearest other chosen row
                       (`near`, its row in `phi/`, -1 for none), the distance to it, and
                       the cluster of `diverse` that the row lies in

Distances are those of phi. Where all pairs of rows and chosen rows would take hours,
pool rows at even steps in the order of ids are looked at; `looked_at` counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from routejax import selection, workdir
from routejax.progress import track
from routejax.stages.select_phi import Phi, read_phi
from routejax.stages.select_picks import Picks, read_clusters, read_picks
from routejax.stages.select_run import Outputs, SelectRun

PAIRS = 30_000_000_000  # of a pool row and a chosen row; about 90 s on two cores
QUANTILES = 100
_REFERENCE = "diverse"


def make_geometry(
    run: SelectRun, phi: Outputs, picks: Mapping[str, Outputs]
) -> dict[str, Outputs]:
    """Hashes of the files of every selector, each a stage of its own."""
    methods, made = run.settings.methods, {}
    with track(run.console, "measure", len(methods), "selectors") as progress:
        for done, name in enumerate(methods, 1):
            inputs = {"phi": phi, "picks": picks[name], "pairs": PAIRS}
            inputs["clusters"] = picks.get(_REFERENCE)

            def work(folder: Path, name: str = name) -> None:
                _make(run, name, folder)

            made[name] = run.stage(f"measures/{name}", inputs, work)
            progress.update(done, name)
    return made


def _make(run: SelectRun, name: str, folder: Path) -> None:
    phi, found = read_phi(run.root), read_picks(run.root, name)
    scale = phi.facts.get("scale", 1)
    kept = np.asarray(phi.values[found.at])
    step = max(1, -(-len(phi.values) * len(kept) // PAIRS))
    reached = selection.nearest(phi.values[::step], kept).distance / scale
    other = selection.nearest(kept, kept, apart=True)
    columns = {
        "near": np.where(other.place >= 0, found.at[other.place], -1),
        "distance": other.distance / scale,
    }
    facts: dict[str, Any] = {
        "covering_radius": round(float(reached.max()), 6),
        "mean_nearest_distance": round(float(reached.mean()), 6),
        "looked_at": len(reached),
        "quantiles": [
            round(float(value), 5)
            for value in np.quantile(reached, np.linspace(0, 1, QUANTILES + 1))
        ],
        "vendi": round(selection.vendi(kept), 4),
        "clusters": None,
    }
    if _REFERENCE in run.settings.methods:
        clusters = read_clusters(run.root, _REFERENCE)
        assert clusters is not None
        columns["cell"] = clusters[found.at]
        diverse = read_picks(run.root, _REFERENCE)
        facts["clusters"] = _clusters(phi, found, columns["cell"], diverse)
    workdir.write_parquet(folder / "picks.parquet", pa.table(columns))
    workdir.write_json(folder / "geometry.json", facts)


def _clusters(
    phi: Phi, found: Picks, cell: Int64[np.ndarray, "n"], diverse: Picks
) -> dict[str, int]:
    """How many clusters of `diverse` the selection has a row in, of how many."""
    groups = phi.rows["group"].combine_chunks().dictionary_encode().indices.to_numpy()

    def pairs(at: np.ndarray, cluster: np.ndarray) -> set[tuple[int, int]]:
        return set(zip(groups[at].tolist(), cluster.tolist(), strict=True))

    every = pairs(diverse.at, diverse.cluster)
    return {"hit": len(pairs(found.at, cell) & every), "of": len(every)}
