"""Whether the main job ends with the same results however often it is killed.

    python -m tests.benchmarks.kills [--minutes=30] [--config=configs/rlve.py]
        [--seed=0] [--least=20 --most=90] [--whole=DIR]

One run is left alone (or is there already, `--whole`). Another is ended by kill -9
after a random time between `--least` and `--most` seconds, and started again, until it
is done; after `--minutes` it is no longer killed. Prints one line of JSON: whether
results.json is the same but for its times, whether every line of every training log is,
kills, and the wall time of both. Exit status 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def main() -> int:
    asked = arguments()
    with tempfile.TemporaryDirectory(prefix="routejax-kills-") as scratch:
        whole, killed = (
            Path(asked.whole or f"{scratch}/whole"),
            Path(scratch) / "killed",
        )
        began = time.monotonic()
        if not asked.whole:
            finish(start(asked.config, whole, scratch))
        whole_s, began = time.monotonic() - began, time.monotonic()
        kills = kill_until_done(asked, killed, scratch)
        found = {
            "config": asked.config,
            "kills": kills,
            "results_equal": results(whole) == results(killed),
            "logs_equal": logs(whole) == logs(killed),
            "whole_s": None if asked.whole else round(whole_s, 1),
            "killed_s": round(time.monotonic() - began, 1),
        }
    print(json.dumps(found))
    return 0 if found["results_equal"] and found["logs_equal"] else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--config", default="configs/rlve.py")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=20.0)
    parser.add_argument("--most", type=float, default=90.0)
    parser.add_argument("--whole")
    return parser.parse_args()


def start(config: str, workdir: Path, scratch: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "routejax.train", f"--config={config}"]
    with Path(scratch, "said").open("ab") as said:
        return subprocess.Popen(
            [*command, f"--workdir={workdir}"],
            cwd=ROOT,
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
            stdout=said,
            stderr=said,
        )


def finish(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        raise SystemExit(f"a run ended with status {process.returncode}")


def kill_until_done(asked: argparse.Namespace, workdir: Path, scratch: str) -> int:
    """How often the run was killed before it was done."""
    rng, kills = random.Random(asked.seed), 0
    until = time.monotonic() + 60 * asked.minutes
    while time.monotonic() < until:
        process = start(asked.config, workdir, scratch)
        try:
            if process.wait(rng.uniform(asked.least, asked.most)):
                raise SystemExit(f"a run ended with status {process.returncode}")
            return kills
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    finish(start(asked.config, workdir, scratch))
    return kills


def results(root: Path) -> dict[str, Any]:
    """`results.json` without its times."""
    found = json.loads((root / "results.json").read_text())
    del found["times"]
    return found


def logs(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Every line of every training log without its times."""
    found = {}
    for path in sorted(root.glob("arms/*/*/*/metrics.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        kept = [{k: v for k, v in r.items() if not k.endswith("_s")} for r in rows]
        found[str(path.relative_to(root))] = kept
    return found


if __name__ == "__main__":
    raise SystemExit(main())
