"""Texts made plain and counted: characters by class, words, lines, paragraphs.

One loop copies a text, replaces what `segment.normalise` replaces, and counts bytes in
four histograms by turns, so that equal neighbours do not wait for each other.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from routejax.fingerprints.dense import CLASS_NAMES, CLASSES
from routejax.fingerprints.engine.plain import LEADS, replaced

WORDS, LINES, PARAGRAPHS = range(len(CLASS_NAMES), len(CLASS_NAMES) + 3)
COUNTS = len(CLASS_NAMES) + 3
_CLASS = np.full(256, len(CLASSES), np.int64)
for _number, _signs in enumerate(CLASSES.values()):
    _CLASS[list(_signs.encode())] = _number
_CLASS[128:192] = -1  # the rest of a character whose first byte counts
_CLASS[192:] = len(CLASSES) + 1
_WHITE = np.zeros(256, np.uint8)
_WHITE[[10, 32]] = 1
_BREAK = np.zeros(256, np.uint8)
_BREAK[10] = 1


@njit(nogil=True, cache=True, error_model="numpy")
def plain_text(data, begin, end, out, at, turns, counts):
    """Writes data[begin:end] plain to `out` from `at` and counts it; where it ends.

    `turns` is room for 4 x 256 integers; `counts` gets `COUNTS` of them.
    """
    turns[:] = 0
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    i, stop, to = np.uint64(begin), np.uint64(end), np.uint64(at)
    while i < stop:
        while i + four <= stop:
            b0, b1, b2, b3 = data[i], data[i + one], data[i + two], data[i + three]
            if LEADS[b0] | LEADS[b1] | LEADS[b2] | LEADS[b3]:
                break
            out[to], out[to + one], out[to + two], out[to + three] = b0, b1, b2, b3
            turns[b0] += 1
            turns[np.uint64(256) + b1] += 1
            turns[np.uint64(512) + b2] += 1
            turns[np.uint64(768) + b3] += 1
            i += four
            to += four
        for _ in range(min(four, stop - i)):
            if i >= stop:
                break
            byte, taken = _plain_byte(data, i, stop)
            out[to] = byte
            turns[byte] += 1
            i += taken
            to += one
    _sum_classes(turns, counts)
    last = np.int64(to)
    counts[WORDS] = words(out, at, last)
    _lines(out, at, last, counts)
    return last


@njit(nogil=True, cache=True, error_model="numpy")
def _plain_byte(data, i, stop):
    """The plain byte for what begins at `i`, and how many bytes that takes."""
    one, two = np.uint64(1), np.uint64(2)
    byte = data[i]
    kind = LEADS[byte]
    if kind == 0:
        return byte, one
    if kind == 1:
        return np.uint8(32), one
    second = data[i + one] if i + one < stop else np.uint8(0)
    if kind == 3:
        return np.uint8(10), two if second == 10 else one
    third = data[i + two] if i + two < stop else np.uint8(0)
    sign = replaced(byte, second, third)
    if sign == 0:
        return byte, one
    return np.uint8(sign), two if byte < 0xE0 else two + one


@njit(nogil=True, cache=True, error_model="numpy")
def _sum_classes(turns, counts):
    """Counts of bytes to counts of characters by class."""
    counts[:] = 0
    for k in range(256):
        if _CLASS[k] >= 0:
            found = turns[k] + turns[256 + k] + turns[512 + k] + turns[768 + k]
            counts[_CLASS[k]] += found


@njit(nogil=True, cache=True, error_model="numpy")
def words(text, begin, end):
    """The number of words, parted by white space, of a plain text."""
    total, before = 0, np.uint8(1)
    for i in range(np.uint64(begin), np.uint64(end)):
        white = _WHITE[text[i]]
        total += before & ~white
        before = white
    return np.int64(total)


@njit(nogil=True, cache=True, error_model="numpy")
def _lines(text, begin, end, counts):
    """Lines that hold a word, and runs of such lines. Line breaks are looked for eight
    bytes at a time."""
    while begin < end and (text[begin] == 32 or text[begin] == 10):
        begin += 1
    while end > begin and (text[end - 1] == 32 or text[end - 1] == 10):
        end -= 1
    if begin == end:
        return
    lines = paragraphs = 1
    one, eight = np.uint64(1), np.uint64(8)
    i, stop = np.uint64(begin), np.uint64(end)
    while i < stop:
        if i + eight <= stop:
            found = np.uint8(0)
            for k in range(eight):
                found |= _BREAK[text[i + k]]
            if found == 0:
                i += eight
                continue
        if text[i] != 10:
            i += one
            continue
        breaks = 1
        i += one
        while text[i] == 32 or text[i] == 10:
            breaks += text[i] == 10
            i += one
        lines += 1
        paragraphs += breaks >= 2
    counts[LINES], counts[PARAGRAPHS] = lines, paragraphs
