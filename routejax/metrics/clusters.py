"""Resampling in clusters: all questions of an environment are drawn together or not.

Questions of one environment are alike, so an interval over questions taken singly is
too narrow where a claim is about environments (paper, D.1). Left out: strata, for every
draw is from one list of environments.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from routejax.errors import UserError
from routejax.metrics.intervals import BLOCK, Interval, draws, percentile_bounds

OVER_CLUSTERS = "bootstrap over environments"
PAIRED_OVER_CLUSTERS = "paired bootstrap over environments"


def resampled_cluster_means(
    values: Float[np.ndarray, "Q X"],
    clusters: Sequence[Hashable],
    *,
    seed: int,
    resamples: int,
) -> Float[np.ndarray, "resamples X"]:
    """Question-weighted means of each column over draws of whole clusters.

    A resample draws as many clusters as there are, with replacement, and averages over
    all their questions, so a large cluster weighs more. All columns share the draws.
    They depend on `seed`, `resamples` and the number of clusters; the k-th cluster is
    the k-th that `clusters` names.
    """
    places = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    if len(clusters) != len(values) or not places:
        raise UserError(
            f"clusters must name the environment of each of {len(values)} question(s), "
            f"at least one, got {len(clusters)} name(s)"
        )
    where = np.array([places[name] for name in clusters])
    sizes = np.bincount(where).astype(np.float64)
    sums = np.stack([np.bincount(where, column) for column in values.T], axis=1)
    count = len(places)
    blocks = draws(np.random.PCG64(seed), resamples, count, BLOCK // count)
    return np.concatenate([(b @ sums) / (b @ sizes)[:, None] for b in blocks])


def cluster_bootstrap(
    a: ArrayLike,
    b: ArrayLike | None,
    clusters: Sequence[Hashable],
    *,
    seed: int,
    resamples: int,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap over environments of mean(a) - mean(b), or of mean(a) alone.

    Args:
        a, b: one number per question, the same questions in the same order.
        clusters: environment of each question; all of its questions are drawn together,
            those of both arms too.
        seed, resamples, level: as in `bootstrap_mean`.

    Returns:
        An interval whose `n` is the number of environments.

    Raises:
        UserError: if the three do not speak of equally many questions.
    """
    left = np.asarray(a, dtype=np.float64)
    right = np.zeros_like(left) if b is None else np.asarray(b, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise UserError(
            "both arms need one number for each of the same questions, got shapes "
            f"{left.shape} and {right.shape}"
        )
    gap = (left - right)[:, None]
    means = resampled_cluster_means(gap, clusters, seed=seed, resamples=resamples)
    lower, upper = percentile_bounds(means[:, 0], level)
    return Interval(
        float(gap.mean()),
        float(lower),
        float(upper),
        len(set(clusters)),
        OVER_CLUSTERS if b is None else PAIRED_OVER_CLUSTERS,
    )
