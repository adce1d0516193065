"""Mean and variance of every feature over a pool, exactly, and the z-scores.

A sum of floats depends on the order of its terms; a sum of integers does not. Features
are float32, so each value is cut into 32-bit digits (multiples of fixed powers of two)
and the digits are summed as integers. Mean and variance are then the exact rational
numbers, rounded once to float64: they are the same for any batch size, any order of the
rows and any order of the files, and no cancellation can make a variance negative.

Left out: projection and unit length (`projection`).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64

from routejax.errors import UserError

CLIP = 5.0
LIMIT = 2.0**24
RESOLUTION = 2.0**-40

# Units of the digits: a value is below 2^24 and a multiple of 2^-40, so its square is
# below 2^48 and a multiple of 2^-80, and every digit is an integer of at most 2^32.
_VALUE_UNITS = (2.0**-8, 2.0**-40)
_SQUARE_UNITS = (2.0**16, 2.0**-16, 2.0**-48, 2.0**-80)
_DIGIT_BITS = 32
_ROWS_AT_ONCE = 64  # a block of 64 x 1,738 float64 and its digits stay in the cache


class Moments(NamedTuple):
    """Rows counted, and the mean and population variance (ddof 0) of every feature."""

    count: int
    mean: Float64[np.ndarray, "D"]
    variance: Float64[np.ndarray, "D"]


def moments(
    features: Float[np.ndarray, "N D"] | Iterable[Float[np.ndarray, "B D"]],
) -> Moments:
    """Mean and variance of every column, the same bytes for any batches and row order.

    `features` is one matrix (a memory map will do) or its batches; one pass is made.
    Values are read as float32 to a resolution of 2^-40 (our choice: 24 bits are what a
    fingerprint holds).

    Raises:
        UserError: no rows, batches of different widths, a value that is not finite or
            not below 2^24 in size (with its row, counted over the batches from 0, and
            its column).
    """
    batches = [features] if isinstance(features, np.ndarray) else features
    count, sums, squares = 0, None, None
    for block in _blocks(batches):
        if sums is None or squares is None:
            sums = np.zeros((len(_VALUE_UNITS), block.shape[1]), np.int64)
            squares = np.zeros((len(_SQUARE_UNITS), block.shape[1]), np.int64)
        if block.shape[1] != sums.shape[1]:
            raise UserError(
                f"every batch must have {sums.shape[1]} features like the first, "
                f"got {block.shape[1]}"
            )
        values = _readable(block, first_row=count)
        _add_digits(sums, values.copy(), _VALUE_UNITS)
        _add_digits(squares, values * values, _SQUARE_UNITS)
        count += len(block)
    if sums is None or squares is None:
        raise UserError("the pool has no rows; mean and variance need at least one")
    return _from_digits(count, sums, squares)


def standardise(
    features: Float[np.ndarray, "N D"],
    stats: Moments | None = None,
    *,
    unscaled: int = 0,
    variance_floor: float = 0.0,
    first_row: int = 0,
) -> Float64[np.ndarray, "N D"]:
    """z = clip((f - mean)/sigma, -5, 5), the last `unscaled` columns as they are.

    A constant feature has sigma = 1, so its z is zero over the pool (paper A.2). Other
    variances are raised to `variance_floor` (1e-8 for released corpora, C.2).
    `unscaled` is 64 for RLVE, whose pattern indicators are appended unscaled (A.5).

    Args:
        stats: statistics of the pool the features come from; of `features` themselves
            if None.
        first_row: number of the first row, for messages about a block of a matrix.

    Raises:
        UserError: see `moments`; or `stats` of another width, or `unscaled` not in
            0..D.
    """
    stats = moments(features) if stats is None else stats
    width = features.shape[1]
    if len(stats.mean) != width:
        raise UserError(
            f"statistics are of {len(stats.mean)} features, the rows have {width}; "
            "use those of the same fingerprint family"
        )
    if not 0 <= unscaled <= width:
        raise UserError(f"unscaled must be in 0..{width} (features), got {unscaled}")
    values = _readable(features, first_row=first_row)
    scaled = slice(0, width - unscaled)
    floored = np.maximum(stats.variance[scaled], variance_floor)
    sigma = np.sqrt(np.where(stats.variance[scaled] == 0, 1.0, floored))
    values[:, scaled] -= stats.mean[scaled]
    values[:, scaled] /= sigma
    np.clip(values[:, scaled], -CLIP, CLIP, out=values[:, scaled])
    return values


def _blocks(batches: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    for batch in batches:
        for first in range(0, len(batch), _ROWS_AT_ONCE):
            yield batch[first : first + _ROWS_AT_ONCE]


def _readable(
    block: Float[np.ndarray, "B D"], *, first_row: int
) -> Float64[np.ndarray, "B D"]:
    """The values as float64 multiples of 2^-40, all of them finite and below 2^24."""
    bad: Bool[np.ndarray, "B D"] = ~(np.abs(block) < LIMIT)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise UserError(
            f"features must be finite and below 2^24 in size, got "
            f"{block[row, column]} in row {first_row + row}, column {column}; "
            "mend or leave out that row"
        )
    values = np.asarray(block, np.float32).astype(np.float64)
    values *= 1 / RESOLUTION
    np.rint(values, out=values)
    values *= RESOLUTION
    return values


def _add_digits(
    totals: Int64[np.ndarray, "digits D"],
    rest: Float64[np.ndarray, "B D"],
    units: tuple[float, ...],
) -> None:
    """Adds the column sums of each digit of `rest` (used up) to `totals`; all exact."""
    for place, unit in enumerate(units):
        digit = np.rint(rest * (1 / unit))
        totals[place] += digit.sum(axis=0).astype(np.int64)
        digit *= unit
        rest -= digit


def _from_digits(
    count: int,
    sums: Int64[np.ndarray, "digits D"],
    squares: Int64[np.ndarray, "squares D"],
) -> Moments:
    """mean = S1/N and variance = (N S2 - S1^2)/N^2, each rounded once to float64."""
    one, two = round(1 / RESOLUTION), round(1 / RESOLUTION**2)
    first = [_integer(column) for column in sums.T.tolist()]
    second = [_integer(column) for column in squares.T.tolist()]
    mean = [s / (count * one) for s in first]
    variance = [
        (count * q - s * s) / (count * count * two)
        for s, q in zip(first, second, strict=True)
    ]
    return Moments(count, np.array(mean), np.array(variance))


def _integer(digits: list[int]) -> int:
    """The integer with these digits to the base 2^32, the highest first."""
    value = 0
    for digit in digits:
        value = (value << _DIGIT_BITS) + digit
    return value
