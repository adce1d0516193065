"""The numbers that answers end with: `conflicting_answers` of `rlve`, on arrays."""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.engine.rlve_types import answers
from routejax.fingerprints.engine.signs import DIGIT, has

_ONE = np.uint64(1)


@kernel
def conflicts(text, steps, n, step):
    """Whether the last numbers of two answers differ."""
    low = high = np.int64(0)  # the first answer's
    for at in range(0, n, blocks.WIDTH):
        todo = answers(step, at)
        while todo != 0:
            i = at + np.int64(blocks.lowest(todo))
            a, b = last_number(text, steps.begin[i], steps.end[i])
            if low == high:
                low, high = a, b
            elif a < b and not _equal(text, low, high, a, b):
                return True
            todo &= todo - _ONE
    return False


@kernel
def last_number(text, begin, end):
    r"""Where the last match of \d+(\.\d+)? is; the same place twice if there is none.

    Of runs of digits with single points between them the pattern takes two at a time.
    """
    stop = np.int64(end)
    while stop > begin and not has(text[stop - 1], DIGIT):
        stop -= 1
    last = before = start = _digits_begin(text, begin, stop)
    points = 0
    while start - 2 >= begin and text[start - 1] == 46 and has(text[start - 2], DIGIT):
        start = _digits_begin(text, begin, start - 1)
        points += 1
        if points == 1:
            before = start
    return (before if points % 2 else last), stop


@kernel
def _digits_begin(text, begin, i):
    while i > begin and has(text[i - 1], DIGIT):
        i -= 1
    return i


@kernel
def _equal(text, a, a_end, b, b_end):
    if a_end - a != b_end - b:
        return False
    for k in range(a_end - a):
        if text[a + k] != text[b + k]:
            return False
    return True
