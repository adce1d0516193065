"""Words of a step, on bytes: where they begin and end, and what tells steps apart.

Words are those of `lexicon.words`: letters, digits, and an apostrophe between letters.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import inlined, kernel
from routejax.fingerprints.engine.signs import (
    ALNUM,
    DIGIT,
    KIND,
    LETTER,
    MARK_PREFIX,
    WHITE,
    among,
    has,
    packed,
    skip_white,
)

_white = blocks.mask_of(b" \n")
_alnum = blocks.mask_of(np.flatnonzero(KIND & ALNUM).tolist())
_ONE, _TOP = np.uint64(1), np.uint64(63)
_first_bit, _second_bit = blocks.mask_with(1), blocks.mask_with(2)
_third_bit, _fourth_bit = blocks.mask_with(4), blocks.mask_with(8)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@inlined
def first_word(text, start, end):
    """The place from which words of the step from `start` count: behind white space
    and the mark of a list item (`lexicon.words`)."""
    i = skip_white(text, start, end)
    k = i
    while k < end:
        byte = text[k]
        if (
            has(byte, MARK_PREFIX)
            or byte == 43
            or byte == 34
            or byte == 39
            or byte == 95
        ):
            k += 1
        elif (
            byte == 0xE2 and k + 2 < end and text[k + 1] == 0x80 and text[k + 2] == 0xA2
        ):
            k += 3
        else:
            break
    m = k
    if m < end and has(text[m], DIGIT):
        m += 1
        if m < end and has(text[m], DIGIT):
            m += 1
    elif m < end and has(text[m], LETTER):
        m += 1
    if m == k or m + 1 >= end or not (text[m] == 46 or text[m] == 41):
        return i
    marked = has(text[m + 1], WHITE) or text[m + 1] == 42 or text[m + 1] == 95
    return m + 1 if marked else i


@kernel
def word_end(text, i, end):
    """Where the word that begins at `i` ends: "don't" is one."""
    while i < end and has(text[i], ALNUM):
        i += 1
    if i + 1 < end and text[i] == 39 and has(text[i + 1], LETTER):
        i += 1
        while i < end and has(text[i], LETTER):
            i += 1
    return i


@kernel
def opened(text, i, place, openers):
    """`place` if all words of text[i:place] are openers, else where the first other one
    begins, so that a later look goes on from there."""
    while i < place:
        if has(text[i], ALNUM):
            behind = word_end(text, i, place)
            if not among(packed(text, i, behind), openers):
                return i
            i = behind
        else:
            i += 1
    return place


@inlined
def hit_begin(text, at, begin, word_lengths, first, last):
    """Where the phrase of these words, the last first, reported at `at`, begins."""
    i = at
    for w in range(first, last):
        while i > begin and not has(text[i - 1], ALNUM):
            i -= 1
        i -= word_lengths[w]
    return i


@inlined
def look_over(text, begin, said, end):
    """In one pass over a step: its words parted by white space, and a key of the
    letters and digits from `said` on, whatever lies between them (`said.number`).

    The key is made of the first and the last of them, of their number, and of how many
    have each of four bits.
    """
    words, white = np.uint64(0), _ONE
    letters, bits = np.uint64(0), np.uint64(0)
    first, last = end, end
    for at in range(begin, end, blocks.WIDTH):
        live = blocks.below(end - at)
        gap = _white(text, at)
        words += blocks.count(((gap << _ONE) | white) & ~gap & live)
        white = gap >> _TOP
        found = _alnum(text, at) & live & ~blocks.below(max(said - at, 0))
        if found != 0:
            first = min(first, at + np.int64(blocks.lowest(found)))
            last = at + 63 - np.int64(blocks.leading(found))
            letters += blocks.count(found)
            bits += blocks.count(found & _first_bit(text, at))
            bits += blocks.count(found & _second_bit(text, at)) << np.uint64(16)
            bits += blocks.count(found & _third_bit(text, at)) << np.uint64(32)
            bits += blocks.count(found & _fourth_bit(text, at)) << np.uint64(48)
    ends = packed(text, first, min(word_end(text, first, end), first + 8))
    ends ^= letters << np.uint64(40)
    if last < end:
        ends ^= np.uint64(text[last] | 32) << np.uint64(56)
    key = (bits * _MIX) ^ ends
    key = (key ^ (key >> np.uint64(32))) * _MIX
    return words, key ^ (key >> np.uint64(29))
