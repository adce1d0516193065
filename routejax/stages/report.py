"""Stage `report`: all arms and seeds in `results.json`, and the page people look at.

Schema of `results.json` (version 1); everything but `times` is a function of config,
code and machine:

    schema, routejax, config            version of the file, of the package, its name
    pool                                rows, prompts, by_env, by_strategy, rejected, …
    student                             sizes and number of parameters
    evaluation                          problems and samples, in which range, seen where
    recipe                              the settings all arms share
    arms.<name>.recipe_hash             of everything but the selected rows
    arms.<name>.selection_sha256        of the sorted ids of the selected rows
    arms.<name>.selection               rows, clusters, spread, coverage, what was taken
    arms.<name>.seeds[]                 seed, weights, and `sft` and `rl` metrics
    study                               means, intervals, comparisons, verdicts
    selection_overlap.<a>|<b>           rows in both selections
    times                               seconds per stage
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow.parquet as pq

import routejax
from routejax import envs, fingerprints, models, spans
from routejax.errors import UserError
from routejax.metrics.study import summarise_study
from routejax.report.page import render
from routejax.stages.checks import flat
from routejax.stages.pool import eligible_pool
from routejax.stages.run import Run
from routejax.stages.select import shares
from routejax.workdir import (
    content_hash,
    differences,
    read_json,
    seconds,
    write,
    write_json,
)

SCHEMA = 1
_CURVE_POINTS = 200
_ARM_STAGES = ("sft", "evaluate_sft", "grpo", "evaluate_grpo")


def write_results(run: Run) -> dict[str, Any]:
    """What `results.json` says; writes it and `report.html` into the run's folder.

    Raises:
        UserError: the arms did not follow one recipe.
    """
    _require_matched(run)
    arms = {arm: _arm(run, arm) for arm in run.config["arms"]}
    results = {
        "schema": SCHEMA,
        "routejax": routejax.__version__,
        "config": run.config["name"],
        "pool": _pool(run),
        "student": _student(run),
        "evaluation": _evaluation(run),
        "recipe": _recipe(run.config),
        "arms": arms,
        "study": summarise_study(
            {name: arm["seeds"] for name, arm in arms.items()},
            resamples=run.config["evaluation"]["resamples"],
        ),
        "selection_overlap": _overlap(run),
        "times": _times(run),
    }
    write_json(run.root / "results.json", results)
    page = render(
        results,
        {arm: _curves(run, arm) for arm in arms},
        read_json(run.root / "select" / "plane.json"),
        {arm: _examples(run, arm) for arm in arms},
    )
    write(run.root / "report.html", page)
    return results


def _arm(run: Run, name: str) -> dict[str, Any]:
    manifest = read_json(run.root / "select" / f"{name}.json")
    groups = manifest["selection"]["groups"].values()
    clustered = [group for group in groups if "asked" in group]
    counts = ("asked", "formed", "empty", "singletons", "inertia")
    selection = {
        "rows": manifest["selected"],
        "clusters": {k: _total(group[k] for group in clustered) for k in counts}
        if clustered
        else None,
        **{k: manifest[k] for k in ("spread", "covering_radius")},
        **{k: manifest[k] for k in ("mean_nearest_distance", "by_env", "by_strategy")},
    }
    return {
        "recipe_hash": content_hash(_recipes(run, name)),
        "selection_sha256": manifest["ids_sha256"],
        "selection": selection,
        "seeds": [_seed(run, name, seed) for seed in run.config["seeds"]],
    }


def _total(values: Any) -> float | int:
    total = sum(values)
    return total if isinstance(total, int) else round(total, 6)


def _seed(run: Run, arm: str, seed: int) -> dict[str, Any]:
    folder = run.arm(arm, seed)
    return {
        "seed": seed,
        "weights": {
            phase: (folder / phase / "weights.sha256").read_text()
            for phase in ("sft", "grpo")
        },
        "sft": read_json(folder / "evaluate_sft" / "metrics.json"),
        "rl": read_json(folder / "evaluate_grpo" / "metrics.json"),
    }


def _recipes(run: Run, arm: str) -> dict[str, Any]:
    """What each stage of each seed says it used, besides the selected rows."""
    return {
        folder.name: {
            name: read_json(folder / name / "recipe.json") for name in _ARM_STAGES
        }
        for folder in (run.arm(arm, seed) for seed in run.config["seeds"])
    }


def _require_matched(run: Run) -> None:
    first, *others = run.config["arms"]
    wanted = _recipes(run, first)
    for other in others:
        names = (f"in {first}", f"in {other}")
        unequal = list(differences(wanted, _recipes(run, other), names))
        if unequal:
            raise UserError(
                f"arms {first} and {other} did not follow one recipe, so they cannot "
                f"be compared: {'; '.join(unequal[:5])}. Delete {run.root / 'arms'} "
                "and run again"
            )


def _times(run: Run) -> dict[str, float]:
    """Seconds spent in each stage, over all starts of the run."""
    folders = {name: run.root / name for name in ("pool", "fingerprint", "select")}
    for seed, arm in itertools.product(run.config["seeds"], run.config["arms"]):
        for name in _ARM_STAGES:
            folders[f"{arm}/{seed}/{name}"] = run.arm(arm, seed) / name
    return {name: round(seconds(folder), 1) for name, folder in folders.items()}


def _pool(run: Run) -> dict[str, Any]:
    counts = read_json(run.root / "pool" / "counts.json")
    table = eligible_pool(run)
    rejected = {k: len(ids) for k, ids in counts["pool"]["rejected"].items()}
    return {
        "rows": len(table),
        "prompts": len(set(table["prompt_id"].to_pylist())),
        "sha256": counts["sha256"],
        "by_env": shares(table, "env"),
        "by_strategy": shares(table, "strategy"),
        "rejected": rejected | counts["rejected"],
        "shortfalls": counts["pool"]["shortfalls"],
    }


def _student(run: Run) -> dict[str, Any]:
    sizes = dataclasses.asdict(run.student.config)
    fresh = jax.eval_shape(lambda: run.student.init(0))
    return {
        "parameters": models.count(fresh),
        "family": run.student.family,
        **{name: value for name, value in sizes.items() if value is not None},
    }


def _evaluation(run: Run) -> dict[str, Any]:
    rows = read_json(run.root / "pool" / "problems_evaluation.json")
    seen = run.config["envs"]["sft"]
    tried = run.config["envs"]["evaluation"]
    return {
        "problems": len(rows),
        "samples": run.config["evaluation"]["samples"],
        "seen": [env for env in tried if env in seen],
        "unseen": [env for env in tried if env not in seen],
        "titles": {env: envs.ENVS[env].title for env in tried},
        "in_range": list(run.config["difficulties"]["rl"]),
        "problem_ids": [row["id"] for row in rows],
        "envs": [row["env"] for row in rows],
        "difficulties": [row["difficulty"] for row in rows],
    }


def _recipe(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config as one flat table, without what differs between arms and seeds."""
    other = ("arms", "seeds", "name", "needs")
    return {name: v for name, v in flat(config).items() if name not in other}


