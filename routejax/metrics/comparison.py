"""Two arms on several benchmarks: gaps, relative gains and solved sets, with intervals.

Arms are compared on the same questions, draws and decoding (A.3), paired by question
and by training seed. An absolute gap is s_a - s_b, a relative gain 100 (s_a / s_b - 1)
percent. That of the means is the change of the unweighted mean score, neither a pooled
score nor the average of the gains per benchmark (C.5).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from routejax.metrics.benchmarks import (
    budgets_of,
    interval,
    shared_budgets,
    sides,
    weighted,
)
from routejax.metrics.clusters import PAIRED_OVER_CLUSTERS
from routejax.metrics.counts import rounded
from routejax.metrics.intervals import PAIRED_OVER_QUESTIONS, percentile_bounds
from routejax.metrics.relative import relative_gain
from routejax.metrics.scored import Scored
from routejax.metrics.solved import solved_overlap
from routejax.metrics.suite import Boot, Table, paired, read_suite, resampled

Scores = Float[np.ndarray, "S K"]
Draws = Float[np.ndarray, "resamples K"]
Pair = tuple[Scores, Scores, Draws, Draws]  # of a, of b, resampled a, resampled b


def compare_arms(
    a: Iterable[Scored],
    b: Iterable[Scored],
    ks: Sequence[int] | None = None,
    *,
    pooled: bool = False,
    boot: Boot = Boot(),  # noqa: B008 - a record that cannot change
) -> dict[str, Any]:
    """What arm `a` has over arm `b`, ready for JSON.

    Args:
        a, b: one entry per benchmark and training seed of each arm.
        ks, pooled, boot: as in `summarise_arm`.

    Returns:
        `a`, `b`, `seeds` (that both have), `unpaired` (seeds of one alone), `over`,
        `benchmarks[name]`, `mean` and `pooled` (None unless asked for). A benchmark has
        `questions`, `samples`, `overlap` of the solved sets by seed with retention and
        McNemar's p-value, `cuts[cut][side]` in the same form, and, as `mean` and
        `pooled` have too, by k `scores` (`a` and `b`), `gap` (an interval) and
        `relative` (`percent`, `lower`, `upper`, None where b scores 0, in the bounds
        where it does so in a resample).

    Raises:
        UserError: if the arms cannot be compared, naming what differs.
    """
    left, right = read_suite(a), read_suite(b)
    unpaired = {
        x.arm: [s for s in x.seeds if s not in y.seeds]
        for x, y in ((left, right), (right, left))
    }
    left, right = paired(left, right)
    tables = {n: (t, right.tables[n]) for n, t in left.tables.items()}
    own = {name: budgets_of(pair[0], ks) for name, pair in tables.items()}
    found = {name: _pair(pair, own[name], boot) for name, pair in tables.items()}
    shared = shared_budgets(own)
    sizes = {name: pair[0].questions for name, pair in tables.items()}
    total = sum(sizes.values())

    def joined(weights: Mapping[str, float]) -> dict[str, Any]:
        at = {name: [own[name].index(k) for k in shared] for name in own}
        each = [
            weighted({n: found[n][i][:, at[n]] for n in own}, weights) for i in range(4)
        ]
        numbers = _numbers(shared, (each[0], each[1], each[2], each[3]), total, boot)
        return {"benchmarks": len(own), "questions": total, **numbers}

    return rounded(
        {
            "a": left.arm,
            "b": right.arm,
            "seeds": left.seeds,
            "unpaired": unpaired,
            "over": boot.over,
            "benchmarks": {
                name: _benchmark(pair, left.seeds, own[name], found[name], boot)
                for name, pair in tables.items()
            },
            "mean": joined(dict.fromkeys(own, 1.0)),
            "pooled": joined(sizes) if pooled else None,
        }
    )


def _pair(tables: tuple[Table, Table], ks: Sequence[int], boot: Boot) -> Pair:
    drawn = resampled(tables, ks, boot)
    a, b = (table.scores(ks) for table in tables)
    return a, b, drawn[:, : len(ks)], drawn[:, len(ks) :]


def _benchmark(
    tables: tuple[Table, Table],
    seeds: Sequence[int],
    ks: Sequence[int],
    found: Pair,
    boot: Boot,
) -> dict[str, Any]:
    cuts: dict[str, dict[str, Any]] = {}
    for (cut, value, a), (_, _, b) in zip(*map(sides, tables), strict=True):
        of = _cell((a, b), seeds, ks, _pair((a, b), ks, boot), boot)
        cuts.setdefault(cut, {})[value] = of
    return {**_cell(tables, seeds, ks, found, boot), "cuts": cuts}


def _cell(
    tables: tuple[Table, Table],
    seeds: Sequence[int],
    ks: Sequence[int],
    found: Pair,
    boot: Boot,
) -> dict[str, Any]:
    a, b = tables
    rows = zip(seeds, a.counts, b.counts, strict=True)
    return {
        "questions": a.questions,
        "samples": a.first.samples,
        **_numbers(ks, found, a.questions, boot),
        "overlap": {seed: solved_overlap(x, y).as_dict() for seed, x, y in rows},
    }


def _numbers(ks: Sequence[int], found: Pair, n: int, boot: Boot) -> dict[str, Any]:
    a, b, drawn_a, drawn_b = found
    bounds = percentile_bounds(drawn_a - drawn_b)
    over = boot.over == "questions"
    method = PAIRED_OVER_QUESTIONS if over else PAIRED_OVER_CLUSTERS
    means = a.mean(axis=0), b.mean(axis=0)
    return {
        "scores": {k: {"a": means[0][i], "b": means[1][i]} for i, k in enumerate(ks)},
        "gap": {
            k: interval(a[:, i] - b[:, i], bounds[:, i], n, method)
            for i, k in enumerate(ks)
        },
        "relative": {
            k: _relative(means[0][i], means[1][i], drawn_a[:, i], drawn_b[:, i])
            for i, k in enumerate(ks)
        },
    }


def _relative(
    a: float, b: float, drawn_a: np.ndarray, drawn_b: np.ndarray
) -> dict[str, float | None]:
    low = high = None
    if drawn_b.all():
        low, high = percentile_bounds(100.0 * (drawn_a / drawn_b - 1.0))
    return {"percent": relative_gain(a, b), "lower": low, "upper": high}
