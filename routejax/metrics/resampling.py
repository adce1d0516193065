"""Resampled means of many columns at once: of equal questions, and of seeds too.

Both give what drawing questions one by one would give, in distribution, and all columns
share their draws, so that differences and ratios of columns are paired.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from routejax.metrics.intervals import BLOCK, draws, resampled_means

# What drawing how many there are of a kind costs, in draws of single questions.
_KIND_COST = 8


def question_means(
    rows: Float[np.ndarray, "U X"],
    kinds: Int[np.ndarray, "Q"],
    *,
    seed: int | Sequence[int],
    resamples: int,
) -> Float[np.ndarray, "resamples X"]:
    """Bootstrap means over questions of which many have equal values.

    Question q has the values `rows[kinds[q]]`; every row is of some question. With few
    rows to many questions not questions are drawn with replacement but, multinomially,
    how many there are of each kind: the same distribution at the price of U draws
    instead of Q, which a million questions need.
    """
    if len(rows) * _KIND_COST > len(kinds):
        return resampled_means(rows[kinds], seed=seed, resamples=resamples)
    rng = np.random.Generator(np.random.PCG64(seed))
    total = len(kinds)
    shares = np.bincount(kinds, minlength=len(rows)) / total
    size = max(1, BLOCK // len(rows))
    found = [
        rng.multinomial(total, shares, size=min(size, resamples - start)) @ rows
        for start in range(0, resamples, size)
    ]
    return np.concatenate(found) / total


def crossed_means(
    sums: Float[np.ndarray, "S U X"],
    sizes: Float[np.ndarray, "U"],
    *,
    seed: Sequence[int],
    unit_seed: Sequence[int],
    resamples: int,
) -> Float[np.ndarray, "resamples X"]:
    """Bootstrap means over training seeds and units together.

    A resample draws training seeds and, independently, units (questions, or whole
    environments), both with replacement, and averages over all questions drawn: all
    seeds answer the same questions (`two_level_interval`). With one training seed only
    the units are drawn.

    Args:
        sums: by training seed and unit, the sum over the unit's questions.
        sizes: questions of each unit.
        seed: of the draws of training seeds; the same for several benchmarks of one
            arm, as one training run answered all of them.
        unit_seed: of the draws of units, each benchmark its own.
    """
    count, units, _ = sums.shape
    rows = BLOCK // max(count, units)
    pairs = zip(
        draws(np.random.PCG64(seed), resamples, count, rows),
        draws(np.random.PCG64(unit_seed), resamples, units, rows),
        strict=True,
    )
    columns = np.moveaxis(sums, 2, 0)
    found = [
        np.stack([((by_seed @ c) * by_unit).sum(1) for c in columns], axis=1)
        / (count * (by_unit @ sizes))[:, None]
        for by_seed, by_unit in pairs
    ]
    return np.concatenate(found)
