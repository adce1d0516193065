"""Stage `evaluate`: samples of one checkpoint on the evaluation problems, and scores.

Samples are written once, in parts, so a kill loses at most one part. The same problems
and seeds serve every arm and both checkpoints of an arm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from routejax import checkpoints, processes
from routejax.envs import Problem
from routejax.metrics.checkpoint import checkpoint_metrics
from routejax.models import Params
from routejax.progress import track
from routejax.rollout import Rollout, rollout
from routejax.stages.pool import read_problems
from routejax.stages.run import Run
from routejax.workdir import content_hash, write_json, write_parquet

# Keeps evaluation's samples apart from those of any training step.
STEP = 2**31


def evaluate(run: Run, arm: str, seed: int, phase: str, inputs: dict[str, str]) -> Path:
    """Path of the metrics of the checkpoint `phase`, "sft" or "grpo".

    Beside it: `samples.parquet` (every response with verdict and finish reason) and
    `recipe.json`. `inputs` has the hashes of the weights, the problems and the
    tokenizer.
    """
    parts = ("student", "evaluation", "decoding", "envs")
    known = {"seed": seed, **inputs, **{part: run.config[part] for part in parts}}
    known["in_range"] = run.config["difficulties"]["rl"]
    folder = run.arm(arm, seed) / f"evaluate_{phase}"
    run.stage(
        folder,
        known,
        lambda at: _evaluate(run, arm, seed, phase, inputs, at),
        together=True,
    )
    return folder / "metrics.json"


def _evaluate(
    run: Run, arm: str, seed: int, phase: str, inputs: dict[str, str], folder: Path
) -> None:
    problems = read_problems(run.root / "pool" / "problems_evaluation.json")
    params = checkpoints.load_weights(
        run.arm(arm, seed) / phase / "weights",
        run.fresh(seed),
        inputs["weights"],
    )
    parts = list(_parts(problems, run.config["evaluation"]["problems_per_part"]))
    paths = [folder / "parts" / f"{i:05d}.parquet" for i in range(len(parts))]
    there = processes.first_does(lambda: [path.exists() for path in paths])
    done = sum(there)
    name = f"{arm} seed {seed} evaluate {phase}"
    with (
        track(run.console, name, len(parts), "parts", done) as progress,
        processes.held() as asked,
    ):
        for path, part, exists in zip(paths, parts, there, strict=True):
            if not exists:
                table = _table(_sample(run, params, seed, part))
                if processes.first():
                    write_parquet(path, table)
                done += 1
                progress.update(done)
                if asked():
                    return  # on leaving, the signal is raised
    if processes.first():
        _write(run, problems, seed, paths, folder)


def _write(
    run: Run,
    problems: Sequence[Problem],
    seed: int,
    paths: Sequence[Path],
    folder: Path,
) -> None:
    """The stage's outputs, from the parts."""
    samples = pa.concat_tables([pq.read_table(path) for path in paths])
    write_parquet(folder / "samples.parquet", samples)
    write_json(folder / "metrics.json", _metrics(run, problems, samples))
    recipe = {
        "seed": seed,
        "problems": content_hash([problem.id for problem in problems]),
        "settings": run.config["evaluation"],
        "decoding": run.config["decoding"],
    }
    write_json(folder / "recipe.json", recipe)


def _parts(problems: Sequence[Problem], size: int) -> Iterator[Sequence[Problem]]:
    for first in range(0, len(problems), size):
        yield problems[first : first + size]


def _sample(
    run: Run, params: Params, seed: int, problems: Sequence[Problem]
) -> Rollout:
    settings = run.config["evaluation"]
    chosen = {name: settings[name] for name in ("top_k", "top_p", "min_p")}
    if settings["max_new_tokens"] is not None:
        chosen["max_new_tokens"] = settings["max_new_tokens"]
    return rollout(
        run.student,
        params,
        run.tokenizer,
        problems,
        samples=settings["samples"],
        seed=seed,
        step=STEP,
        decoding=run.decoding(settings["temperature"], **chosen),
        mesh=run.mesh,
        judges=run.judges,
    )


def _table(rolled: Rollout) -> pa.Table:
    """One row per sample."""
    group = rolled.rewards.shape[1]
    owner = [rolled.problems[n // group] for n in range(len(rolled.texts))]
    return pa.table(
        {
            "problem_id": [problem.id for problem in owner],
            "env": [problem.env for problem in owner],
            "difficulty": pa.array([p.difficulty for p in owner], pa.int32()),
            "sample": pa.array([n % group for n in range(len(owner))], pa.int32()),
            "response": rolled.texts,
            "answer": pa.array([v.answer for v in rolled.verdicts], pa.string()),
            "status": [v.status for v in rolled.verdicts],
            "finish": ["length" if cut else "stop" for cut in rolled.truncated],
            "tokens": pa.array(rolled.lengths, pa.int32()),
            "solved": rolled.rewards.reshape(-1).astype(bool),
        }
    )


def _metrics(
    run: Run, problems: Sequence[Problem], samples: pa.Table
) -> dict[str, Any]:
    settings = run.config["evaluation"]
    solved = samples["solved"].to_numpy().reshape(len(problems), settings["samples"])
    return checkpoint_metrics(
        counts=solved.sum(1),
        samples=settings["samples"],
        envs=[problem.env for problem in problems],
        difficulties=[problem.difficulty for problem in problems],
        seen=run.config["envs"]["sft"],
        in_range=tuple(run.config["difficulties"]["rl"]),
        bootstrap_seed=0,
        resamples=settings["resamples"],
    )
