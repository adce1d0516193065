"""One arm on several benchmarks: per benchmark, their unweighted mean, and pooled.

    benchmark   mean over its questions of pass@k; k = 1 is acc@1, and for instruction
                following strict prompt-level accuracy, if a sample is scored 1 only
                where all its instructions are followed
    mean        each benchmark weighs the same (A.3); only k that all of them have
    pooled      each question weighs the same; only where it is asked for (A.3)

Every number has its n and an interval: over training seeds (t) where there are several,
and then `two_level` over seeds and questions beside it; else over questions or
environments, for each benchmark by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from routejax.metrics.clusters import OVER_CLUSTERS
from routejax.metrics.counts import rounded
from routejax.metrics.groups import reward_groups
from routejax.metrics.intervals import (
    OVER_QUESTIONS,
    Interval,
    percentile_bounds,
    t_interval,
)
from routejax.metrics.scored import Scored
from routejax.metrics.suite import Boot, Table, budgets, read_suite, resampled


def summarise_arm(
    parts: Iterable[Scored],
    ks: Sequence[int] | None = None,
    *,
    pooled: bool = False,
    boot: Boot = Boot(),  # noqa: B008 - a record that cannot change
) -> dict[str, Any]:
    """Scores of one arm, ready for JSON.

    Args:
        parts: one entry per benchmark and training seed.
        ks: budgets; None for the powers of two up to each benchmark's N, and N.
        pooled: whether to add the question-weighted mean over all benchmarks.
        boot: of the intervals.

    Returns:
        `arm`, `seeds`, `over` (what was resampled), `benchmarks[name]`, `mean` and
        `pooled` (None unless asked for). A benchmark has `questions`, `samples`,
        `passk[k]` (an interval; `passk["1"]` is acc@1), `groups` (shares of all-fail,
        mixed and all-correct questions, the mean over seeds), `solved` (questions, by
        seed), and `cuts[cut][side]` in the same form. `mean` and `pooled` have
        `benchmarks`, `questions` and `passk[k]`.

    Raises:
        UserError: for what `read_suite` refuses, and k beyond a benchmark's samples.
    """
    suite = read_suite(parts)
    own = {name: budgets_of(table, ks) for name, table in suite.tables.items()}
    draws = {n: resampled([t], own[n], boot) for n, t in suite.tables.items()}
    scores = {n: t.scores(own[n]) for n, t in suite.tables.items()}
    shared = shared_budgets(own)
    sizes = {name: table.questions for name, table in suite.tables.items()}
    total = sum(sizes.values())

    def joined(weights: Mapping[str, float]) -> dict[str, Any]:
        at = {n: [own[n].index(k) for k in shared] for n in own}
        each = weighted({n: scores[n][:, at[n]] for n in own}, weights)
        drawn = weighted({n: draws[n][:, at[n]] for n in own}, weights)
        passk = _intervals(shared, each, drawn, total, boot)
        return {"benchmarks": len(own), "questions": total, "passk": passk}

    return rounded(
        {
            "arm": suite.arm,
            "seeds": suite.seeds,
            "over": boot.over,
            "benchmarks": {
                name: _benchmark(table, own[name], scores[name], draws[name], boot)
                for name, table in suite.tables.items()
            },
            "mean": joined(dict.fromkeys(own, 1.0)),
            "pooled": joined(sizes) if pooled else None,
        }
    )


def budgets_of(table: Table, ks: Sequence[int] | None) -> list[int]:
    """The budgets of one benchmark."""
    return budgets(table.first.samples) if ks is None else [int(k) for k in ks]


def shared_budgets(own: Mapping[str, Sequence[int]]) -> list[int]:
    """The budgets that all benchmarks have."""
    return sorted(set.intersection(*map(set, own.values())))


def weighted(
    values: Mapping[str, Float[np.ndarray, "R K"]], weights: Mapping[str, float]
) -> Float[np.ndarray, "R K"]:
    """The mean over benchmarks, by their weights."""
    total = sum(weights.values())
    found = [weights[name] / total * value for name, value in values.items()]
    return np.sum(found, axis=0)


def sides(table: Table) -> Iterable[tuple[str, str, Table]]:
    """Every side of every cut of a benchmark: cut, side, its questions."""
    for cut, of in table.first.strata.items():
        for value in sorted(set(of), key=lambda side: (str(type(side)), side)):
            yield cut, str(value), table.side(cut, value)


def interval(
    by_seed: Float[np.ndarray, "S"],
    bounds: Float[np.ndarray, "2"],
    n: int,
    method: str,
) -> dict[str, Any]:
    """The interval of a score or of a gap that each training seed gives."""
    low, high = map(float, bounds)
    if len(by_seed) == 1:
        return Interval(float(by_seed[0]), low, high, n, method).as_dict()
    found = t_interval(by_seed).as_dict()
    return {**found, "questions": n, "two_level": {"lower": low, "upper": high}}


def _benchmark(
    table: Table,
    ks: Sequence[int],
    scores: Float[np.ndarray, "S K"],
    draws: Float[np.ndarray, "resamples K"],
    boot: Boot,
) -> dict[str, Any]:
    cuts: dict[str, dict[str, Any]] = {}
    for cut, value, part in sides(table):
        found = part.scores(ks), resampled([part], ks, boot)
        cuts.setdefault(cut, {})[value] = _cell(part, ks, *found, boot)
    return {**_cell(table, ks, scores, draws, boot), "cuts": cuts}


def _cell(
    table: Table,
    ks: Sequence[int],
    scores: Float[np.ndarray, "S K"],
    draws: Float[np.ndarray, "resamples K"],
    boot: Boot,
) -> dict[str, Any]:
    samples = table.first.samples
    groups = [reward_groups(row, samples).as_dict() for row in table.counts]
    return {
        "questions": table.questions,
        "samples": samples,
        "passk": _intervals(ks, scores, draws, table.questions, boot),
        "groups": {name: np.mean([g[name] for g in groups]) for name in groups[0]},
        "solved": np.count_nonzero(table.counts, axis=1),
    }


def _intervals(
    ks: Sequence[int],
    scores: Float[np.ndarray, "S K"],
    draws: Float[np.ndarray, "resamples K"],
    n: int,
    boot: Boot,
) -> dict[int, dict[str, Any]]:
    method = OVER_QUESTIONS if boot.over == "questions" else OVER_CLUSTERS
    bounds = percentile_bounds(draws)
    return {
        k: interval(scores[:, i], bounds[:, i], n, method) for i, k in enumerate(ks)
    }
