"""A million scored samples summarised: seconds and peak memory, by part.

    python -m tests.benchmarks.metrics [--samples 64] [--rows 1000000]
        [--resamples 20000] [--json]

Synthetic samples of two arms on three benchmarks of RLVE's kind (384 environments, 15
difficulties) are counted, each arm is summarised with its cuts, and the arms are
compared; then routes of the first arm are counted. `--rows` is the number of samples
over both arms. Aim: the whole in 30 s and 2 GiB (peak of the process, Python and all).
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from routejax.metrics import (
    Boot,
    Scored,
    bands,
    compare_arms,
    route_curves,
    score_samples,
    summarise_arm,
)

ARMS = ("diverse", "similar")
BENCHMARKS = ("rlve", "omega", "sokoban")
ENVS, LEVELS, ROUTES = 384, 15, 40
AIM_S, AIM_GIB = 30.0, 2.0

Columns = dict[str, Any]


class Spent(NamedTuple):
    """Seconds by part, of wall time and of CPU."""

    wall: dict[str, float]
    cpu: dict[str, float]


def columns(arm: int, benchmark: int, questions: int, samples: int) -> Columns:
    """Scored samples of one arm on one benchmark, in random order."""
    draw = np.random.Generator(np.random.PCG64([arm, benchmark]))
    p = np.random.Generator(np.random.PCG64(benchmark)).beta(0.4, 0.8, questions)
    place = draw.permutation(np.repeat(np.arange(questions), samples))
    level = 1 + place % LEVELS
    return {
        "ids": [f"{BENCHMARKS[benchmark]}/{i:07d}" for i in place],
        "scores": draw.random(len(place)) < np.clip(p + 0.05 * arm, 0, 1)[place],
        "envs": (place % ENVS).tolist(),
        "strata": {
            "difficulty": level.tolist(),
            "band": bands(level.tolist()),
            "split": np.where(place % ENVS < 63, "seen", "unseen").tolist(),
        },
    }


def routes(questions: int, samples: int) -> list[list[int | None]]:
    """Route keys of every prompt's samples, none for wrong answers."""
    draw = np.random.Generator(np.random.PCG64(9))
    keys = draw.integers(ROUTES, size=(questions, samples)).tolist()
    right = (draw.random((questions, samples)) < 0.4).tolist()
    return [
        [key if ok else None for key, ok in zip(*row, strict=True)]
        for row in zip(keys, right, strict=True)
    ]


def timed(spent: Spent, name: str, call: Callable[[], Any]) -> Any:
    start, busy = time.perf_counter(), time.process_time()
    found = call()
    spent.wall[name] = time.perf_counter() - start
    spent.cpu[name] = time.process_time() - busy
    return found


def run(rows: int, samples: int, resamples: int) -> dict[str, Any]:
    """Seconds by part, and the process's peak in GiB."""
    questions = rows // (len(ARMS) * len(BENCHMARKS) * samples)
    made = {
        arm: {b: columns(i, j, questions, samples) for j, b in enumerate(BENCHMARKS)}
        for i, arm in enumerate(ARMS)
    }
    keys = routes(questions, samples)
    boot = Boot(resamples=resamples)
    spent = Spent({}, {})

    def count(arm: str) -> list[Scored]:
        return [score_samples(arm, b, **of) for b, of in made[arm].items()]

    arms = timed(spent, "count", lambda: {arm: count(arm) for arm in ARMS})
    for arm, parts in arms.items():
        call = lambda parts=parts: summarise_arm(parts, pooled=True, boot=boot)  # noqa: E731
        timed(spent, f"summarise {arm}", call)
    timed(spent, "compare", lambda: compare_arms(*arms.values(), boot=boot))
    ks = [k for k in (1, 2, 4, 8, 16, 32, 64) if k <= samples]
    curves = {"resamples": resamples}
    timed(spent, "routes", lambda: route_curves({"a": keys}, ks, **curves))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "rows": questions * samples * len(ARMS) * len(BENCHMARKS),
        "samples": samples,
        "resamples": resamples,
        "seconds": spent.wall,
        "cpu_s": spent.cpu,
        "total_s": sum(spent.wall.values()),
        "total_cpu_s": sum(spent.cpu.values()),
        "peak_gib": peak,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--resamples", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = run(asked.rows, asked.samples, asked.resamples)
    if asked.json:
        print(json.dumps(found))
        return
    for name, took in found["seconds"].items():
        print(f"{name:20} {took:8.2f} s, CPU {found['cpu_s'][name]:8.2f} s")
    print(f"{found['rows']:,} samples, {asked.samples} per question:")
    print(f"{found['total_s']:.1f} s (aim {AIM_S:.0f}), ", end="")
    print(f"CPU {found['total_cpu_s']:.1f} s, ", end="")
    print(f"peak {found['peak_gib']:.2f} GiB (aim {AIM_GIB:.0f})")


if __name__ == "__main__":
    main()
