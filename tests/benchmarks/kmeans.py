"""k-means of `routejax.selection` beside scikit-learn and faiss, on the same rows.

    python -m tests.benchmarks.kmeans [--sizes 20000:588,50000:1470,100000:2941]
        [--ways cpu,minibatch,faiss] [--threads 1] [--json]

Ways, each in a process of its own, one after the other:

    cpu, jax   routejax.selection.kmeans with that engine
    sklearn    the same with engine `sklearn`: the library's fit, seeds found faster
    minibatch  sklearn.cluster.MiniBatchKMeans alone, as the paper has it: seed 42,
               3 initialisations, 50 iterations, batches of 65,536
    faiss      faiss.Kmeans, 25 of Lloyd's iterations from random rows, no subsample

Inertia is measured the same way for all: the mean squared distance of a row to the
mean of its cluster, in units of phi. CPU seconds are of all threads, without making the
rows.
With `--json` the last line is an object with every measurement and, by size,
`cpu_time_over_ours` and `inertia_over_theirs` of each other way against `cpu`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.clustered import clustered_rows

SCALE = 4080
SIZES = "20000:588,50000:1470,100000:2941"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _ours(engine: str) -> Callable[[np.ndarray, int], np.ndarray]:
    def labels(rows: np.ndarray, k: int) -> np.ndarray:
        selection = importlib.import_module("routejax.selection")
        return selection.kmeans(rows, k, engine=engine).labels

    return labels


def _minibatch(rows: np.ndarray, k: int) -> np.ndarray:
    cluster = importlib.import_module("sklearn.cluster")
    options = {"n_init": 3, "max_iter": 50, "batch_size": 65_536, "random_state": 42}
    phi = (rows / SCALE).astype(np.float32)
    return cluster.MiniBatchKMeans(k, **options).fit(phi).labels_


def _faiss(rows: np.ndarray, k: int) -> np.ndarray:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(int(os.environ[_THREADS[0]]))
    phi = (rows / SCALE).astype(np.float32)
    options = {"niter": 25, "seed": 42, "max_points_per_centroid": len(rows)}
    options["min_points_per_centroid"] = 1
    found = faiss.Kmeans(phi.shape[1], k, **options)
    found.train(phi)
    return found.index.search(phi, 1)[1][:, 0]


WAYS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "cpu": _ours("cpu"),
    "jax": _ours("jax"),
    "sklearn": _ours("sklearn"),
    "minibatch": _minibatch,
    "faiss": _faiss,
}


def inertia(rows: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Mean squared distance to the mean of the cluster, in units of phi."""
    sums, square = np.zeros((k, rows.shape[1])), 0.0
    for start in range(0, len(rows), 50_000):
        some = rows[start : start + 50_000].astype(float)
        np.add.at(sums, labels[start : start + 50_000], some)
        square += float(np.einsum("ij,ij->", some, some))
    sizes = np.maximum(np.bincount(labels, minlength=k), 1)
    explained = float((np.einsum("ij,ij->i", sums, sums) / sizes).sum())
    return (square - explained) / len(rows) / SCALE**2


def measured(way: str, count: int, k: int) -> dict[str, Any]:
    """One clustering in this process."""
    rows = clustered_rows(count)
    began, cpu = time.perf_counter(), time.process_time()
    labels = WAYS[way](rows, k)
    cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - began
    sizes = np.bincount(labels, minlength=k)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "rows": count,
        "clusters": k,
        "way": way,
        "cpu_s": round(cpu_s, 2),
        "wall_s": round(wall_s, 2),
        "peak_gb": round(peak * (1 if sys.platform == "darwin" else 1024) / 1e9, 2),
        "inertia": round(inertia(rows, labels, k), 6),
        "empty": int((sizes == 0).sum()),
        "singletons": int((sizes == 1).sum()),
    }


def _elsewhere(way: str, count: int, k: int, threads: int) -> dict[str, Any]:
    """`measured` in a new process, which starts with no memory of the ones before."""
    command = [sys.executable, "-m", "tests.benchmarks.kmeans"]
    command += ["--one", f"{way}:{count}:{k}"]
    limits = dict.fromkeys(_THREADS, str(threads))
    done = subprocess.run(
        command, env=os.environ | limits, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def ratios(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How the other ways compare with `cpu`, by size."""
    out: dict[str, Any] = {"cpu_time_over_ours": {}, "inertia_over_theirs": {}}
    ours = {(one["rows"], one["clusters"]): one for one in found if one["way"] == "cpu"}
    for one in found:
        mine = ours.get((one["rows"], one["clusters"]))
        if mine is None or one is mine:
            continue
        name = f"{one['way']} {one['rows']}:{one['clusters']}"
        out["cpu_time_over_ours"][name] = round(one["cpu_s"] / mine["cpu_s"], 2)
        out["inertia_over_theirs"][name] = round(mine["inertia"] / one["inertia"], 4)
    return out


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--sizes", default=SIZES, help="ROWS:CLUSTERS, with commas")
    flags.add_argument("--ways", default="cpu,minibatch,faiss", help=", ".join(WAYS))
    flags.add_argument("--threads", type=int, default=1)
    flags.add_argument("--json", action="store_true")
    flags.add_argument("--one", help=argparse.SUPPRESS)
    given = flags.parse_args()
    if given.one:
        way, count, k = given.one.split(":")
        print(json.dumps(measured(way, int(count), int(k))))
        return
    found = []
    for size in given.sizes.split(","):
        count, k = map(int, size.split(":"))
        for way in given.ways.split(","):
            found.append(_elsewhere(way, count, k, given.threads))
            print(" ".join(f"{name}={value}" for name, value in found[-1].items()))
            sys.stdout.flush()
    if given.json:
        print(json.dumps({"measured": found, **ratios(found)}))


if __name__ == "__main__":
    main()
