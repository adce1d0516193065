"""Intervals for means: over questions, over training seeds, and over both.

Question-level intervals say how far other questions could move a score of this one
trained model; only several training seeds show how far another run could (paper, A.3).
Every interval is two-sided. Left out: BCa and studentised bootstraps.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy import stats

from routejax.errors import UserError
from routejax.metrics.counts import same_questions

OVER_QUESTIONS = "bootstrap over questions"
PAIRED_OVER_QUESTIONS = "paired bootstrap over questions"
OVER_SEEDS = "t over seeds"
OVER_BOTH = "bootstrap over seeds and questions"

# Entries of one block of resampling weights: 32 MB at most, whatever is asked.
BLOCK = 1 << 22


class Interval(NamedTuple):
    """A mean with its interval.

    Attributes:
        mean, lower, upper: in the units of the values.
        n: how many units were resampled or averaged: questions, or training seeds.
        method: one of the names at the top of this file.
        sd: sample standard deviation (ddof 1) of the values; None for bootstraps.
    """

    mean: float
    lower: float
    upper: float
    n: int
    method: str
    sd: float | None = None

    @property
    def excludes_zero(self) -> bool:
        return self.lower > 0 or self.upper < 0

    def as_dict(self) -> dict[str, float | int | str | None]:
        return self._asdict()


def resampled_means(
    values: Float[np.ndarray, "Q X"], *, seed: int | Sequence[int], resamples: int
) -> Float[np.ndarray, "resamples X"]:
    """Means of each column over `resamples` draws of Q rows with replacement.

    All columns share the draws, so that differences of columns are paired. The draws
    depend on `seed`, `resamples` and Q alone (PCG64), not on the block size.
    """
    rows = len(values)
    blocks = draws(np.random.PCG64(seed), resamples, rows, BLOCK // rows)
    return np.concatenate([block @ values for block in blocks]) / rows


def bootstrap_mean(
    values: ArrayLike, *, seed: int, resamples: int, level: float = 0.95
) -> Interval:
    """Percentile bootstrap over questions of a mean.

    Args:
        values: one number per question.
        seed: of the resampling.
        resamples: how many; the paper uses 20,000 (D.1).
        level: share of the resampled means between the bounds; bounds are linearly
            interpolated percentiles.
    """
    array = _questions(values)
    means = resampled_means(array[:, None], seed=seed, resamples=resamples)[:, 0]
    lower, upper = percentile_bounds(means, level)
    return Interval(
        float(array.mean()), float(lower), float(upper), len(array), OVER_QUESTIONS
    )


def paired_bootstrap(
    a: ArrayLike, b: ArrayLike, *, seed: int, resamples: int, level: float = 0.95
) -> Interval:
    """Percentile bootstrap over questions of mean(a) - mean(b).

    `a` and `b` hold one number per question, the same questions in the same order; a
    resample takes both numbers of a question together.

    Raises:
        UserError: if the two do not hold equally many questions.
    """
    left, right = _questions(a), _questions(b)
    same_questions(left, right, "the first arm", "the second arm")
    found = bootstrap_mean(left - right, seed=seed, resamples=resamples, level=level)
    return found._replace(method=PAIRED_OVER_QUESTIONS)


def t_interval(values: ArrayLike, *, level: float = 0.95) -> Interval:
    """Student's t interval for a mean over training seeds: mean ± t · sd / sqrt(n).

    `sd` has ddof 1 and t is the quantile with n - 1 degrees of freedom. For a paired
    comparison hand in the differences by seed.

    Raises:
        UserError: for fewer than two seeds; one run says nothing about another.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2:
        raise UserError(
            "an interval over training seeds needs at least 2 seeds, got shape "
            f"{array.shape}; train more seeds or use an interval over questions"
        )
    mean, sd = float(array.mean()), float(array.std(ddof=1))
    half = _t_quantile(len(array) - 1, level) * sd / len(array) ** 0.5
    return Interval(mean, mean - half, mean + half, len(array), OVER_SEEDS, sd)


def two_level_interval(
    values: Float[np.ndarray, "seeds Q"],
    *,
    seed: int,
    resamples: int,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap of a mean over training seeds and questions together.

    A resample draws seeds and, independently, questions, both with replacement, and
    averages the crossed table: all seeds answer the same questions, so a hard question
    is hard for all of them (our choice). With few seeds the part that comes from the
    seeds is too narrow by a factor near sqrt(1 - 1/seeds); read it beside `t_interval`.

    Args:
        values: one row per training seed; differences between arms for a comparison.
        seed: of the resampling, not of the training.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise UserError(
            f"values must be a table of seeds by questions, got shape {table.shape}"
        )
    seeds, questions = table.shape
    streams = np.random.SeedSequence(seed).spawn(2)
    rows = BLOCK // max(seeds, questions)
    pairs = zip(
        draws(np.random.PCG64(streams[0]), resamples, seeds, rows),
        draws(np.random.PCG64(streams[1]), resamples, questions, rows),
        strict=True,
    )
    sums = [((by_seed @ table) * by_question).sum(1) for by_seed, by_question in pairs]
    lower, upper = percentile_bounds(np.concatenate(sums) / table.size, level)
    return Interval(
        float(table.mean()), float(lower), float(upper), seeds * questions, OVER_BOTH
    )


def percentile_bounds(
    means: Float[np.ndarray, "resamples ..."], level: float = 0.95
) -> Float[np.ndarray, "2 ..."]:
    """Lower and upper bound that hold the middle `level` of the first axis."""
    if not 0 < level < 1:
        raise UserError(f"level must lie between 0 and 1, got {level}")
    tail = (1 - level) / 2
    return np.quantile(means, [tail, 1 - tail], axis=0)


def draws(
    bits: np.random.PCG64, resamples: int, size: int, rows: int
) -> Iterator[Int[np.ndarray, "rows size"]]:
    """How often each of `size` units is drawn, a block of `rows` resamples at a time.

    Each resample draws `size` units with replacement.
    """
    if resamples < 1:
        raise UserError(f"resamples must be at least 1, got {resamples}")
    rng = np.random.Generator(bits)
    rows = max(1, rows)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        picks = rng.integers(size, size=(count, size))
        picks += np.arange(count)[:, None] * size
        yield np.bincount(picks.ravel(), minlength=count * size).reshape(count, size)


def _questions(values: ArrayLike) -> Float[np.ndarray, "Q"]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise UserError(f"values must be one number per question, got {array.shape}")
    return array


@functools.cache
def _t_quantile(freedom: int, level: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, freedom))
