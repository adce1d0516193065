"""Where a step may end: the decisions of `segment`, on bytes.

Every function takes a plain text and the bounds of its row. Names and rules are those
of `segment`, which says why.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt64

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import inlined, kernel
from routejax.fingerprints.engine.signs import (
    ALNUM,
    CLOSER,
    DIGIT,
    LETTER,
    LOWER,
    MARK_PREFIX,
    UPPER,
    WIDE,
    among,
    folded,
    has,
    pack,
    packed,
    says,
    skip_white,
)
from routejax.fingerprints.segment import (
    ABBREVIATIONS,
    BEFORE_NUMBER,
    MARKERS,
    NOT_SO,
)


def _bytes(words: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Words as one byte array and where each begins."""
    lengths = [len(word.encode()) for word in words]
    flat = np.frombuffer("".join(words).encode(), np.uint8).copy()
    return flat, np.cumsum([0, *lengths]).astype(np.int64)


def _packed(phrases: Sequence[str]) -> UInt64[np.ndarray, "phrases 2 3"]:
    """Phrases of letters, spaces and apostrophes, eight bytes in a number: per number
    the bytes, 0x20 where one is a letter, whose case does not matter, and 255 where
    there is one."""
    table = np.zeros((len(phrases), 3, 16), np.uint8)
    for row, phrase in zip(table, phrases, strict=True):
        letters = np.frombuffer(phrase.encode(), np.uint8)
        row[0, : len(letters)] = letters
        row[1, : len(letters)] = np.where(letters >= ord("a"), 0x20, 0)
        row[2, : len(letters)] = 255
    return np.ascontiguousarray(table.view("<u8").transpose(0, 2, 1))


_BY_LETTER = tuple(sorted(MARKERS))
_MARKERS = _packed(_BY_LETTER)
_MARKER_LENGTH = np.array([len(word) for word in _BY_LETTER], np.int64)
# Markers that begin with each letter: rows _FIRST[letter] to _FIRST[letter + 1].
_FIRST = np.searchsorted([ord(m[0]) - 97 for m in _BY_LETTER], np.arange(27))
_MAY_BEGIN = np.zeros(256, np.bool_)
for _letter in {"s", *(word[0] for word in MARKERS)}:
    _MAY_BEGIN[[ord(_letter), ord(_letter.upper())]] = True
_NOT_SO, _NOT_SO_AT = _bytes(NOT_SO)
_ABBREVIATIONS = np.array(sorted(pack(w) for w in ABBREVIATIONS), np.uint64)
_BEFORE_NUMBER = np.array(sorted(pack(w) for w in BEFORE_NUMBER), np.uint64)
_MAY_END = np.zeros(256, np.bool_)
for _word in ABBREVIATIONS | BEFORE_NUMBER:
    _MAY_END[[ord(_word[-1]), ord(_word[-1].upper())]] = True
_NUMBERED, _NUMBERED_AT = _bytes(
    ("step ", "case ", "part ", "phase ", "stage ", "example ", "option ")
)
_FENCE = np.frombuffer(b"```", np.uint8).copy()


@inlined
def is_stop(text, i, begin):
    """The length of . ? ! or an ellipsis that ends before `i`, else 0."""
    if i <= begin:
        return 0
    byte = text[i - 1]
    if byte == 46 or byte == 33 or byte == 63:
        return 1
    if byte == 0xA6 and i - 3 >= begin and text[i - 2] == 0x80 and text[i - 3] == 0xE2:
        return 3
    return 0


@inlined
def is_pause(text, i, begin):
    """The length of , ; : or a dash that ends before `i`, else 0."""
    if i <= begin:
        return 0
    byte = text[i - 1]
    if byte == 44 or byte == 59 or byte == 58 or byte == 45:
        return 1
    dash = byte == 0x93 or byte == 0x94
    if dash and i - 3 >= begin and text[i - 2] == 0x80 and text[i - 3] == 0xE2:
        return 3
    return 0


@inlined
def sentence_start(text, i, begin):
    """Where the run of stops and its closers that ends before `i` begins."""
    while i > begin and has(text[i - 1], CLOSER):
        i -= 1
    length = is_stop(text, i, begin)
    while length:
        i -= length
        length = is_stop(text, i, begin)
    return i


@kernel
def _spells(text, at, end, flat, begin, stop):
    """Whether the letters at `at` are flat[begin:stop], whatever their case."""
    if at + stop - begin > end:
        return False
    for k in range(begin, stop):
        if folded(text[at + k - begin]) != flat[k]:
            return False
    return True


@inlined
def _word_ends(text, at, end):
    return at >= end or not (has(text[at], ALNUM) or text[at] == 95)


@inlined
def marker(text, at, end):
    """Whether a discourse marker begins at `at`."""
    return at < end and _MAY_BEGIN[text[at]] and _marker(text, at, end)


@inlined
def _marker(text, at, end):
    letter = folded(text[at]) - 97
    front, rest = blocks.eight(text, at), blocks.eight(text, at + 8)
    for m in range(_FIRST[letter], _FIRST[letter + 1]):
        if _is(front, _MARKERS[m, 0]) and _is(rest, _MARKERS[m, 1]):
            stop = at + _MARKER_LENGTH[m]
            if stop <= end and _word_ends(text, stop, end):
                return True
    return letter == 18 and _so(text, at, end)


@inlined
def _is(eight, packed):
    """Whether eight bytes of text are those of a phrase."""
    return (eight | packed[1]) & packed[2] == packed[0]


