"""Which steps of a row say the same words, whatever lies between the words.

Steps are found by a hash of their letters and digits and then compared word by word, so
that the answer is exact. Words are those of `lexicon.words`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from routejax.fingerprints.engine.notes import word_end
from routejax.fingerprints.engine.signs import ALNUM, folded, has


@njit(nogil=True, cache=True, error_model="numpy")
def _next_word(text, i, end):
    while i < end and not has(text[i], ALNUM):
        i += 1
    return i


@njit(nogil=True, cache=True, error_model="numpy")
def same(text, a, a_end, b, b_end):
    """Whether the words from place `a` are those from place `b`."""
    while True:
        a, b = _next_word(text, a, a_end), _next_word(text, b, b_end)
        if a >= a_end or b >= b_end:
            return a >= a_end and b >= b_end
        a_stop, b_stop = word_end(text, a, a_end), word_end(text, b, b_end)
        if a_stop - a != b_stop - b:
            return False
        while a < a_stop:
            if folded(text[a]) != folded(text[b]):
                return False
            a += 1
            b += 1


@njit(nogil=True, cache=True, error_model="numpy")
def at_least(text, i, end, count):
    """Whether `count` words begin in text[i:end]."""
    for _ in range(count):
        i = _next_word(text, i, end)
        if i >= end:
            return False
        i = word_end(text, i, end)
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def number(text, steps, n, table, group, before):
    """Per step its group (steps of one group say the same), and the step before it in
    the group or -1.

    `table` is room for the least power of two above 2n integers.
    """
    said, ends, hashes = steps.said, steps.end, steps.hash
    size = 2
    while size <= 2 * n:
        size *= 2
    table[:size] = -1
    mask = np.uint64(size - 1)
    groups = 0
    for i in range(n):
        slot = hashes[i] & mask
        before[i] = -1
        while True:
            last = table[slot]
            if last < 0:
                group[i] = groups
                groups += 1
                break
            if hashes[last] == hashes[i]:
                if same(text, said[last], ends[last], said[i], ends[i]):
                    group[i], before[i] = group[last], last
                    break
            slot = (slot + np.uint64(1)) & mask
        table[slot] = i
