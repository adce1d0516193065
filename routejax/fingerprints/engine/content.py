"""The content tests of `label.CONTENT`, on the bytes of one step.

Each takes a plain text and the bounds of the step, without white space at its ends.
`label` says what each is for and holds its regular expression.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from routejax.fingerprints.engine.signs import (
    ALNUM,
    DIGIT,
    LETTER,
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


# What a step holds, a bit per group of bytes, and what each test cannot do without: one
# of its rows of bits, all of them.
_EQUALS, _BACKSLASH, _OPERATOR, _NUMBER = 1, 2, 4, 8
BLANK, _BACKTICK, _ANGLE, _COMMA = 16, 32, 64, 128
HOLDS = np.zeros(256, np.uint8)
for _signs, _bit in (
    (b"=", _EQUALS),
    (b"\\", _BACKSLASH),
    (b"+*/^-" + bytes(range(128, 256)), _OPERATOR),
    (b"0123456789)", _NUMBER),
    (b" \n", BLANK),
    (b"`", _BACKTICK),
    (b"<>", _ANGLE),
    (b",", _COMMA),
):
    HOLDS[list(_signs)] |= _bit
_NEEDS = np.array(
    [
        (_EQUALS, _BACKSLASH, _OPERATOR | _NUMBER),
        (_NUMBER | _ANGLE, _NUMBER | _OPERATOR, _NUMBER | _BACKSLASH),
        (_COMMA, _COMMA, _COMMA),
        (0, 0, 0),
        (_ANGLE, _OPERATOR, _BACKSLASH),
        (_BACKTICK, _BACKTICK, _BACKTICK),
        (0, 0, 0),
        (0, 0, 0),
    ],
    np.uint8,
)


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def may_hold(test, held):
    """Whether a step that holds these groups of bytes can pass the test at all."""
    a, b, c = _NEEDS[test, 0], _NEEDS[test, 1], _NEEDS[test, 2]
    return (held & a) == a or (held & b) == b or (held & c) == c


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _digits(text, i, end):
    while i < end and has(text[i], DIGIT):
        i += 1
    return i


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
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


@njit(nogil=True, cache=True, error_model="numpy")
def arithmetic(text, begin, end):
    for i in range(begin, end):
        byte = text[i]
        if byte == 61:
            return True
        if byte == 92:
            if says(text, i + 1, end, _FRAC) or says(text, i + 1, end, _DFRAC):
                return True
            if says(text, i + 1, end, _SQRT):
                return True
        elif byte == 41 or has(byte, DIGIT):
            k = skip_white(text, i + 1, end)
            k = _operator(text, k, end) if k < end else -1
            if k >= 0:
                k = skip_white(text, k, end)
                if k < end and (text[k] == 40 or has(text[k], DIGIT)):
                    return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _word_byte(byte):
    return has(byte, ALNUM) or byte == 95


@njit(nogil=True, cache=True, error_model="numpy")
def comparison(text, begin, end):
    for i in range(begin, end):
        if not has(text[i], DIGIT):
            continue
        k = skip_white(text, i + 1, end)
        k = _relation(text, k, end) if k < end else -1
        if k >= 0:
            k = skip_white(text, k, end)
            if k < end and text[k] == 45:
                k += 1
            if k < end and has(text[k], DIGIT):
                return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def listing(text, begin, end):
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


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def row(text, begin, end):
    for i in range(begin, end):
        if i > begin and not has(text[i - 1], WHITE):
            continue
        k = i
        for _ in range(2):
            k = _sign(text, k, end)
            if k < 0 or k >= end or text[k] != 32:
                k = -1
                break
            while k < end and text[k] == 32:
                k += 1
        k = _sign(text, k, end) if k >= 0 else -1
        if k >= 0 and not (k < end and (_word_byte(text[k]) or text[k] == 39)):
            return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
def arrow(text, begin, end):
    for i in range(begin, end - 1):
        byte, following = text[i], text[i + 1]
        if following == 62 and (byte == 45 or byte == 61):
            return True
        if byte == 0xE2 and following in (0x86, 0x87) and i + 2 < end:
            if text[i + 2] == 0x92:
                return True
        if byte == 92:
            if says(text, i + 1, end, _RIGHTARROW):
                return True
            k = i + 3
            if says(text, i + 1, end, _TO) and not (k < end and _word_byte(text[k])):
                return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
def code(text, begin, end):
    for i in range(begin, end - 2):
        if text[i] == 96 and text[i + 1] == 96 and text[i + 2] == 96:
            return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
def _names(text, i, end, literal):
    if i + literal.size > end:
        return False
    for k in range(literal.size):
        if folded(text[i + k]) != literal[k]:
            return False
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def numbered(text, begin, end):
    i = begin
    while i < end:
        byte = text[i]
        if (
            byte == 32
            or byte == 10
            or byte == 42
            or byte == 35
            or byte == 62
            or byte == 40
            or byte == 45
        ):
            i += 1
        else:
            break
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


@njit(nogil=True, cache=True, error_model="numpy")
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
