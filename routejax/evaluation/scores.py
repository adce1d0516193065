"""Numbers of an evaluation, as `metrics.json`; every one with its n and an interval.

    schema      1
    name        of the recipe
    student     where it comes from; of imports, their files
    sets        by name:
        problems, samples     Q and N
        acc1                  mean, lower, upper, n: questions that were averaged
        passk                 the same for k = 1 to N, keys "1".."N"
        groups, solved        shares of all-fail, mixed, all-correct; questions solved
        finish, status        responses by how they ended, and by the verifier's word
        tokens                mean length where it is known, n: responses
        counts, problem_ids   correct responses per question
        questions_sha256      equal where two evaluations asked the same
        made_by               all that decided the samples
        cells                 of a run's student, `metrics.checkpoint_metrics`
    mean        unweighted over `sets` that are named, each set weighing the same: acc1,
                and passk up to the smallest N; null for a single set
    absent      sets that have no file

Intervals are percentile bootstraps, 95 %, over questions; of the mean, over those of
each set by itself.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from routejax.evaluation import samples, verdicts
from routejax.evaluation.questions import Questions
from routejax.metrics import checkpoint_metrics, pass_values, reward_groups
from routejax.metrics.counts import rounded
from routejax.metrics.intervals import percentile_bounds, resampled_means
from routejax.workdir import read_json


class Tally(NamedTuple):
    """A set's samples, counted."""

    counts: Int[np.ndarray, " Q"]
    finish: dict[str, int]
    status: dict[str, int]
    lengths: Int[np.ndarray, " N"]  # of responses whose length is known


class Means(NamedTuple):
    """pass@k for k = 1 to N in columns: of the questions, and of resamples."""

    found: Float[np.ndarray, " N"]
    resampled: Float[np.ndarray, "resamples N"]
    questions: int


def tally(questions: Questions, folder: Path) -> Tally:
    """The first N samples of each question; a set that is complete has them all."""
    problems, most = questions.problems, questions.asked.samples
    counts = np.zeros(len(problems), np.int64)
    finish: Counter[str] = Counter()
    status: Counter[str] = Counter()
    lengths = []
    number = {problem.id: n for n, problem in enumerate(problems)}
    for file in samples.parts(folder):
        place = samples.places(file, problems)
        asked = (place.problems >= 0) & (place.samples < most)
        rows = samples.read_part(file, ["finish", "tokens"]).filter(asked)
        finish.update(str(end or "unknown") for end in rows["finish"].to_pylist())
        lengths.append(rows["tokens"].drop_null().to_numpy())
        judged = verdicts.read(folder, file)
        judged = judged.filter(judged["sample"].to_numpy() < most)
        status.update(judged["status"].to_pylist())
        right = judged.filter(judged["solved"])
        at = [number[name] for name in right["problem_id"].to_pylist()]
        counts += np.bincount(np.array(at, np.int64), minlength=len(problems))
    return Tally(counts, dict(finish), dict(status), np.concatenate(lengths))


def scores(
    sets: Sequence[Questions], root: Path, *, resamples: int, run: Mapping | None
) -> dict[str, Any]:
    """`sets` and `mean` of the schema; `run` is the config of the run that answered."""
    found, means = {}, {}
    for questions in sets:
        counted = tally(questions, root / questions.name)
        means[questions.name] = _means(questions, counted.counts, resamples)
        found[questions.name] = _set(questions, counted, means[questions.name])
        record = read_json(root / questions.name / samples.RECORD)
        found[questions.name]["made_by"] = record["made_by"]
        if run is not None:
            cells = _cells(questions, counted.counts, run, resamples)
            found[questions.name]["cells"] = cells
    return rounded({"sets": found, "mean": _mean(means)})


def _means(questions: Questions, counts: np.ndarray, resamples: int) -> Means:
    values = pass_values(counts, questions.asked.samples)
    # Sets of one size would share their draws, and their mean would vary too much.
    seed = int(hashlib.sha256(questions.name.encode()).hexdigest()[:8], 16)
    drawn = resampled_means(values, seed=seed, resamples=resamples)
    return Means(values.mean(axis=0), drawn, len(counts))


def _set(questions: Questions, counted: Tally, means: Means) -> dict[str, Any]:
    most, problems = questions.asked.samples, questions.problems
    passk = _by_k(means.found, means.resampled, means.questions)
    known = counted.lengths
    return {
        "problems": len(problems),
        "samples": most,
        "reads": questions.asked.reads,
        "acc1": passk["1"],
        "passk": passk,
        "passes": questions.asked.passes,
        "groups": reward_groups(counted.counts, most).as_dict(),
        "solved": np.count_nonzero(counted.counts),
        "finish": counted.finish,
        "status": counted.status,
        "tokens": {"mean": known.mean() if len(known) else None, "n": len(known)},
        "counts": counted.counts,
        "problem_ids": [problem.id for problem in problems],
        "questions_sha256": questions.digest,
    }


def _by_k(
    found: Float[np.ndarray, " N"], drawn: Float[np.ndarray, "resamples N"], n: int
) -> dict[str, dict[str, Any]]:
    low, high = percentile_bounds(drawn)
    return {
        str(k): {"mean": a, "lower": b, "upper": c, "n": n}
        for k, (a, b, c) in enumerate(zip(found, low, high, strict=True), 1)
    }


def _mean(means: Mapping[str, Means]) -> dict[str, Any] | None:
    if len(means) < 2:
        return None
    most = min(len(one.found) for one in means.values())
    found = np.mean([one.found[:most] for one in means.values()], axis=0)
    drawn = np.mean([one.resampled[:, :most] for one in means.values()], axis=0)
    total = sum(one.questions for one in means.values())
    passk = _by_k(found, drawn, total)
    named = {"sets": list(means), "questions": total}
    return {**named, "acc1": passk["1"], "passk": passk}


def _cells(
    questions: Questions, counts: np.ndarray, run: Mapping[str, Any], resamples: int
) -> dict[str, Any]:
    return checkpoint_metrics(
        counts=counts,
        samples=questions.asked.samples,
        envs=[problem.env for problem in questions.problems],
        difficulties=[problem.difficulty for problem in questions.problems],
        seen=run["envs"]["sft"],
        in_range=tuple(run["difficulties"]["rl"]),
        bootstrap_seed=0,
        resamples=resamples,
    )
