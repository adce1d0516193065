"""phi rounded once to an integer grid, after which every distance is exact.

With q = rint(S phi) and |q|^2 <= 2^24, every product of two entries and every partial
sum of a dot product is an integer of at most 2^24 in size (Cauchy-Schwarz on any subset
of the coordinates). Such integers are exact in float32 and float64, so a dot product
has one value in whatever order, on however many threads and devices it is summed.
Without the grid, float32 dot products of the same two rows differ between a
matrix-matrix and a matrix-vector product in most cases, and one near-tie decided the
other way changes every later farthest-point pick.

The grid is a defined variant of the method: it picks other rows than float32 does, but
equally good ones (800 of 4,000 synthetic rows: the mean distance of a row to the
selection differs by less than 0.1 %, which another seed does as well).
"""

import hashlib
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int16, Int64

from routejax.errors import UserError

SCALE = 4080
LIMIT = 2**24
_BLOCK_ROWS = 8192


class Grid(NamedTuple):
    """Integer rows q = rint(scale * phi), and the SHA-256 of scale, shape and rows."""

    values: Int16[np.ndarray, "N R"]
    scale: int
    sha256: str


def to_grid(phi: Float[np.ndarray, "N R"], scale: int = SCALE) -> Grid:
    """Rows of phi on the integer grid, halves rounded to even; zero rows stay zero.

    The default scale holds for unit rows of up to 1,024 features: rounding adds at most
    sqrt(R)/2 to a row's length, and (4080 + 16)^2 = 2^24. Wider rows need a lower one,
    see `scale_for`. `phi` may be a memory map; it is read in blocks.

    Raises:
        UserError: a value that is not finite, or a row with |q|^2 above 2^24 (phi not
            of unit length, or `scale` too large for so many features).
    """
    if not 1 <= scale <= np.iinfo(np.int16).max:
        raise UserError(f"scale must be in 1..32767 (16-bit integers), got {scale}")
    values = np.empty(phi.shape, np.int16)
    longest, at = 0.0, 0
    for first in range(0, len(phi), _BLOCK_ROWS):
        block = phi[first : first + _BLOCK_ROWS]
        _check_finite(block, first)
        rounded = np.rint(np.asarray(block, np.float64) * scale)
        squares = np.einsum("ij,ij->i", rounded, rounded)
        if squares.max() > longest:
            longest, at = float(squares.max()), first + int(squares.argmax())
        if longest <= LIMIT:
            values[first : first + _BLOCK_ROWS] = rounded
    if longest > LIMIT:
        raise UserError(
            f"grid rows must have |q|^2 <= 2^24, got {longest:.0f} in row {at} "
            f"(length {np.sqrt(longest) / scale:.6g} of phi, scale {scale}); "
            "bring the rows to unit length or lower the scale"
        )
    return hashed(values, scale)


def scale_for(features: int) -> int:
    """The scale for unit rows of so many features: 4080 for up to 1,024, then less.

    floor(4096 - sqrt(R)/2), so that |q| <= scale + sqrt(R)/2 <= 2^12 whatever the row;
    4064 for 4,096 features.
    """
    return min(SCALE, 4096 - (math.isqrt(max(features, 1) - 1) + 2) // 2)


def hashed(values: Int16[np.ndarray, "N R"], scale: int) -> Grid:
    """Rows that are on the grid already, with their hash (of little-endian bytes)."""
    return Grid(values, scale, grid_sha256(values, scale))


def grid_sha256(
    values: Int16[np.ndarray, "N R"],
    scale: int,
    order: Int64[np.ndarray, "N"] | None = None,
) -> str:
    """The hash of `hashed(values[order], scale)`, without a copy of the rows."""
    head = f"routejax grid {scale} {values.shape[0]} {values.shape[1]}\n".encode()
    digest = hashlib.sha256(head)
    for first in range(0, len(values), _BLOCK_ROWS):
        block = slice(first, first + _BLOCK_ROWS)
        rows = values[block if order is None else order[block]]
        digest.update(np.ascontiguousarray(rows, "<i2").data)
    return digest.hexdigest()


def _check_finite(block: Float[np.ndarray, "B R"], first: int) -> None:
    if not np.isfinite(block).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(block))[0])
        raise UserError(
            f"phi must be finite, got {block[row, column]} in row {first + row}, "
            f"column {column}"
        )
