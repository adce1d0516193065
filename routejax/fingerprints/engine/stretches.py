"""Protected stretches of a text, which are never cut: `segment._protected`, on events.

A stretch begins at an opening mark and ends behind its closing mark; one that is left
open ends at the next blank line.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.engine.signs import says
from routejax.fingerprints.segment import PROTECTED

_CLOSINGS = tuple(dict.fromkeys(PROTECTED.values()))


def _table(marks: tuple[str, ...]) -> np.ndarray:
    """One row of bytes per mark, its length in the last column."""
    table = np.zeros((len(marks), 24), np.uint8)
    for row, mark in zip(table, marks, strict=True):
        row[: len(mark)] = np.frombuffer(mark.encode(), np.uint8)
        row[-1] = len(mark)
    return table


_OPEN, _CLOSE = _table(tuple(PROTECTED)), _table(_CLOSINGS)
_CLOSED_BY = np.array([_CLOSINGS.index(mark) for mark in PROTECTED.values()], np.int64)


@kernel
def mark_start(text, at, begin):
    """Where the mark whose reported byte is at `at` begins: at its \\, <, $ or `."""
    byte = text[at]
    if byte == 96:
        return at - 2
    return at - 1


@kernel
def opening(text, start, begin, end):
    """Which opening mark begins at `start`, or -1; none does behind a backslash."""
    if start < begin or (start > begin and text[start - 1] == 92):
        return -1
    for m in range(_OPEN.shape[0]):
        if text[start] == _OPEN[m, 0] and says(
            text, start, end, _OPEN[m, : _OPEN[m, 23]]
        ):
            return m
    return -1


@kernel
def closes(text, start, end, mark):
    """Where the closing mark of opening `mark` ends if it begins here, else -1."""
    c = _CLOSED_BY[mark]
    length = _CLOSE[c, 23]
    if text[start] == _CLOSE[c, 0] and says(text, start, end, _CLOSE[c, :length]):
        return start + length
    return -1


@kernel
def opening_length(mark):
    return np.int64(_OPEN[mark, 23])


@kernel
def closing_bit(mark):
    """A bit per kind of closing mark, to remember those that come no more."""
    return np.int64(1) << _CLOSED_BY[mark]


@kernel
def blank_line(text, at, end):
    """Where the next blank line (break, spaces, break) begins, or `end`."""
    while at < end:
        if text[at] == 10:
            i = at + 1
            while i < end and text[i] == 32:
                i += 1
            if i < end and text[i] == 10:
                return at
            at = i
        else:
            at += 1
    return end
