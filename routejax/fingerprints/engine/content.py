"""The content tests of `label.CONTENT`, on the bytes of one step.

Each takes a plain text and the bounds of the step, without white space at its ends;
behind the text there is room for a block, which is read.
`label` says what each is for and holds its regular expression.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import inlined, kernel
from routejax.fingerprints.engine.signs import (
    ALNUM,
    DIGIT,
    LETTER,
    MARK_PREFIX,
    UPPER,
    WHITE,
    folded,
    has,
    says,
    skip_white,
)


def _literal(word: str) -> np.ndarray:
    return np.frombuffer(word.encode(), np.uint8).copy()


_FRAC, _DFRAC, _SQRT = _literal("frac"), _literal("dfrac"), _literal("sqrt")
_TIMES, _CDOT, _DIV = _literal("times"), _literal("cdot"), _literal("div")
_TO, _RIGHTARROW, _FENCE = _literal("to"), _literal("rightarrow"), _literal("```")
_AND, _STEP, _CASE = _literal("and "), _literal("step "), _literal("case ")
_PART = _literal("part ")

# Tests by number, in this order.
NAMES = ("arithmetic", "comparison", "listing", "row", "arrow", "code", "numbered",
         "question")  # fmt: skip


# Bytes that a test cannot do without, found by blocks.
_equals = blocks.mask_of(b"=")
_commas = blocks.mask_of(b",")
_backticks = blocks.mask_of(b"`")
_operators = blocks.mask_of(b"+*/^-\\\xc2\xc3\xe2")
_relations = blocks.mask_of(b"<>\\\xe2")
_arrows = blocks.mask_of(b">\\\xe2")
_white = blocks.mask_of(b" \n")
_lower = blocks.mask_of(bytes(range(97, 123)))
_in_sign = blocks.mask_of(b" 0123456789" + bytes(range(128, 256)))
_ONE, _TOP = np.uint64(1), np.uint64(63)


@kernel
def holds(test, text, begin, end):
    """Whether the step text[begin:end] passes the test of this number (`NAMES`)."""
    if test == 0:
        return arithmetic(text, begin, end)
    if test == 1:
        return comparison(text, begin, end)
    if test == 2:
        return listing(text, begin, end)
    if test == 3:
        return row(text, begin, end)
    if test == 4:
        return arrow(text, begin, end)
    if test == 5:
        return code(text, begin, end)
    if test == 6:
        return numbered(text, begin, end)
    return question(text, begin, end)


@inlined
def _digits(text, i, end):
    while i < end and has(text[i], DIGIT):
        i += 1
    return i


@inlined
def _operator(text, i, end):
    """Where an operator that begins at `i` ends, or -1."""
    byte = text[i]
    if byte == 43 or byte == 42 or byte == 47 or byte == 94 or byte == 45:
        return i + 1
    following = text[i + 1] if i + 1 < end else 0
    if byte == 0xC3 and (following == 0x97 or following == 0xB7):
        return i + 2
    if byte == 0xC2 and following == 0xB7:
        return i + 2
    if byte == 0xE2 and following == 0x88 and i + 2 < end and text[i + 2] == 0x92:
        return i + 3
    if byte == 92:
        if says(text, i + 1, end, _TIMES):
            return i + 6
        if says(text, i + 1, end, _CDOT):
            return i + 5
        if says(text, i + 1, end, _DIV):
            return i + 4
    return -1


@kernel
def arithmetic(text, begin, end):
    for at in range(begin, end, blocks.WIDTH):
        live = blocks.below(end - at)
        if _equals(text, at) & live != 0:
            return True
        todo = _operators(text, at) & live
        while todo != 0:
            if _calculates(text, at + np.int64(blocks.lowest(todo)), begin, end):
                return True
            todo &= todo - _ONE
    return False


@kernel
def _calculates(text, i, begin, end):
    """Whether a fraction or root begins at `i`, or an operator between a number or
    closing bracket and a number or opening one."""
    if text[i] == 92:
        if says(text, i + 1, end, _FRAC) or says(text, i + 1, end, _DFRAC):
            return True
        if says(text, i + 1, end, _SQRT):
            return True
    before = _back_over_white(text, i, begin)
    if before == begin or not (text[before - 1] == 41 or has(text[before - 1], DIGIT)):
        return False
    k = _operator(text, i, end)
    k = skip_white(text, k, end) if k >= 0 else end
    return k < end and (text[k] == 40 or has(text[k], DIGIT))


@inlined
def _back_over_white(text, i, begin):
    while i > begin and has(text[i - 1], WHITE):
        i -= 1
    return i


@kernel
def _relation(text, i, end):
    """Where an order relation that begins at `i` ends, or -1."""
    byte = text[i]
    if byte == 60 or byte == 62:
        return i + 1
    if byte == 0xE2 and i + 2 < end and text[i + 1] == 0x89:
        return i + 3 if text[i + 2] == 0xA4 or text[i + 2] == 0xA5 else -1
    if byte == 92 and i + 2 < end and text[i + 2] == 101:
        if text[i + 1] != 108 and text[i + 1] != 103:
            return -1
        k = i + 4 if i + 3 < end and text[i + 3] == 113 else i + 3
        return -1 if k < end and _word_byte(text[k]) else k
    return -1


@inlined
def _word_byte(byte):
    return has(byte, ALNUM) or byte == 95


@kernel
def comparison(text, begin, end):
    for at in range(begin, end, blocks.WIDTH):
        todo = _relations(text, at) & blocks.below(end - at)
        while todo != 0:
            if _compares(text, at + np.int64(blocks.lowest(todo)), begin, end):
                return True
            todo &= todo - _ONE
    return False


@kernel
def _compares(text, i, begin, end):
    """Whether a relation begins at `i` between two numbers."""
    before = _back_over_white(text, i, begin)
    if before == begin or not has(text[before - 1], DIGIT):
        return False
    k = _relation(text, i, end)
    if k < 0:
        return False
    k = skip_white(text, k, end)
    if k < end and text[k] == 45:
        k += 1
    return k < end and has(text[k], DIGIT)


@kernel
def _pair_side(text, i, end):
    """Where 1 to 12 characters that are no bracket or comma end, or -1."""
    count = 0
    while i < end and text[i] != 40 and text[i] != 41 and text[i] != 44:
        if (text[i] & 0xC0) != 0x80:
            count += 1
            if count > 12:
                return -1
        i += 1
    return i if count >= 1 else -1


@kernel
def _item(text, i, end):
    """Where a number, a single letter or a pair in brackets that begins at `i` ends,
    or -1."""
    if i >= end:
        return -1
    byte = text[i]
    if has(byte, LETTER):
        return -1 if i + 1 < end and _word_byte(text[i + 1]) else i + 1
    if byte == 40:
        k = _pair_side(text, i + 1, end)
        if k < 0 or k >= end or text[k] != 44:
            return -1
        k = _pair_side(text, k + 1, end)
        return k + 1 if k >= 0 and k < end and text[k] == 41 else -1
    begin = i + 1 if byte == 45 else i
    k = _digits(text, begin, end)
    if k == begin:
        return -1
    if k < end and text[k] == 46:
        after = _digits(text, k + 1, end)
        return after if after > k + 1 else k
    return k


@kernel
def _more_items(text, i, end):
    """Whether three items, each behind a comma, follow at `i`."""
    for _ in range(3):
        if i >= end or text[i] != 44:
            return False
        i += 1
        if i < end and text[i] == 32:
            i += 1
        if says(text, i, end, _AND):
            i += 4
        i = _item(text, i, end)
        if i < 0:
            return False
    return True


@kernel
def listing(text, begin, end):
    commas = np.uint64(0)
    for at in range(begin, end, blocks.WIDTH):
        commas += blocks.count(_commas(text, at) & blocks.below(end - at))
    if commas < 3:
        return False
    for i in range(begin, end):
        byte = text[i]
        if not (byte == 45 or byte == 40 or has(byte, ALNUM)):
            continue
        if i > begin and (_word_byte(text[i - 1]) or text[i - 1] == 46):
            continue
        k = _item(text, i, end)
        if k >= 0 and _more_items(text, k, end):
            return True
    return False


@kernel
def _sign(text, i, end):
    """Where a number, a capital or a single other sign ends, or -1."""
    if i >= end:
        return -1
    byte = text[i]
    digits = i + 1 if byte == 45 else i
    k = _digits(text, digits, end)
    if k > digits:
        return k
    if has(byte, UPPER):
        return i + 1
    if has(byte, WHITE | ALNUM) or byte == 95:
        return -1
    i += 1
    while i < end and (text[i] & 0xC0) == 0x80:
        i += 1
    return i


@kernel
def row(text, begin, end):
    """Only what begins behind white space, is no lower-case letter and goes on like a
    number, a longer character or a single sign can begin a row."""
    white = _ONE
    for at in range(begin, end, blocks.WIDTH):
        live = blocks.below(end - at)
        gap = _white(text, at)
        todo = ((gap << _ONE) | white) & ~gap & ~_lower(text, at) & live
        todo &= _in_sign(text, at + 1)
        white = gap >> _TOP
        while todo != 0:
            if _row_begins(text, at + np.int64(blocks.lowest(todo)), end):
                return True
            todo &= todo - _ONE
    return False


@kernel
def _row_begins(text, k, end):
    for _ in range(2):
        k = _sign(text, k, end)
        if k < 0 or k >= end or text[k] != 32:
            return False
        while k < end and text[k] == 32:
            k += 1
    k = _sign(text, k, end)
    return k >= 0 and not (k < end and (_word_byte(text[k]) or text[k] == 39))


@kernel
def arrow(text, begin, end):
    for at in range(begin, end, blocks.WIDTH):
        todo = _arrows(text, at) & blocks.below(end - at)
        while todo != 0:
            if _points(text, at + np.int64(blocks.lowest(todo)), begin, end):
                return True
            todo &= todo - _ONE
    return False


@kernel
def _points(text, i, begin, end):
    """Whether an arrow ends with the > at `i`, or begins there."""
    byte = text[i]
    if byte == 62:
        return i > begin and (text[i - 1] == 45 or text[i - 1] == 61)
    if byte == 0xE2:
        arrows = i + 2 < end and (text[i + 1] == 0x86 or text[i + 1] == 0x87)
        return arrows and text[i + 2] == 0x92
    if says(text, i + 1, end, _RIGHTARROW):
        return True
    k = i + 3
    return says(text, i + 1, end, _TO) and not (k < end and _word_byte(text[k]))


@kernel
def code(text, begin, end):
    for at in range(begin, end, blocks.WIDTH):
        todo = _backticks(text, at) & blocks.below(end - at)
        while todo != 0:
            if says(text, at + np.int64(blocks.lowest(todo)), end, _FENCE):
                return True
            todo &= todo - _ONE
    return False


@kernel
def _names(text, i, end, literal):
    if i + literal.size > end:
        return False
    for k in range(literal.size):
        if folded(text[i + k]) != literal[k]:
            return False
    return True


@kernel
def numbered(text, begin, end):
    i = begin
    while i < end and has(text[i], MARK_PREFIX):
        i += 1
    if (
        _names(text, i, end, _STEP)
        or _names(text, i, end, _CASE)
        or _names(text, i, end, _PART)
    ):
        i += 5
    k = _digits(text, i, min(end, i + 2))
    if k == i or k >= end or not (text[k] == 46 or text[k] == 41 or text[k] == 58):
        return False
    k += 1
    return k >= end or has(text[k], WHITE) or text[k] == 42 or text[k] == 95


@kernel
def question(text, begin, end):
    i = end
    while i > begin:
        byte = text[i - 1]
        if byte == 63:
            return True
        closer = byte == 34 or byte == 39 or byte == 41 or byte == 93
        if not (closer or byte == 42 or byte == 95 or byte == 32):
            return False
        i -= 1
    return False
