"""Resampled means of many columns at once: of equal questions, and of seeds too.

Both give what drawing questions one by one would give, in distribution, and all columns
share their draws, so that differences and ratios of columns are paired.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from routejax.metrics.intervals import BLOCK, draws


def multiset_means(
    rows: Float[np.ndarray, "U X"],
    times: Int[np.ndarray, "U"],
    *,
    seed: int | Sequence[int],
    resamples: int,
) -> Float[np.ndarray, "resamples X"]:
    """Bootstrap means of questions that have only U different values.

    Row u stands for `times[u]` questions with these values. Instead of Q questions
    with replacement, the numbers of each kind are drawn, multinomially: the same
    distribution for U draws instead of Q, which a million questions need.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    total = int(times.sum())
    shares = times / total
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
