"""How near rows stand to their mean, in blocks: no wider copy of the rows is held."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float64, Int64, Num

_BLOCK_ENTRIES = 4_000_000  # 32 MB in float64


def nearness_to_mean(phi: Num[np.ndarray, "N R"]) -> Float64[np.ndarray, "N"]:
    """A key that orders the rows by distance to their mean, equal where distances are.

    With s the sum of the m rows, ||q - s/m||^2 = |q|^2 - 2 q.s/m + const, so the key is
    m |q|^2 - 2 q.s: on grid rows integers below 2^53 for up to 2^27 rows.
    """
    total, key = column_sums(phi), np.empty(len(phi))
    for block in blocks(phi):
        rows = phi[block].astype(np.float64)
        norms = np.einsum("ij,ij->i", rows, rows)
        key[block] = len(phi) * norms - 2 * (rows @ total)
    return key


def gaps_to_mean(
    phi: Num[np.ndarray, "N R"], rows: Int64[np.ndarray, "n"]
) -> Float64[np.ndarray, "n"]:
    """Euclidean distance of some of the rows to the mean of all, rounded."""
    gaps = phi[rows] - column_sums(phi) / len(phi)
    return np.sqrt(np.einsum("ij,ij->i", gaps, gaps))


def column_sums(phi: Num[np.ndarray, "N R"]) -> Float64[np.ndarray, "R"]:
    """The sum of the rows; exact on the grid."""
    total = np.zeros(phi.shape[1])
    for block in blocks(phi):
        total += phi[block].sum(axis=0, dtype=np.float64)
    return total


def blocks(phi: Num[np.ndarray, "N R"]) -> Iterator[slice]:
    """Ranges of rows that have a few million entries each."""
    step = max(1, _BLOCK_ENTRIES // max(1, phi.shape[1]))
    for first in range(0, len(phi), step):
        yield slice(first, min(first + step, len(phi)))
