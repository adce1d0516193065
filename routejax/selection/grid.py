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
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int16

from routejax.errors import UserError

SCALE = 4080
LIMIT = 2**24


class Grid(NamedTuple):
    """Integer rows q = rint(scale * phi), and the SHA-256 of scale, shape and rows."""

    values: Int16[np.ndarray, "N R"]
    scale: int
    sha256: str


def to_grid(phi: Float[np.ndarray, "N R"], scale: int = SCALE) -> Grid:
    """Rows of phi on the integer grid, halves rounded to even; zero rows stay zero.

    The default scale holds for unit rows of up to 1,024 features: rounding adds at most
    sqrt(R)/2 to a row's length, and (4080 + 16)^2 = 2^24.

    Raises:
        UserError: a value that is not finite, or a row with |q|^2 above 2^24 (phi not
            of unit length, or `scale` too large for so many features).
    """
    if not 1 <= scale <= np.iinfo(np.int16).max:
        raise UserError(f"scale must be in 1..32767 (16-bit integers), got {scale}")
    if not np.isfinite(phi).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(phi))[0])
        raise UserError(
            f"phi must be finite, got {phi[row, column]} in row {row}, column {column}"
        )
    rounded = np.rint(np.asarray(phi, np.float64) * scale)
    squares = np.einsum("ij,ij->i", rounded, rounded)
    if len(squares) and squares.max() > LIMIT:
        row = int(squares.argmax())
        raise UserError(
            f"grid rows must have |q|^2 <= 2^24, got {squares[row]:.0f} in row {row} "
            f"(length {np.sqrt(squares[row]) / scale:.6g} of phi, scale {scale}); "
            "bring the rows to unit length or lower the scale"
        )
    return hashed(rounded.astype(np.int16), scale)


def hashed(values: Int16[np.ndarray, "N R"], scale: int) -> Grid:
    """Rows that are on the grid already, with their hash (of little-endian bytes)."""
    head = f"routejax grid {scale} {values.shape[0]} {values.shape[1]}\n".encode()
    digest = hashlib.sha256(head)
    digest.update(values.astype("<i2").tobytes())
    return Grid(values, scale, digest.hexdigest())
