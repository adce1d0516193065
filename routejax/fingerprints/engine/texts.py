"""Texts made plain and counted: characters by class, words, lines, paragraphs.

A text is copied by blocks of 64 bytes up to the first byte that `segment.normalise` may
replace; what it becomes is written, and the copy goes on behind it. The plain text is
then counted by blocks: a class of bytes is a mask, and its number the bits of the mask.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.dense import CLASS_NAMES, CLASSES
from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import inlined, kernel
from routejax.fingerprints.engine.plain import LEADS, replaced

WORDS, LINES, PARAGRAPHS = range(len(CLASS_NAMES), len(CLASS_NAMES) + 3)
COUNTS = len(CLASS_NAMES) + 3
_leads = blocks.mask_of(np.flatnonzero(LEADS).tolist())
_spaces = blocks.mask_of(b" ")
_breaks = blocks.mask_of(b"\n")
_tally = blocks.tally_of([signs.encode() for signs in CLASSES.values()])
_ONE, _TOP = np.uint64(1), np.uint64(63)


@kernel
def plain_text(data, begin, end, out, at, counts):
    """Writes data[begin:end] plain to `out` from `at` and counts it; where it ends.

    `out` has room for one block more than the text; what is written there means
    nothing. `counts` gets `COUNTS` integers.
    """
    i, to = np.int64(begin), np.int64(at)
    while i + blocks.WIDTH <= end:
        blocks.copy(data, i, out, to)
        clean = np.int64(blocks.lowest(_leads(data, i)))
        i += clean
        to += clean
        if clean < blocks.WIDTH:
            out[to], taken = _plain_byte(data, i, end)
            i += taken
            to += 1
    while i < end:
        out[to], taken = _plain_byte(data, i, end)
        i += taken
        to += 1
    _count(out, at, to, counts)
    return to


@inlined
def _plain_byte(data, i, stop):
    """The plain byte for what begins at `i`, and how many bytes that takes."""
    byte = data[i]
    kind = LEADS[byte]
    if kind == 0:
        return byte, 1
    if kind == 1:
        return np.uint8(32), 1
    second = data[i + 1] if i + 1 < stop else np.uint8(0)
    if kind == 3:
        return np.uint8(10), 2 if second == 10 else 1
    third = data[i + 2] if i + 2 < stop else np.uint8(0)
    sign = replaced(byte, second, third)
    if sign == 0:
        return byte, 1
    return np.uint8(sign), 2 if byte < 0xE0 else 3


@kernel
def _count(text, begin, end, counts):
    """Counts of the plain text[begin:end].

    A line begins at the first word behind a line break, a paragraph at the first word
    behind two: adding a bit behind each break to the spaces carries it over them. A
    text begins as if behind two breaks.
    """
    counts[:] = 0
    words = lines = paragraphs = np.uint64(0)
    white, line, paragraph = _ONE, _ONE, _ONE  # what the block before hands on
    for at in range(begin, end, blocks.WIDTH):
        live = blocks.below(end - at)
        _tally(text, at, live, counts)
        space, broken = _spaces(text, at) & live, _breaks(text, at) & live
        gap = space | broken
        word = ~gap & live
        words += blocks.count(word & ((gap << _ONE) | white))
        white = gap >> _TOP
        reached, line = _carried(broken, line, space)
        lines += blocks.count(reached & word)
        reached, paragraph = _carried(broken & reached, paragraph, space)
        paragraphs += blocks.count(reached & word)
    counts[WORDS], counts[LINES], counts[PARAGRAPHS] = words, lines, paragraphs


@inlined
def _carried(marked, carry, space):
    """The first bytes that are no space behind each marked one, and behind the block
    before if `carry` is 1; the carry to the next block."""
    total = ((marked << _ONE) | carry) + space
    return total & ~space, (marked >> _TOP) | np.uint64(total < space)
