"""What every fast engine begins with: the norms of grid rows and the first pick.

All of it in blocks, so that int16 rows are never held in a wider type.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int32, Int64, Num

from routejax.errors import UserError
from routejax.selection.grid import LIMIT

_BLOCK_ENTRIES = 4_000_000


def grid_norms(phi: Num[np.ndarray, "N R"]) -> Int32[np.ndarray, "N"]:
    """|q|^2 of every row.

    Raises:
        UserError: rows that are not integers, or a row with |q|^2 above 2^24, whose
            products float32 could not hold.
    """
    if not np.issubdtype(phi.dtype, np.integer):
        raise UserError(
            "this engine needs rows of the integer grid, where distances are exact, "
            f'got {phi.dtype}; use to_grid, or engine="reference"'
        )
    norms = np.empty(len(phi), np.int32)
    for first, last in _blocks(phi):
        block = phi[first:last].astype(np.int64)
        squares = np.einsum("ij,ij->i", block, block)
        if squares.max() > LIMIT:
            row = int(squares.argmax())
            raise UserError(
                f"grid rows must have |q|^2 <= 2^24, got {squares[row]} in row "
                f"{first + row}; make the rows with to_grid"
            )
        norms[first:last] = squares
    return norms


def nearest_to_mean(phi: Num[np.ndarray, "N R"], norms: Int32[np.ndarray, "N"]) -> int:
    """The row with the least distance to the mean, the lowest of equal ones.

    By the integers m |q|^2 - 2 q.s of `nearness_to_mean`, block by block.
    """
    total = _column_sums(phi).astype(np.float64)
    best, pick = np.inf, 0
    for first, last in _blocks(phi):
        nearness = len(phi) * norms[first:last].astype(np.float64)
        nearness -= 2 * (phi[first:last].astype(np.float64) @ total)
        row = int(nearness.argmin())
        if nearness[row] < best:
            best, pick = float(nearness[row]), first + row
    return pick


def gap_to_mean(phi: Num[np.ndarray, "N R"], row: int) -> float:
    """Euclidean distance of one row to the mean of all, rounded as the reference's."""
    gap = phi[row] - _column_sums(phi) / len(phi)
    return float(np.sqrt(np.einsum("ij,ij->i", gap[None], gap[None]))[0])


def _column_sums(phi: Num[np.ndarray, "N R"]) -> Int64[np.ndarray, "R"]:
    total = np.zeros(phi.shape[1], np.int64)
    for first, last in _blocks(phi):
        total += phi[first:last].sum(axis=0, dtype=np.int64)
    return total


def _blocks(phi: Num[np.ndarray, "N R"]) -> Iterator[tuple[int, int]]:
    step = max(1, _BLOCK_ENTRIES // max(1, phi.shape[1]))
    for first in range(0, len(phi), step):
        yield first, min(first + step, len(phi))
