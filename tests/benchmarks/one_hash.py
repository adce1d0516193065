"""Whether `diverse` chooses the same rows whatever computes it: one hash of their ids.

    python -m tests.benchmarks.one_hash --rows 50000 [--traces DIR] [--json]

Ways to choose 7.4 % of N synthetic rows in three groups, from raw features on (moments,
projection, grid, clusters, quotas, farthest points), each setting of threads and
devices in a process of its own:

    engine cpu on 1 and 2 threads, in batches of 1,000 rows and of all, rows permuted;
    engine jax on 1, 2, 4 and 8 pretend devices, in small batches, rows permuted.

If DIR (../shared/data/traces) is there, the same ways once more by the command,
`routejax.select` with configs/local_traces.py, which reads and fingerprints the pool.

With `--json` the last line is an object: `sha256` and, for the traces, `traces_sha256`,
each with a hash by way. The exit status is 1 where hashes differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from tests.benchmarks.clustered import clustered_rows

ROOT = Path(__file__).parents[2]
FEATURES = 160
BATCH = 1000
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Way(NamedTuple):
    """What may differ without changing what is chosen."""

    engine: str
    threads: int = 2
    devices: int = 1
    batch: int = 65_536
    permuted: bool = False

    @property
    def name(self) -> str:
        said = [self.engine, f"{self.threads} threads", f"{self.devices} devices"]
        said += [f"batch {self.batch}"] + ["permuted"] * self.permuted
        return ", ".join(said)

    def environment(self) -> dict[str, str]:
        flag = f"--xla_force_host_platform_device_count={self.devices}"
        limits = dict.fromkeys(_LIMITS, str(self.threads))
        return os.environ | limits | {"XLA_FLAGS": flag, "JAX_PLATFORMS": "cpu"}


WAYS = (
    Way("cpu", threads=1),
    Way("jax", threads=1),
    Way("cpu", devices=2),  # which it does not use
    Way("cpu", devices=2, batch=BATCH),
    Way("cpu", devices=2, permuted=True),
    Way("jax", devices=2),
    Way("jax", devices=4),
    Way("jax", devices=8),
    Way("jax", devices=8, batch=BATCH),
    Way("jax", devices=8, permuted=True),
)


def chosen(rows: int, way: Way) -> str:
    """Hash of the ids chosen in this process, whose threads and devices are set."""
    from routejax import selection  # noqa: PLC0415 (after the threads are set)

    order = np.arange(rows)
    if way.permuted:
        order = np.random.default_rng(1).permutation(rows)
    features = clustered_rows(rows, FEATURES)[order].astype(np.float32)
    ids = [f"row{i:08d}" for i in order]
    picked = selection.select(
        "diverse",
        ids=ids,
        groups=[("code", "math", "stem")[i % 3] for i in order],
        prompt_ids=ids,
        phi=selection.project(features),
        n=max(3, rows * 74 // 1000),
        engine=way.engine,
        batch=way.batch,
    )
    return selection.ids_sha256(picked.ids)


def synthetic(rows: int) -> Iterator[tuple[str, str]]:
    """(way, hash); ways with the same threads and devices share a process."""
    for threads, devices in dict.fromkeys((way.threads, way.devices) for way in WAYS):
        here = [w for w in WAYS if (w.threads, w.devices) == (threads, devices)]
        command = [sys.executable, "-m", "tests.benchmarks.one_hash", f"--rows={rows}"]
        command += [f"--ways={json.dumps(here)}"]
        done = subprocess.run(
            command,
            env=here[0].environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found = done.stdout.splitlines()[-len(here) :]
        yield from zip((way.name for way in here), found, strict=True)


def by_command(traces: Path, folder: Path, way: Way) -> str:
    """Hash of the ids that the command chooses; `folder` keeps what it made."""
    pool, root = traces, folder / way.name.replace(", ", "-").replace(" ", "")
    if way.permuted:
        pool = folder / "permuted"
        if not pool.exists():
            permute(traces, pool)
    settings = {"pool.paths": pool, "threads": way.threads}
    settings |= {"selection.methods": "diverse", "selection.batch": way.batch}
    settings |= {"selection.engine": way.engine}
    command = [sys.executable, "-m", "routejax.select", f"--workdir={root}"]
    command += ["--config=configs/local_traces.py"]
    command += [f"--config.{name}={value}" for name, value in settings.items()]
    subprocess.run(
        command, cwd=ROOT, env=way.environment(), capture_output=True, check=True
    )
    manifest = json.loads((root / "manifest.json").read_text())
    return manifest["selectors"]["diverse"]["ids_sha256"]


def permute(traces: Path, pool: Path) -> None:
    """The rows of every file in another order, in files of another order."""
    pool.mkdir()
    for number, path in enumerate(sorted(traces.glob("*.parquet"), reverse=True)):
        table = pq.read_table(path)
        order = np.random.default_rng(number).permutation(len(table))
        pq.write_table(table.take(order), pool / f"{number}.parquet")


def say(name: str, found: str) -> None:
    print(f"{found[:16]} {name}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument(
        "--traces", type=Path, default=ROOT.parent / "shared/data/traces"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ways", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.rows < 100:
        parser.error(f"--rows must be at least 100, got {asked.rows}")
    if asked.ways:
        for way in json.loads(asked.ways):
            print(chosen(asked.rows, Way(*way)))
        return
    result: dict[str, Any] = {"sha256": {}}
    for name, found in synthetic(asked.rows):
        result["sha256"][name] = found
        say(name, found)
    if asked.traces.is_dir():
        result["traces_sha256"] = {}
        with tempfile.TemporaryDirectory(prefix="routejax-one-hash-") as folder:
            for way in WAYS:
                found = by_command(asked.traces.resolve(), Path(folder), way)
                result["traces_sha256"][way.name] = found
                say(f"traces, {way.name}", found)
    if asked.json:
        print(json.dumps(result))
    if any(len(set(hashes.values())) > 1 for hashes in result.values()):
        sys.exit("hashes differ")


if __name__ == "__main__":
    main()
