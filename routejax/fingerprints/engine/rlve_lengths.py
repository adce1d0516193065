"""The step lengths of the `rlve` family: `continuous_rlve`, on arrays."""

from __future__ import annotations

from math import log, log1p, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from routejax.fingerprints.continuous_rlve import LONG, SHORT, STEP_LENGTH
from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import kernel

assert len(STEP_LENGTH) == 12
_CLASSES = 64  # of lengths, the last for all longer ones
assert SHORT < LONG < _CLASSES - 1
_KNOWN = 1024  # lengths whose n·log(n) is known


class Lengths(NamedTuple):
    """`weighed[n]` is n·log(n); `classes` is room to count lengths."""

    weighed: Float64[np.ndarray, "1024"]
    classes: Int64[np.ndarray, "64"]


def lengths() -> Lengths:
    weighed = [n * log(n) for n in range(1, _KNOWN)]
    return Lengths(np.array([0.0, *weighed]), np.empty(_CLASSES, np.int64))


@kernel
def step_lengths(words, n, characters, room, out):
    """Writes the 12 features to `out`; n > 0, and every step has a word."""
    classes = room.classes
    total, squares, longest = _count(words, n, classes)
    short = above = np.int64(0)
    for k in range(_CLASSES):
        short += classes[k] * (k <= SHORT)
        above += classes[k] * (k > LONG)
    early_to, late_from = (n + 2) // 3, (2 * n + 2) // 3
    early, late = _sum(words, 0, early_to), _sum(words, late_from, n)
    middle = _ranked(words, n, classes, (n + 1) // 2 - 1)
    upper = _ranked(words, n, classes, (9 * n + 9) // 10 - 1)
    entropy = log(np.float64(total)) - _weighed(words, n, room.weighed) / total
    out[0] = np.float32(log1p(np.float64(total)))
    out[1] = np.float32(log1p(total / n))
    out[2] = np.float32(log1p(np.float64(middle)))
    out[3] = np.float32(log1p(sqrt(spread(n, squares, total)) / n))
    out[4] = np.float32(log1p(np.float64(upper)))
    out[5] = np.float32(log1p(np.float64(longest)))
    out[6] = np.float32(short / n)
    out[7] = np.float32(above / n)
    out[8] = np.float32(log1p(early / early_to))
    out[9] = np.float32(log1p(late / max(n - late_from, 1)))
    if n > 1 and entropy > 0:
        out[10] = np.float32(entropy / log(np.float64(n)))
    out[11] = np.float32(characters / total)


@kernel
def _count(words, n, classes):
    """Fills `classes`; the sum of all lengths, that of their squares, the longest."""
    classes[:] = 0
    total = squares = longest = np.int64(0)
    for i in range(n):
        length = np.int64(words[i])
        total += length
        squares += length * length
        longest = max(longest, length)
    for i in range(n):
        classes[min(words[i], _CLASSES - 1)] += 1
    return total, squares, longest


@kernel
def _sum(words, begin, end):
    total = np.int64(0)
    for i in range(begin, end):
        total += words[i]
    return total


@kernel
def _weighed(words, n, known):
    """The sum of n·log(n) over the lengths, in the order of the steps."""
    total = 0.0
    for i in range(n):
        length = np.int64(words[i])
        if length < _KNOWN:
            total += known[length]
        else:
            total += np.float64(length) * log(np.float64(length))
    return total


@kernel
def _ranked(words, n, classes, rank):
    """The length of this rank, from 0, among the first n."""
    below = np.int64(0)
    for length in range(_CLASSES - 1):
        below += classes[length]
        if below > rank:
            return np.int64(length)
    low, high = np.int64(_CLASSES - 1), np.int64(1) << 31
    while low < high:
        middle = (low + high) // 2
        below = np.int64(0)
        for i in range(n):
            below += words[i] <= middle
        low, high = (low, middle) if below > rank else (middle + 1, high)
    return low


_HALF, _LOW = np.uint64(32), np.uint64((1 << 32) - 1)


@kernel
def spread(count, squares, total):
    """count · squares - total², rounded once. It is no less than 0 and may need more
    than 64 bits; count and total need less than 32, squares less than 63."""
    factor, whole = np.uint64(count), np.uint64(squares)
    taken = np.uint64(total) * np.uint64(total)
    upper = factor * (whole >> _HALF)
    low = factor * (whole & _LOW)
    middle = upper << _HALF
    high = upper >> _HALF
    low += middle
    high += np.uint64(low < middle)
    high -= np.uint64(low < taken)
    low -= taken
    if high == 0:
        return np.float64(low)
    shift = np.uint64(64) - blocks.leading(high)
    top = (high << (np.uint64(64) - shift)) | (low >> shift)
    lost = low & ((np.uint64(1) << shift) - np.uint64(1))
    top |= np.uint64(lost != 0)  # so that a half is told from a little more
    return np.float64(top) * np.float64(np.uint64(1) << shift)