def _overlap(run: Run) -> dict[str, int]:
    ids = {
        arm: set(_selected(run, arm)["id"].to_pylist()) for arm in run.config["arms"]
    }
    return {
        f"{a}|{b}": len(ids[a] & ids[b])
        for a, b in itertools.combinations(run.config["arms"], 2)
    }


def _selected(run: Run, arm: str):
    return pq.read_table(run.root / "select" / f"{arm}.parquet")


def _curves(run: Run, arm: str) -> dict[str, Any]:
    return {
        str(seed): {
            phase: _curve(run.arm(arm, seed) / phase / "metrics.jsonl")
            for phase in ("sft", "grpo")
        }
        for seed in run.config["seeds"]
    }


def _curve(log: Path) -> dict[str, list[float]]:
    """Every metric of a training log, averaged so that at most 200 points remain."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    every = set.intersection(*map(set, rows))  # an environment may not be asked at all
    names = [name for name in rows[0] if name in every and not name.endswith("_s")]
    pieces = np.array_split(np.arange(len(rows)), min(len(rows), _CURVE_POINTS))
    curve = {}
    for name in names:
        values = np.array([row[name] for row in rows], float)
        means = [values[piece].mean() for piece in pieces]
        curve[name] = [float(f"{mean:.5g}") for mean in means]
    curve["step"] = [rows[piece[-1]]["step"] for piece in pieces]
    return curve


def _examples(run: Run, arm: str) -> list[dict[str, Any]]:
    """Three selected traces from different environments, spread over the file."""
    family = run.config["selection"]["family"]
    if fingerprints.FAMILIES[family].grammar is None:  # it labels no text
        family = "corpus"
    rows = _selected(run, arm).to_pylist()
    chosen: dict[str, dict[str, Any]] = {}
    for i in np.linspace(0, len(rows) - 1, 60).astype(int):
        chosen.setdefault(rows[i]["env"] or rows[i]["group"], rows[i])
    keys = ("prompt", "response", "env", "difficulty", "strategy")
    return [
        {
            **{k: row[k] for k in keys},
            "env": row["env"] or row["group"],
            "steps": [
                {"text": step.step, "type": step.type}
                for step in fingerprints.explain(
                    spans.split(row["response"]).reasoning or "", family
                )
            ],
        }
        for row in list(chosen.values())[:3]
    ]
