"""What a study says: every arm before and after RL, and every pair of arms.

Arms are compared on the same questions and, where there are several, on the same
training seeds; a seed that only one arm of a pair has is named and left out of the
pair. Left out: corrections for many comparisons; a study has one headline outcome,
in-range coverage after RL, and the rest is description.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from routejax.errors import UserError
from routejax.metrics.arms import (
    OUTCOMES,
    STAGES,
    Arm,
    Run,
    check_alike,
    read_arm,
)
from routejax.metrics.counts import rounded
from routejax.metrics.intervals import (
    OVER_QUESTIONS,
    PAIRED_OVER_QUESTIONS,
    Interval,
    percentile_bounds,
    resampled_means,
    t_interval,
    two_level_interval,
)
from routejax.metrics.relative import relative_gain, relative_gain_of_means
from routejax.metrics.solved import solved_overlap
from routejax.metrics.verdict import headline_cell, verdict


class _Boot(NamedTuple):
    seed: int
    resamples: int


def summarise_study(
    arms: Mapping[str, Sequence[Run]],
    *,
    bootstrap_seed: int = 20_260_924,
    resamples: int = 20_000,
) -> dict[str, Any]:
    """Means with 95 % intervals of every arm, and differences of every pair of arms.

    Args:
        arms: name -> one entry per training seed: `seed`, and as `sft` and `rl` what
            `checkpoint_metrics` gave (None or absent where the stage was not run). The
            order of the arms is kept; in the pair "a|b" a stands before b.
        bootstrap_seed, resamples: used where one training seed leaves only questions to
            resample, and for `two_level` (the paper's numbers, D.1).

    Returns:
        `samples`, `problems`, `order` (arms), `headline` (the cell the verdicts speak
        of: in-range, or all where there is none), and
        `arms[name]`: `seeds`, `cells[cell]` -> `acc1` and `passN`, each with intervals
        for `sft`, `rl` and `gain` (rl - sft, paired by seed and question), and
        `curves[cell]` -> pass@k for k = 1..N per stage (`k`, `mean`, `low`, `high`);
        `pairs["a|b"]`: `a`, `b`, `seeds` (shared), `unpaired` (seeds of one arm alone),
        `cells[cell]` in the same form for a minus b, `relative[outcome]` (C.5, percent
        after RL: `cells`, `by_env`, `of_env_means`), `overlap[cell]` of the solved sets
        after RL (`by_seed`, with McNemar's p-value, and `mean` of the other numbers),
        `two_level` for the headline outcome, `verdict` and `verdicts[cell]` in words.
        An interval has `mean`, `lower`, `upper`, `sd`, `n`, `method`: t over seeds for
        two seeds or more, else a bootstrap over questions. A cell without questions and
        a stage that not every run of the arm has are None.

    Raises:
        UserError: if arms differ in questions or samples, or a pair shares no seed.
    """
    if not arms:
        raise UserError("a study needs at least one arm, got none")
    boot = _Boot(bootstrap_seed, resamples)
    read = [read_arm(name, runs) for name, runs in arms.items()]
    check_alike(read)
    headline = headline_cell(read[0].masks)
    return rounded(
        {
            "samples": read[0].samples,
            "problems": len(read[0].masks["all"]),
            "order": [arm.name for arm in read],
            "headline": headline,
            "arms": {arm.name: _arm(arm, boot) for arm in read},
            "pairs": {
                f"{a.name}|{b.name}": _pair(a, b, headline, boot)
                for a, b in itertools.combinations(read, 2)
            },
        }
    )


def _arm(arm: Arm, boot: _Boot) -> dict[str, Any]:
    cells, curves = {}, {}
    for cell, mask in arm.masks.items():
        found = mask.any()
        tables = arm.values(cell)
        cells[cell] = _cell(tables, boot, OVER_QUESTIONS) if found else None
        by_stage = {stage: _curve(arm, stage, cell) for stage in arm.counts if found}
        curves[cell] = by_stage or None
    return {"seeds": list(arm.runs), "cells": cells, "curves": curves}


def _curve(arm: Arm, stage: str, cell: str) -> dict[str, Any]:
    found = [run[stage]["cells"][cell] for run in arm.runs.values()]
    ks = [str(k) for k in range(1, arm.samples + 1)]
    if len(found) == 1:
        names = ("passk", "passk_low", "passk_high")
        mean, low, high = ([found[0][name][k] for k in ks] for name in names)
    else:
        by_k = [t_interval([each["passk"][k] for each in found]) for k in ks]
        mean, low, high = list(zip(*by_k, strict=True))[:3]
    return {"k": list(map(int, ks)), "mean": mean, "low": low, "high": high}


def _pair(a: Arm, b: Arm, headline: str, boot: _Boot) -> dict[str, Any]:
    seeds = [seed for seed in a.runs if seed in b.runs]
    if not seeds:
        raise UserError(
            f"arms {a.name} and {b.name} share no training seed: {list(a.runs)} and "
            f"{list(b.runs)}; train both from the same seeds"
        )
    alone = {
        x.name: [s for s in x.runs if s not in y.runs] for x, y in ((a, b), (b, a))
    }
    a, b = a.only(seeds), b.only(seeds)
    gaps = {cell: _gaps(a, b, cell) for cell, mask in a.masks.items() if mask.any()}
    cells = {
        cell: _cell(gaps[cell], boot, PAIRED_OVER_QUESTIONS) if cell in gaps else None
        for cell in a.masks
    }
    sizes = {"samples": a.samples, "seeds": len(seeds)}
    say = {cell: verdict(a.name, b.name, cell, cells[cell], **sizes) for cell in cells}
    after_rl = ("rl", "passN") in gaps[headline]
    return {
        "a": a.name,
        "b": b.name,
        "seeds": seeds,
        "unpaired": alone,
        "cells": cells,
        "relative": {o: _relative(a, b, o) if after_rl else None for o in OUTCOMES},
        "overlap": _overlaps(a, b) if after_rl else None,
        "two_level": _two_level(gaps[headline], boot),
        "verdict": say[headline],
        "verdicts": say,
    }


def _gaps(
    a: Arm, b: Arm, cell: str
) -> dict[tuple[str, str], Float[np.ndarray, "seeds Q"]]:
    left, right = a.values(cell), b.values(cell)
    return {key: left[key] - right[key] for key in left if key in right}


def _cell(
    tables: Mapping[tuple[str, str], Float[np.ndarray, "seeds Q"]],
    boot: _Boot,
    method: str,
) -> dict[str, Any]:
    found = _intervals(tables, boot, method) if tables else {}
    return {
        outcome: {
            stage: found[stage, outcome].as_dict()
            if (stage, outcome) in found
            else None
            for stage in (*STAGES, "gain")
        }
        for outcome in OUTCOMES
    }


def _intervals(
    tables: Mapping[tuple[str, str], Float[np.ndarray, "seeds Q"]],
    boot: _Boot,
    method: str,
) -> dict[tuple[str, str], Interval]:
    if len(next(iter(tables.values()))) > 1:
        return {key: t_interval(table.mean(axis=1)) for key, table in tables.items()}
    columns = np.stack([table[0] for table in tables.values()], axis=1)
    means = resampled_means(columns, seed=boot.seed, resamples=boot.resamples)
    low, high = percentile_bounds(means)
    middle = columns.mean(axis=0)
    return {
        key: Interval(middle[i], low[i], high[i], len(columns), method)
        for i, key in enumerate(tables)
    }


def _two_level(
    gaps: Mapping[tuple[str, str], Float[np.ndarray, "seeds Q"]], boot: _Boot
) -> dict[str, Any] | None:
    gap = gaps.get(("rl", "passN"))
    if gap is None or len(gap) < 2:
        return None
    found = two_level_interval(gap, seed=boot.seed, resamples=boot.resamples)
    return found.as_dict()


def _relative(a: Arm, b: Arm, outcome: str) -> dict[str, Any]:
    def in_cell(arm: Arm, cell: str) -> float:
        return float(arm.values(cell)["rl", outcome].mean())

    left, right = _env_means(a, outcome), _env_means(b, outcome)
    return {
        "cells": {
            cell: relative_gain(in_cell(a, cell), in_cell(b, cell))
            if mask.any()
            else None
            for cell, mask in a.masks.items()
        },
        "by_env": {env: relative_gain(left[env], right[env]) for env in left},
        "of_env_means": relative_gain_of_means(left, right),
    }


def _env_means(arm: Arm, outcome: str) -> dict[str, float]:
    # Score after RL in each environment, the mean over seeds.
    def score(cell: Mapping[str, Any]) -> float:
        return cell["acc1"] if outcome == "acc1" else cell["passk"][str(arm.samples)]

    tables = [run["rl"]["by_env"] for run in arm.runs.values()]
    return {
        env: float(np.mean([score(table[env]) for table in tables]))
        for env in tables[0]
    }


def _overlaps(a: Arm, b: Arm) -> dict[str, Any]:
    return {
        cell: _overlap(a, b, mask) if mask.any() else None
        for cell, mask in a.masks.items()
    }


def _overlap(a: Arm, b: Arm, mask: Bool[np.ndarray, "Q"]) -> dict[str, Any]:
    tables = zip(a.counts["rl"][:, mask], b.counts["rl"][:, mask], strict=True)
    by_seed = [solved_overlap(left, right) for left, right in tables]
    shares = [found.retention for found in by_seed if found.retention is not None]
    mean = dict(zip(by_seed[0]._fields, np.mean(by_seed, axis=0), strict=True))
    return {
        "by_seed": {
            seed: found.as_dict() for seed, found in zip(a.runs, by_seed, strict=True)
        },
        "mean": {**mean, "retention": np.mean(shares) if shares else None},
    }
