"""Mean and variance of every feature over a pool, exactly, in any order and any pieces.

A sum of floats depends on the order of its terms; a sum of integers does not. Features
are float32, so each value is a multiple of 2^-40 after one rounding, and the sums of
values and of squares are integers. Mean and variance are the exact rational numbers,
rounded once to float64: the same for any batch size, any order of the rows and any
order of the files, and no cancellation can make a variance negative.

Left out: what the moments are for (`selection.standardise`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64

from routejax.errors import UserError

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


class Sums(NamedTuple):
    """Rows counted, and per feature the exact sum of its values in units of 2^-40 and
    of their squares in units of 2^-80. Sums of pieces of a pool add up to its own."""

    count: int
    values: tuple[int, ...]
    squares: tuple[int, ...]

    def __add__(self, other: Sums) -> Sums:  # type: ignore[override]
        """Both together.

        Raises:
            UserError: they are of different numbers of features.
        """
        if len(self.values) != len(other.values):
            raise UserError(
                f"every batch must have {len(self.values)} features like the first, "
                f"got {len(other.values)}"
            )
        return Sums(
            self.count + other.count,
            tuple(a + b for a, b in zip(self.values, other.values, strict=True)),
            tuple(a + b for a, b in zip(self.squares, other.squares, strict=True)),
        )

    def __sub__(self, other: Sums) -> Sums:
        """What is left without rows that were summed here."""
        return Sums(
            self.count - other.count,
            tuple(a - b for a, b in zip(self.values, other.values, strict=True)),
            tuple(a - b for a, b in zip(self.squares, other.squares, strict=True)),
        )

    def moments(self) -> Moments:
        """mean = S1/N and variance = (N S2 - S1^2)/N^2, each rounded once to float64.

        Raises:
            UserError: no rows were summed.
        """
        n = self.count
        if not n:
            raise UserError("the pool has no rows; mean and variance need at least one")
        one, two = round(1 / RESOLUTION), round(1 / RESOLUTION**2)
        mean = [s / (n * one) for s in self.values]
        variance = [
            (n * q - s * s) / (n * n * two)
            for s, q in zip(self.values, self.squares, strict=True)
        ]
        return Moments(n, np.array(mean), np.array(variance))


def no_sums(width: int) -> Sums:
    """The sums of no rows of `width` features."""
    return Sums(0, (0,) * width, (0,) * width)


def sums(batches: Iterable[Float[np.ndarray, "B D"]]) -> Sums:
    """The exact sums of all rows of the batches, read as float32.

    Raises:
        UserError: no rows, batches of different widths, a value that is not finite or
            not below 2^24 in size (with its row, counted over the batches from 0, and
            its column).
    """
    count, values, squares = 0, None, None
    for block in _blocks(batches):
        if values is None or squares is None:
            values = np.zeros((len(_VALUE_UNITS), block.shape[1]), np.int64)
            squares = np.zeros((len(_SQUARE_UNITS), block.shape[1]), np.int64)
        if block.shape[1] != values.shape[1]:
            raise UserError(
                f"every batch must have {values.shape[1]} features like the first, "
                f"got {block.shape[1]}"
            )
        read = readable(block, first_row=count)
        _add_digits(values, read.copy(), _VALUE_UNITS)
        _add_digits(squares, read * read, _SQUARE_UNITS)
        count += len(block)
    if values is None or squares is None:
        raise UserError("the pool has no rows; mean and variance need at least one")
    return Sums(count, _integers(values), _integers(squares))


def moments(
    features: Float[np.ndarray, "N D"] | Iterable[Float[np.ndarray, "B D"]],
) -> Moments:
    """Mean and variance of every column, the same bytes for any batches and row order.

    `features` is one matrix (a memory map will do) or its batches; one pass is made.
    Values are read as float32 to a resolution of 2^-40 (our choice: 24 bits are what a
    fingerprint holds).

    Raises:
        UserError: see `sums`.
    """
    batches = [features] if isinstance(features, np.ndarray) else features
    return sums(batches).moments()


def readable(
    block: Float[np.ndarray, "B D"], *, first_row: int = 0
) -> Float64[np.ndarray, "B D"]:
    """The values as float64 multiples of 2^-40, all of them finite and below 2^24.

    Raises:
        UserError: a value that is not, with its row (from `first_row`) and column.
    """
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


def _blocks(batches: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    for batch in batches:
        for first in range(0, len(batch), _ROWS_AT_ONCE):
            yield batch[first : first + _ROWS_AT_ONCE]


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


def _integers(digits: Int64[np.ndarray, "digits D"]) -> tuple[int, ...]:
    """Per column the integer with these digits to the base 2^32, the highest first."""
    whole = []
    for column in digits.T.tolist():
        value = 0
        for digit in column:
            value = (value << _DIGIT_BITS) + digit
        whole.append(value)
    return tuple(whole)
