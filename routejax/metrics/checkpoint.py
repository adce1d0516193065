"""Everything that is reported about one checkpoint, as one JSON-able dict.

Questions are cut in two ways: by environment (seen in SFT or not) and by difficulty (in
the range trained on or beyond it). A cell is one side of a cut or of both.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from routejax.errors import UserError
from routejax.metrics.counts import as_counts, rounded
from routejax.metrics.groups import reward_groups
from routejax.metrics.intervals import percentile_bounds, resampled_means
from routejax.metrics.passk import pass_values

# name: (environment seen in SFT?, difficulty in the trained range?); None = either
CELLS: dict[str, tuple[bool | None, bool | None]] = {
    "all": (None, None),
    "in_range": (None, True),
    "extrapolation": (None, False),
    "seen": (True, None),
    "unseen": (False, None),
    "seen_in_range": (True, True),
    "unseen_in_range": (False, True),
    "seen_extrapolation": (True, False),
    "unseen_extrapolation": (False, False),
}


def cell_mask(
    name: str, seen: Bool[np.ndarray, "Q"], in_range: Bool[np.ndarray, "Q"]
) -> Bool[np.ndarray, "Q"]:
    """Which questions belong to the cell `name` of `CELLS`."""
    of_env, of_range = CELLS[name]
    mask = np.ones(len(seen), dtype=bool)
    if of_env is not None:
        mask &= seen == of_env
    if of_range is not None:
        mask &= in_range == of_range
    return mask


def checkpoint_metrics(
    *,
    counts: ArrayLike,
    samples: int,
    envs: Sequence[str],
    difficulties: Sequence[int],
    seen: Sequence[str],
    in_range: tuple[int, int],
    bootstrap_seed: int,
    resamples: int,
) -> dict[str, Any]:
    """Accuracy, coverage and reward groups of one checkpoint in every cell.

    Args:
        counts: correct answers per question.
        samples: N, answers sampled per question.
        envs, difficulties: of each question, in the order of `counts`.
        seen: environments that SFT had; all others are unseen.
        in_range: lowest and highest difficulty trained on, both inclusive;
            "extrapolation" is every other difficulty.
        bootstrap_seed, resamples: of the 95 % percentile bootstrap over questions.

    Returns:
        `samples`, `counts`, `membership` (0 or 1 per question for `seen` and
        `in_range`), `cells`, `by_difficulty` (cells too), `by_env` (cells without
        intervals) and `by_env_and_difficulty` (`problems`, `acc1`, `passN`). A cell
        has `problems`, `acc1`, `acc1_low`, `acc1_high`, `passk`, `passk_low`,
        `passk_high` (keys "1".."N"), `groups` (shares) and `solved` (questions with a
        correct answer). Scores lie in 0..1, rounded to 6 digits. A cell without
        questions is None.

    Raises:
        UserError: for counts outside 0..samples, columns of unequal length, or a range
            whose ends are the wrong way round.
    """
    checked = as_counts(counts, samples)
    _check(checked, envs, difficulties, in_range)
    env, level = np.asarray(envs, dtype=str), np.asarray(difficulties)
    is_seen = np.isin(env, list(seen)) if seen else np.zeros(len(env), dtype=bool)
    inside = (level >= in_range[0]) & (level <= in_range[1])
    values = pass_values(checked, samples)
    boot = (bootstrap_seed, resamples)

    def cell(mask: np.ndarray, *, intervals: bool) -> dict[str, Any] | None:
        return _cell(checked[mask], values[mask], samples, boot if intervals else None)

    masks = {name: cell_mask(name, is_seen, inside) for name in CELLS}
    return rounded(
        {
            "samples": samples,
            "counts": checked,
            "membership": {"seen": is_seen.astype(int), "in_range": inside.astype(int)},
            "cells": {name: cell(m, intervals=True) for name, m in masks.items()},
            "by_env": {
                name: cell(env == name, intervals=False) for name in _distinct(env)
            },
            "by_difficulty": {
                d: cell(level == d, intervals=True) for d in _distinct(level)
            },
            "by_env_and_difficulty": {
                name: {
                    d: _compact(values[(env == name) & (level == d)])
                    for d in _distinct(level[env == name])
                }
                for name in _distinct(env)
            },
        }
    )


def _cell(
    counts: Int[np.ndarray, "Q"],
    values: Float[np.ndarray, "Q n"],
    samples: int,
    boot: tuple[int, int] | None,
) -> dict[str, Any] | None:
    if not len(counts):
        return None
    cell = {
        "problems": len(counts),
        "acc1": values[:, 0].mean(),
        "passk": _by_k(values.mean(axis=0)),
        "groups": reward_groups(counts, samples).as_dict(),
        "solved": np.count_nonzero(counts),
    }
    if boot:
        means = resampled_means(values, seed=boot[0], resamples=boot[1])
        low, high = percentile_bounds(means)
        cell |= {
            "acc1_low": low[0],
            "acc1_high": high[0],
            "passk_low": _by_k(low),
            "passk_high": _by_k(high),
        }
    return cell


def _compact(values: Float[np.ndarray, "Q n"]) -> dict[str, Any]:
    return {
        "problems": len(values),
        "acc1": values[:, 0].mean(),
        "passN": values[:, -1].mean(),
    }


def _by_k(values: Float[np.ndarray, "n"]) -> dict[int, float]:
    return dict(enumerate(values, start=1))


def _distinct(values: np.ndarray) -> Iterable[Any]:
    return np.unique(values).tolist()


def _check(
    counts: Int[np.ndarray, "Q"],
    envs: Sequence[str],
    difficulties: Sequence[int],
    in_range: tuple[int, int],
) -> None:
    sizes = {"envs": len(envs), "difficulties": len(difficulties)}
    for name, size in sizes.items():
        if size != len(counts):
            raise UserError(
                f"{name} must hold one entry per question ({len(counts)} counts), "
                f"got {size}"
            )
    if np.asarray(difficulties).dtype.kind not in "iu":
        raise UserError(
            "difficulties must be whole numbers, one per question, got "
            f"{np.asarray(difficulties).dtype}"
        )
    if in_range[0] > in_range[1]:
        raise UserError(
            f"in_range must be (lowest, highest) difficulty, got {tuple(in_range)}"
        )
