"""Seconds and peak memory of every stage of a selection from one group.

    python -m tests.benchmarks.selection --rows 1353746 --clusters 40000
        --budget 100000 [--engine cpu] [--features 1738] [--json]

Two processes, one after the other, on all threads that BLAS may use:

    features   `sums`, `project` and `to_grid` of N rows of D features, which are made
               block by block while no clock runs and lie on no disk. What the values
               are changes no time. `--features 0` leaves this process out.
    selection  `select_all` of "diverse" and "similar" over N synthetic clustered unit
               vectors of 96 dimensions, in precision "exact".

Stages of the second are told apart by clocks around the functions that `select_all`
calls: `candidates` (order of ids, hash of the grid), `clusters`, `quotas`, `within`
(farthest points in every cluster), `similar`, and `rest`, what lies between. `total` is
all of it: from rows on the grid to chosen ids. CPU seconds are user and system time of
all threads. Memory is the most that was resident during a stage (VmHWM, set back before
it); the rows themselves are part of it.

With `--json` the last line is an object with the stages of both processes, the wall
seconds and the peak of memory of all, the number of clusters formed, and the SHA-256 of
the ids of each selection.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from tests.benchmarks.clustered import clustered_rows

BLOCK = 4096  # rows of features at a time, as the command has them
TIMED = {
    "candidates": ("choose", "candidates"),
    "clusters": ("methods", "kmeans"),
    "quotas": ("methods", "cluster_quotas"),
    "within": ("methods", "cluster_picks"),
}
Stages = dict[str, dict[str, float]]


class Clocks:
    """Seconds and memory by stage, in order of their first start."""

    def __init__(self) -> None:
        self.stages: Stages = {}
        self.highest = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds to a stage what happens inside; stages do not contain each other."""
        self._peak()
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        now = self.stages.setdefault(name, {"wall_s": 0, "cpu_s": 0, "peak_gib": 0})
        now["wall_s"] += wall
        now["cpu_s"] += cpu
        now["peak_gib"] = max(now["peak_gib"], self._peak())

    def around(self, name: str, work: Callable) -> Callable:
        def timed(*given: Any, **named: Any) -> Any:
            with self.stage(name):
                return work(*given, **named)

        return timed

    def _peak(self) -> float:
        """GiB that were resident at most since the last call."""
        status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
        Path("/proc/self/clear_refs").write_text("5")
        peak = int(status.split()[0]) / 2**20
        self.highest = max(self.highest, peak)
        return peak


def feature_blocks(rows: int, width: int) -> Iterator[np.ndarray]:
    """Fractions and counts; every block is the same table with its columns shifted."""
    draw = np.random.Generator(np.random.PCG64(0))
    table = draw.gamma(0.5, size=(BLOCK, width)).astype(np.float32)
    table[:, ::3] = draw.poisson(0.7, size=table[:, ::3].shape)
    for first in range(0, rows, BLOCK):
        yield np.roll(table, first // BLOCK, axis=1)[: rows - first]


def from_features(asked: argparse.Namespace) -> dict[str, Any]:
    """Raw features to grid rows, block by block as the command does it."""
    moments = importlib.import_module("routejax.moments")
    selection = importlib.import_module("routejax.selection")
    clocks, total = Clocks(), moments.no_sums(asked.features)
    for block in feature_blocks(asked.rows, asked.features):
        with clocks.stage("moments"):
            total += moments.sums([block])
    stats = total.moments()
    grid = np.empty((asked.rows, 96), np.int16)
    for number, block in enumerate(feature_blocks(asked.rows, asked.features)):
        place = slice(number * BLOCK, number * BLOCK + len(block))
        with clocks.stage("project"):
            phi = selection.project(block, stats=stats, variance_floor=1e-8)
        with clocks.stage("grid"):
            grid[place] = selection.to_grid(phi).values
    return {"stages": clocks.stages, "peak_gib": clocks.highest}


def from_grid(asked: argparse.Namespace) -> dict[str, Any]:
    """Grid rows to the ids of two selections, by the public door."""
    selection = importlib.import_module("routejax.selection")
    grid = selection.grid.hashed(clustered_rows(asked.rows), selection.SCALE)
    ids = pa.array(np.char.mod("row%08d", np.arange(asked.rows)))
    clocks = Clocks()
    for name, (module, function) in TIMED.items():
        home = importlib.import_module(f"routejax.selection.{module}")
        setattr(home, function, clocks.around(name, getattr(home, function)))
    wall, cpu = time.perf_counter(), time.process_time()
    chosen = selection.select_all(
        ["diverse", "similar"],
        ids=ids,
        groups=pa.repeat("all", asked.rows),
        prompt_ids=ids,
        phi=grid,
        n=asked.budget,
        K=asked.clusters,
        engine=asked.engine,
    )
    diverse = next(chosen)[1]
    with clocks.stage("similar"):
        similar = next(chosen)[1]
    total = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    rest = {
        name: total[name] - sum(stage[name] for stage in clocks.stages.values())
        for name in total
    }
    both = {"diverse": diverse.ids, "similar": similar.ids}
    facts = diverse.report["groups"]["all"]
    return {
        "stages": clocks.stages | {"rest": rest},
        "total": total,
        "peak_gib": clocks.highest,
        "clusters_formed": facts["clusters_formed"],
        "inertia_per_row": facts["inertia"] / asked.rows,
        "sha256": {name: selection.ids_sha256(one) for name, one in both.items()},
    }


PARTS = {"features": from_features, "selection": from_grid}


def elsewhere(part: str) -> dict[str, Any]:
    """A part in a new process, which starts with no memory of the one before."""
    command = [sys.executable, "-m", "tests.benchmarks.selection", *sys.argv[1:]]
    done = subprocess.run(
        [*command, f"--part={part}"], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def show(parts: dict[str, dict[str, Any]]) -> None:
    table = Table("process", "stage", "wall s", "CPU s", "peak GiB")
    for part, found in parts.items():
        for name, stage in found["stages"].items():
            peak = stage.get("peak_gib")
            seconds = f"{stage['wall_s']:.2f}", f"{stage['cpu_s']:.2f}"
            table.add_row(part, name, *seconds, "" if peak is None else f"{peak:.2f}")
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--clusters", type=int, default=1_470)
    parser.add_argument("--budget", type=int, default=3_700)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--features", type=int, default=1_738)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        print(json.dumps(PARTS[asked.part](asked)))
        return
    wanted = [part for part in PARTS if part != "features" or asked.features]
    parts = {part: elsewhere(part) for part in wanted}
    show(parts)
    wall = sum(s["wall_s"] for p in parts.values() for s in p["stages"].values())
    whole = {"wall_s": wall, "peak_gib": max(p["peak_gib"] for p in parts.values())}
    for name, value in whole.items():
        print(f"{name} {value:.2f}")
    if asked.json:
        print(json.dumps({"asked": vars(asked)} | whole | parts))


if __name__ == "__main__":
    main()