@kernel
def _so(text, at, end):
    if at + 2 > end or folded(text[at + 1]) != 111 or not _word_ends(text, at + 2, end):
        return False
    if at + 2 == end or text[at + 2] != 32:
        return True
    for m in range(_NOT_SO_AT.size - 1):
        a, b = _NOT_SO_AT[m], _NOT_SO_AT[m + 1]
        if _spells(text, at + 3, end, _NOT_SO, a, b):
            if _word_ends(text, at + 3 + b - a, end):
                return False
    return True


@inlined
def three_words(text, at, end):
    """Whether three words, between white space, begin in text[at:end]."""
    for _ in range(2):
        at = skip_white(text, at, end)
        if at == end:
            return False
        while at < end and text[at] != 32 and text[at] != 10:
            at += 1
    return skip_white(text, at, end) < end


@inlined
def breaks_line(text, at, end, begin, stop):
    """Whether a line break, white space at..end, ends a step.

    `begin` and `stop` bound the row.
    """
    if at - 3 >= begin and says(text, at - 3, at, _FENCE):
        return True
    return _line_opening(text, end, stop)


@kernel
def _line_opening(text, i, end):
    byte = text[i]
    following = text[i + 1] if i + 1 < end else 0
    if (byte == 45 or byte == 42 or byte == 43) and following == 32:
        return True
    if byte == 42 and following == 42:
        return True
    if byte == 0xE2:
        bullet = i + 3 < end and following == 0x80 and text[i + 2] == 0xA2
        return bullet and text[i + 3] == 32
    if byte == 35:
        while i < end and text[i] == 35:
            i += 1
        return i < end and text[i] == 32
    if byte == 96:
        return says(text, i, end, _FENCE)
    if has(byte, DIGIT) and _list_number(text, i, end):
        return True
    return _lettered(text, i, end) or exclaimed_opening(text, i, end)


@kernel
def _list_number(text, i, end):
    """One or two digits, a full stop or bracket, a space."""
    i += 1
    if i < end and has(text[i], DIGIT):
        i += 1
    return i + 1 < end and (text[i] == 46 or text[i] == 41) and text[i + 1] == 32


@kernel
def _lettered(text, i, end):
    """A lower-case letter or digit and a bracket, perhaps in two, and a space."""
    if text[i] == 40:
        i += 1
    if i + 2 >= end or not has(text[i], LOWER | DIGIT):
        return False
    return text[i + 1] == 41 and text[i + 2] == 32


@inlined
def exclaimed_opening(text, i, end):
    """A capital, perhaps behind emphasis, a quote or a bracket."""
    while i < end:
        byte = text[i]
        if byte == 42 or byte == 95 or byte == 34 or byte == 39 or byte == 40:
            i += 1
        else:
            return has(byte, UPPER)
    return False


@inlined
def _sentence_opening(text, i, end):
    byte = text[i]
    if has(byte, UPPER | DIGIT | WIDE):
        return True
    if byte == 42 or byte == 95:
        return i + 1 < end and text[i + 1] != 32 and text[i + 1] != 10
    for sign in b"\"'([{$\\`#":
        if byte == sign:
            return True
    return False


@inlined
def ends_sentence(text, start, at, stop, end, row_end):
    """Whether the stops at..stop (closers included), white space up to `end`, end the
    step from `start`."""
    byte = text[at]
    if byte == 46 and _dot_inside(text, start, at, end, row_end):
        return False
    if byte == 0xE2 or (byte == 46 and at + 1 < stop and text[at + 1] == 46):
        return marker(text, end, row_end)
    if byte == 33:
        opens = exclaimed_opening(text, end, row_end)
    else:
        opens = _sentence_opening(text, end, row_end)
    return opens or marker(text, end, row_end)


@inlined
def _dot_inside(text, start, at, end, row_end):
    """Whether the full stop at `at` is of an abbreviation or a list number."""
    if _near(text, start, at) and _numbered(text, start, at):
        return True
    if not has(text[at - 1], LETTER) or at == start:
        return False
    if at - 1 > start and not has(text[at - 2], LETTER):
        before = text[at - 2]
        if before == 46:
            return True
        listed = before == 32 and at - 3 >= start
        if listed and (text[at - 3] == 44 or text[at - 3] == 59):
            return True
    if not _MAY_END[text[at - 1]]:
        return False
    w = at - 1
    low = max(start, at - 8)
    while w > low and has(text[w - 1], LETTER):
        w -= 1
    word = packed(text, w, at)
    if among(word, _ABBREVIATIONS):
        return True
    if end < row_end and among(word, _BEFORE_NUMBER):
        byte = text[end]
        return has(byte, DIGIT) or byte == 40 or byte == 92 or byte == 36
    return False


@inlined
def _near(text, start, at):
    """Whether at most 16 characters lie between."""
    if at - start <= 16:
        return True
    if at - start > 64:
        return False
    count = 0
    for i in range(start, at):
        if (text[i] & 0xC0) != 0x80:
            count += 1
    return count <= 16


@kernel
def _numbered(text, i, end):
    """Whether text[i:end] is the number of a list item or of a step, and no more."""
    while i < end:
        if has(text[i], MARK_PREFIX):
            i += 1
        elif i + 3 <= end and text[i] == 0xE2 and text[i + 1] == 0x80:
            if text[i + 2] != 0xA2:
                return False
            i += 3
        else:
            break
    for m in range(_NUMBERED_AT.size - 1):
        a, b = _NUMBERED_AT[m], _NUMBERED_AT[m + 1]
        if _spells(text, i, end, _NUMBERED, a, b):
            i += b - a
            break
    if end - i == 1:
        return has(text[i], ALNUM)
    return end - i == 2 and has(text[i], DIGIT) and has(text[i + 1], DIGIT)
