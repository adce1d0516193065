"""Exact sums of features and of their squares: the integers of `moments.sums`."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from routejax import moments
from routejax.fingerprints.engine.kernel import kernel

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SCALE = 1 / moments.RESOLUTION
_LIMIT = 2.0**22  # a value in units of 2^-40 must fit an int64; larger ones are rare


@kernel
def _add(block, values, squares):
    """Adds the digits of each value and square; the first row that is out of range, or
    -1. Values are in two digits to the base 2^32, the higher signed; squares in six."""
    for row in range(block.shape[0]):
        for column in range(block.shape[1]):
            value = np.float64(block[row, column])
            if value == 0.0:
                continue
            if not (-_LIMIT < value < _LIMIT):
                return row
            whole = np.int64(np.rint(value * _SCALE))
            values[0, column] += whole >> 32
            values[1, column] += whole & np.int64(0xFFFFFFFF)
            size = np.uint64(abs(whole))
            high, low = size >> _HALF, size & _LOW
            top, middle, bottom = high * high, np.uint64(2) * high * low, low * low
            squares[0, column] += top >> _HALF
            squares[1, column] += top & _LOW
            squares[2, column] += middle >> _HALF
            squares[3, column] += middle & _LOW
            squares[4, column] += bottom >> _HALF
            squares[5, column] += bottom & _LOW
    return -1


def sums(block: Float[np.ndarray, "B D"]) -> moments.Sums:
    """The exact sums of the rows of a block of float32, of at most 2^31 rows.

    Raises:
        UserError: a value that is not finite or not below 2^24 in size.
    """
    width = block.shape[1]
    values, squares = np.zeros((2, width), np.int64), np.zeros((6, width), np.uint64)
    if _add(block, values, squares) >= 0:
        return moments.sums([block])
    return moments.Sums(
        len(block),
        tuple((int(a) << 32) + int(b) for a, b in values.T),
        tuple(
            (a << 96) + (b << 64) + (c << 64) + (d << 32) + (e << 32) + f
            for a, b, c, d, e, f in squares.T.tolist()
        ),
    )
