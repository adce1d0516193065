"""Coverage from a finite number of samples: pass@k, its curve, and acc@1.

The estimator is that of the paper's A.3. Left out: majority votes and best-of-n by a
scorer, which need more than counts of correct answers.
"""

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from routejax.errors import UserError
from routejax.metrics.counts import as_counts

# exp(-40) < 2**-54: with a log of failure below this, 1 - failure rounds to 1.
_CERTAIN = 40


def pass_at_k(
    n: ArrayLike, c: ArrayLike, k: ArrayLike
) -> float | Float[np.ndarray, "..."]:
    """Unbiased estimate of the chance that one of `k` attempts is correct.

    1 - C(n - c, k) / C(n, k), and 1 where n - c < k (A.3): the share of the subsets of
    size `k` of the `n` samples that hold at least one of the `c` correct ones.

    Args:
        n, c, k: integers below 2**63 or arrays of them that broadcast; 0 <= c <= n and
            1 <= k <= n.

    Returns:
        A float for scalars, else a float64 array of the broadcast shape. Exactly 0
        where c = 0 and exactly 1 where n - c < k; elsewhere the ratio is a product of
        min(c, k) factors summed as log1p, so that neither a huge `n` nor a tiny answer
        loses digits.

    Raises:
        UserError: for values that are not integers or outside those ranges.
    """
    arrays = np.broadcast_arrays(np.asarray(n), np.asarray(c), np.asarray(k))
    triples = np.stack([array.ravel() for array in arrays])
    _check(triples)
    distinct, where = np.unique(triples, axis=1, return_inverse=True)
    values = np.array([_one(*map(int, triple)) for triple in distinct.T])
    result = values[where.reshape(-1)].reshape(arrays[0].shape)
    return float(result) if result.ndim == 0 else result


def pass_values(counts: ArrayLike, n: int) -> Float[np.ndarray, "Q n"]:
    """pass@k of every question for k = 1..n, in that order of columns.

    C(n - c, k) / C(n, k) is built as a running product of (n - c - j) / (n - j), which
    is exactly 1 for c = 0 and reaches exactly 0 where n - c < k.
    """
    checked = as_counts(counts, n)
    distinct, where = np.unique(checked, return_inverse=True)
    drawn = np.arange(n)
    # Once no wrong sample is left the product is 0 and stays there.
    wrong_left = n - distinct[:, None] - drawn
    return (1.0 - np.cumprod(wrong_left / (n - drawn), axis=1))[where.reshape(-1)]


def pass_curve(counts: ArrayLike, n: int) -> dict[int, float]:
    """pass@k for k = 1..n: the mean over all questions of the estimator of A.3.

    At k = 1 this is acc@1, at k = n the share of questions solved at least once.
    """
    means = pass_values(counts, n).mean(axis=0)
    return {k: float(mean) for k, mean in enumerate(means, start=1)}


def acc_at_1(counts: ArrayLike, n: int) -> float:
    """Mean sampled accuracy: the mean over questions of c / n (A.2, A.3)."""
    checked = as_counts(counts, n)
    return int(checked.sum()) / (n * len(checked))


def _check(triples: np.ndarray) -> None:
    if triples.dtype.kind not in "iu":
        raise UserError(f"n, c and k must be integers below 2**63, got {triples.dtype}")
    n, c, k = triples
    for name, value, low in (("c", c, 0), ("k", k, 1)):
        outside = np.flatnonzero((value < low) | (value > n))
        if outside.size:
            at = int(outside[0])
            raise UserError(
                f"{name} must lie in {low}..n, got {name} = {value[at]} with "
                f"n = {n[at]} samples"
            )


def _one(n: int, c: int, k: int) -> float:
    # C(n-c, k) / C(n, k) is symmetric in c and k, so the shorter product is enough.
    few, many = sorted((c, k))
    if few + many > n:
        return 1.0
    if few * many > _CERTAIN * n:
        return 1.0
    return -math.expm1(np.log1p(-many / (n - np.arange(few))).sum())
