"""Speed of farthest-point picks beside a numpy loop and the package fpsample.

    python -m tests.benchmarks.farthest_point --rows 100000 --picks 7400 [--json]

Three sizes, a quarter, half and all of N rows and M picks (`--single`: only all), on
synthetic clustered unit vectors of 96 dimensions, rounded to the grid. In one process,
one after the other, on one thread each:

    ours       engine "cpu"
    numpy      one matrix-vector product per pick in float32, distances in float64: the
               fastest plain loop that makes the same picks
    fpsample   its `fps_sampling` (`pip install fpsample`; else left out)
    within     `cluster_picks`, 0.4 M clusters, M picks in all

CPU seconds are user and system time of all threads. A pick of the two loops costs the
same whenever it is made, so they make no more picks than fit `--loop-distances` (rows
times picks), and their time is scaled to M picks. What they do make is compared with
our picks, all of it. `ours_wall_s` is a second run with all threads BLAS may use.

With `--json` the last line is an object with `same_picks` (of all sizes),
`numpy_over_ours` and, where it is installed, `fpsample_over_ours` in CPU time at the
largest size, the peak memory of this process, and every size under `sizes`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from routejax.selection.farthest import farthest_picks
from routejax.selection.farthest_within import cluster_picks
from routejax.selection.grid import SCALE

WIDTH = 96
FACTORS = 256
BLOCK = 50_000
FPSAMPLE_SHARE = 8  # it is several times slower than numpy, and linear as well


def clustered(rows: int, seed: int = 0) -> np.ndarray:
    """Grid rows of a mixture with sizes by Zipf's law, five of them identical.

    Centres and noise have a decaying spectrum in 256 factors, mapped to 96 dimensions
    by a Gaussian matrix, as fingerprints are.
    """
    rng = np.random.default_rng(seed)
    spectrum = (np.arange(1, FACTORS + 1) ** -0.7).astype(np.float32)
    matrix = rng.standard_normal((FACTORS, WIDTH), np.float32)
    count = max(50, rows // 200)
    centres = rng.standard_normal((count, FACTORS), np.float32) * spectrum
    weights = np.arange(1, count + 1) ** -0.6
    grid = np.empty((rows, WIDTH), np.int16)
    for first in range(0, rows, BLOCK):
        size = min(BLOCK, rows - first)
        noise = rng.standard_normal((size, FACTORS), np.float32) * (spectrum + 0.02)
        noise *= rng.lognormal(-0.9, 0.4, (size, 1)).astype(np.float32)
        noise += centres[rng.choice(count, size, p=weights / weights.sum())]
        phi = noise @ matrix
        phi *= SCALE / np.linalg.norm(phi, axis=1, keepdims=True)
        grid[first : first + size] = np.rint(phi)
    grid[[3, rows // 3, rows // 2, rows - 2]] = grid[rows // 4]
    return grid


def numpy_loop(grid: np.ndarray, picks: int, start: int) -> np.ndarray:
    """The plain loop; exact, because the products are and float64 holds the rest."""
    rows = grid.astype(np.float32)
    norms = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
    dots, closest = np.empty(len(rows), np.float32), np.full(len(rows), np.inf)
    order = np.empty(picks, np.int64)
    order[0] = pick = start
    squares = np.empty(len(rows))
    for i in range(1, picks):
        np.dot(rows, rows[pick], out=dots)
        np.multiply(dots, -2.0, out=squares)
        squares += norms
        squares += norms[pick]
        np.minimum(closest, squares, out=closest)
        closest[pick] = -1
        order[i] = pick = int(closest.argmax())
    return order


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What comes out, CPU seconds and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def measure(rows: int, picks: int, loop_distances: int) -> dict[str, Any]:
    """One size."""
    grid = clustered(rows)
    (order, _), wall_cpu_s, wall_s = timed(
        lambda: farthest_picks(grid, picks, engine="cpu")
    )
    found: dict[str, Any] = {"rows": rows, "picks": picks, "ours_wall_s": wall_s}
    found["ours_all_threads_cpu_s"] = wall_cpu_s
    start, some = int(order[0]), max(2, min(picks, loop_distances // rows))
    with threadpool_limits(limits=1, user_api="blas"):
        (again, _), ours, _ = timed(lambda: farthest_picks(grid, picks, engine="cpu"))
        loop, cpu, _ = timed(lambda: numpy_loop(grid, some, start))
    same = np.array_equal(order, again) and np.array_equal(order[:some], loop)
    found |= {"same_picks": same, "compared_picks": some, "ours_cpu_s": ours}
    found["numpy_cpu_s"] = cpu * picks / some
    found["numpy_over_ours"] = found["numpy_cpu_s"] / ours
    found |= fpsample(grid, picks, some, start, order, ours)
    return found | within(grid, picks)


def fpsample(
    grid: np.ndarray, picks: int, some: int, start: int, order: np.ndarray, ours: float
) -> dict[str, Any]:
    """Nothing where the package is not installed."""
    if importlib.util.find_spec("fpsample") is None:
        return {}
    module = importlib.import_module("fpsample")
    fewer = max(2, some // FPSAMPLE_SHARE)
    unit = grid / np.float32(SCALE)
    theirs, cpu, _ = timed(lambda: module.fps_sampling(unit, fewer, start_idx=start))
    cpu *= picks / fewer
    agree = len(np.intersect1d(theirs.astype(np.int64), order[:fewer])) / fewer
    found = {"fpsample_cpu_s": cpu, "fpsample_over_ours": cpu / ours}
    return found | {"fpsample_picks": fewer, "fpsample_share_of_our_picks": agree}


def within(grid: np.ndarray, picks: int) -> dict[str, Any]:
    """Picks inside clusters of lognormal sizes, at random: geometry costs nothing."""
    rng = np.random.default_rng(1)
    clusters = max(1, picks * 2 // 5)
    weights = rng.lognormal(0, 0.8, clusters)
    labels = rng.choice(clusters, len(grid), p=weights / weights.sum())
    sizes = np.bincount(labels, minlength=clusters)
    quotas = np.minimum(sizes, np.maximum(1, sizes * picks // len(grid)))
    _, cpu, wall = timed(lambda: cluster_picks(grid, labels, quotas))
    found = {"within_clusters": clusters, "within_picks": int(quotas.sum())}
    return found | {"within_cpu_s": cpu, "within_wall_s": wall}


COLUMNS = {
    "ours_cpu_s": "ours",
    "numpy_cpu_s": "numpy",
    "numpy_over_ours": "ratio",
    "fpsample_over_ours": "fpsample",
    "ours_wall_s": "wall",
    "within_wall_s": "within",
}


def show(sizes: list[dict[str, Any]]) -> None:
    """CPU seconds, the ratios to ours, wall seconds."""
    table = Table("rows", "picks", "same", *COLUMNS.values())
    for size in sizes:
        values = [f"{size[c]:.2f}" if c in size else "-" for c in COLUMNS]
        same = "yes" if size["same_picks"] else "NO"
        table.add_row(f"{size['rows']:,}", f"{size['picks']:,}", same, *values)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--picks", type=int, default=7_400)
    parser.add_argument("--loop-distances", type=int, default=1_000_000_000)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if not 8 <= asked.picks <= asked.rows:
        parser.error(f"--picks must be in 8..{asked.rows} (rows), got {asked.picks}")
    warm = clustered(500)  # compiles
    farthest_picks(warm, 100, engine="cpu")
    cluster_picks(warm, np.zeros(500, np.int64), np.array([50]))
    sizes = []
    for part in (1,) if asked.single else (4, 2, 1):
        rows, picks = asked.rows // part, asked.picks // part
        sizes.append(measure(rows, picks, asked.loop_distances))
    show(sizes)
    last = sizes[-1]
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    result = {"same_picks": all(size["same_picks"] for size in sizes)}
    result |= {name: last[name] for name in last if name.endswith("_over_ours")}
    if asked.json:
        print(json.dumps(result | {"peak_mb": peak, "sizes": sizes}))


if __name__ == "__main__":
    main()
