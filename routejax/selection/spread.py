"""How far apart the rows of a selection are, and how well they cover their pool.

The five statistics of paper A.4 and Table 3 look within prompts; `coverage` looks from
the pool to the selection, `vendi` counts how many different rows there are in effect.
They describe a selection and take no part in making one. Rows are looked at prompt by
prompt or block by block, so a selection need not fit in memory.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int, Num

from routejax.errors import UserError
from routejax.moments import Moments, moments
from routejax.selection.nearest import nearest

_ACTIVE_SHARE = 50  # a pattern is active in at least one of 50 solutions (2 %)
_BLOCK_ROWS = 8192


class Spread(NamedTuple):
    """Means over the prompts that keep at least two rows (`prompts` many, of `rows`).

    All statistics are NaN where no prompt does.
    """

    rows: int
    prompts: int
    response_distance: float
    topology_distance: float
    topology_variance: float
    pattern_entropy_bits: float
    active_patterns: float


class Coverage(NamedTuple):
    """Largest and mean distance of a pool row to its nearest selected row."""

    radius: float
    mean_nearest: float


def spread(
    features: Float[np.ndarray, "N D"],
    prompt_ids: Sequence[str],
    *,
    continuous: slice,
    topology: slice,
    patterns: slice,
) -> Spread:
    """The five statistics of Table 3 for the selected rows `features`.

    Continuous and topology features are standardised within the selected rows, all of
    them, and not clipped (our choice: A.4 names no clipping). Per prompt: the mean
    Euclidean distance between two solutions in either block; the variance (ddof 0) of
    the topology features about the prompt's mean, averaged over features; the Shannon
    entropy in bits of the pattern occurrences pooled over its solutions, zero where
    there are none; the number of patterns in at least 2 % of its solutions.

    Raises:
        UserError: lengths that differ, or pattern columns that are not 0 or 1.
    """
    if len(prompt_ids) != len(features):
        raise UserError(
            f"prompt_ids must have one entry per row ({len(features)}), "
            f"got {len(prompt_ids)}"
        )
    _check_indicators(features[:, patterns])
    return spread_of_prompts(
        (features[rows] for rows in _shared_prompts(prompt_ids)),
        moments(features),
        continuous=continuous,
        topology=topology,
        patterns=patterns,
    )


def spread_of_prompts(
    prompts: Iterable[Float[np.ndarray, "m D"]],
    stats: Moments,
    *,
    continuous: slice,
    topology: slice,
    patterns: slice,
) -> Spread:
    """The statistics of `spread`, from the rows of one prompt after the other.

    Args:
        prompts: features of the selected rows of each prompt that keeps at least two.
        stats: moments over all selected rows, those of other prompts too.

    Raises:
        UserError: pattern columns that are not 0 or 1.
    """
    sigma = np.sqrt(np.where(stats.variance == 0, 1.0, stats.variance))
    statistics = []
    for rows in prompts:
        _check_indicators(rows[:, patterns])
        scaled = (rows - stats.mean) / sigma
        shape = scaled[:, topology]
        statistics.append(
            (
                _pairwise_distance(scaled[:, continuous]),
                _pairwise_distance(shape),
                float((shape - shape[0]).var(axis=0).mean()),
                *_pattern_use(rows[:, patterns]),
            )
        )
    if not statistics:
        return Spread(stats.count, 0, *[float("nan")] * 5)
    means = np.mean(statistics, axis=0).tolist()
    return Spread(stats.count, len(statistics), *means)


def coverage(phi: Num[np.ndarray, "N R"], selected: Int[np.ndarray, "n"]) -> Coverage:
    """Covering radius and mean nearest distance of all rows to the `selected` ones.

    In units of `phi`; on grid rows the squared distances are exact.

    Raises:
        UserError: nothing selected, or an index that is no row.
    """
    if not len(selected) or selected.min() < 0 or selected.max() >= len(phi):
        raise UserError(f"selected must hold row indices in 0..{len(phi) - 1}")
    distance = nearest(phi, phi[selected]).distance
    return Coverage(float(distance.max()), float(distance.mean()))


def vendi(phi: Num[np.ndarray, "N R"]) -> float:
    """The Vendi score of the rows with the cosine as kernel (Friedman and Dieng, 2023).

    exp of the Shannon entropy of the eigenvalues of K/N, K the cosines of all pairs:
    1 where all rows point the same way, at most min(N, R). The eigenvalues that are not
    zero are also those of the R x R matrix of products of features, which is what is
    computed. Zero rows count as a direction of their own (our choice). NaN for no rows.
    """
    if not len(phi):
        return float("nan")
    products, empty = np.zeros((phi.shape[1], phi.shape[1])), 0
    for first in range(0, len(phi), _BLOCK_ROWS):
        rows = np.asarray(phi[first : first + _BLOCK_ROWS], np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        unit = rows[norms > 0] / norms[norms > 0, None]
        empty += len(rows) - len(unit)
        products += unit.T @ unit
    values = np.append(np.linalg.eigvalsh(products), empty) / len(phi)
    values = values[values > 0]
    return float(np.exp(-(values * np.log(values)).sum()))


def _check_indicators(indicators: Float[np.ndarray, "m D"]) -> None:
    if not np.isin(indicators, (0, 1)).all():
        raise UserError("pattern columns must be 0 or 1; check the slice of the block")


def _shared_prompts(prompt_ids: Sequence[str]) -> list[list[int]]:
    """Rows of every prompt that has at least two, prompts in order of their ids."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(prompt_ids):
        rows.setdefault(name, []).append(row)
    return [rows[name] for name in sorted(rows) if len(rows[name]) > 1]


def _pairwise_distance(rows: Float64[np.ndarray, "m D"]) -> float:
    """Mean Euclidean distance over the pairs; differences, so equal rows give zero."""
    total = 0.0
    for i in range(len(rows) - 1):
        gaps = rows[i + 1 :] - rows[i]
        total += float(np.sqrt(np.einsum("ij,ij->i", gaps, gaps)).sum())
    return total / (len(rows) * (len(rows) - 1) / 2)


def _pattern_use(indicators: Float[np.ndarray, "m D"]) -> tuple[float, float]:
    """Entropy in bits of the pooled occurrences, and the number of active patterns."""
    counts = indicators.sum(axis=0, dtype=np.float64)
    active = (counts > 0) & (counts * _ACTIVE_SHARE >= len(indicators))
    shares = counts[counts > 0] / max(1.0, counts.sum())
    entropy = -(shares * np.log2(shares)).sum()
    return float(abs(entropy)), float(active.sum())
