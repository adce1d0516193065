"""`routejax.spans.find` over the UTF-8 bytes of many responses at once.

`cut` gives what `find` gives, row by row, without a Python object per row: numba reads
the buffers of an Arrow column and writes those of three new ones. Signatures are stated
because Arrow's buffers are read-only, which numba takes for another type and would
compile for anew. Compiled code is cached beside this file.

Left out: text that is not UTF-8; whoever reads a pool refuses it before.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int8, Int64, UInt8
from numba import njit, types

from routejax import spans
from routejax.spans import MARKERS, PAIRS, STATES

_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_PLACES = types.Array(types.int64, 1, "C", readonly=True)
_ROWS = types.Array(types.int64, 2, "C", readonly=True)
_SIGNATURE = types.void(
    *(_BYTES, _PLACES, _BYTES, _PLACES, _ROWS, _PLACES, _PLACES),
    *(types.int8[::1], types.uint8[::1], types.uint8[::1], types.int64[:, ::1]),
)
_inner = njit(nogil=True)  # compiled into, and cached with, the one that calls it

_NEWLINE, _LESS, _BRACKET = 10, ord("<"), ord("[")
_BLOCK = 64  # bytes looked at together; markers are rare, so most blocks have none
_BARE = tuple(number for number, pair in enumerate(PAIRS) if pair.bare)
# Numbers of compiled code are its own: cached code would not see those of another file
# change. Everything else from there is handed to it.
_CUT, _TOKEN, _OPEN, _CLOSE = range(4)
_KINDS = {
    **{spans.CUT: _CUT, spans.TOKEN: _TOKEN},
    **{spans.OPEN: _OPEN, spans.CLOSE: _CLOSE},
}
_CLOSED, _CLOSE_ONLY, _OPEN_ONLY, _NONE, _SEVERAL = range(5)
_STATES = np.array(
    [
        STATES.index(state)
        for state in ("closed", "close_only", "open_only", "none", "several")
    ],
    np.int8,
)


def _fixed(values: object, dtype: type) -> np.ndarray:
    """An array that nothing changes: the type that the signatures ask for."""
    array = np.ascontiguousarray(values, dtype)
    array.setflags(write=False)
    return array


def _tables() -> tuple[np.ndarray, ...]:
    """Markers as bytes with their places, what each is, and where to look for it.

    Row m of the second table is (kind, pair) of marker m; behind the markers stand the
    opening and closing words of the bare pairs. Markers that begin with `<` and the
    byte c are at `heads[c]` to `heads[c + 1]`, those with `[` 256 further on.
    """
    if not all(text[0] in "<[" for text in MARKERS):
        raise AssertionError("markers begin with < or [: the scan looks for these two")
    coded = [(text.encode(), *what) for text, what in MARKERS.items()]
    coded.sort(key=lambda marker: _bucket(marker[0]))  # stable: the longest stay first
    heads = np.searchsorted([_bucket(text) for text, *_ in coded], np.arange(513))
    if min(len(PAIRS[n].closes) for n in _BARE) < 2:
        raise AssertionError("closing words are searched for by their first two bytes")
    bare = [text.encode() for n in _BARE for text in (PAIRS[n].opens, PAIRS[n].closes)]
    texts = [text for text, *_ in coded] + bare
    return (
        _fixed(np.frombuffer(b"".join(texts), np.uint8), np.uint8),
        _fixed(np.cumsum([0, *map(len, texts)]), np.int64),
        _fixed([(_KINDS[kind], pair) for _, kind, pair in coded], np.int64),
        _fixed(heads, np.int64),
        _fixed(_BARE, np.int64),
    )


def _bucket(marker: bytes) -> int:
    return marker[1] + 256 * (marker[0] == _BRACKET)


_TEXTS, _AT, _WHAT, _HEADS, _BARE_PAIRS = _tables()


def cut(
    data: UInt8[np.ndarray, "B"],
    offsets: Int64[np.ndarray, "N+1"],
    reasoning: UInt8[np.ndarray, "R"],
    answer: UInt8[np.ndarray, "A"],
) -> tuple[Int8[np.ndarray, "N"], Int64[np.ndarray, "2 N+1"]]:
    """Per row the index of its state in `STATES`; offsets into reasoning and answer.

    `data[offsets[i] : offsets[i + 1]]` is the response of row i; both are read-only.
    The texts are written to `reasoning` and `answer`, which have at least as many bytes
    as all responses together: markers are longer than what joins blocks.
    """
    states = np.empty(len(offsets) - 1, np.int8)
    ends = np.zeros((2, len(offsets)), np.int64)
    tables = (_TEXTS, _AT, _WHAT, _HEADS, _BARE_PAIRS)
    _cut(data, offsets, *tables, states, reasoning, answer, ends)
    return _STATES[states], ends


@_inner
def _space(data, at, end):
    """Length of the white space character at `at`, 0 if there is none."""
    c = data[at]
    if c < 0x80:
        return 1 if c == 32 or 9 <= c <= 13 or 28 <= c <= 31 else 0
    if c == 0xC2 and at + 1 < end:
        return 2 if data[at + 1] == 0x85 or data[at + 1] == 0xA0 else 0
    if at + 2 >= end or not 0xE1 <= c <= 0xE3:
        return 0
    d, e = data[at + 1], data[at + 2]
    if c == 0xE2 and d == 0x80:
        wide = 0x80 <= e <= 0x8A or e in (0xA8, 0xA9, 0xAF)
    elif c == 0xE2:
        wide = d == 0x81 and e == 0x9F
    elif c == 0xE1:
        wide = d == 0x9A and e == 0x80
    else:
        wide = d == 0x80 and e == 0x80
    return 3 if wide else 0


@_inner
def _behind_space(data, at, end):
    """The first place from `at` on that is not white space."""
    while at < end:
        length = _space(data, at, end)
        if length == 0:
            break
        at += length
    return at


@_inner
def _before_space(data, begin, at):
    """The place behind the last character before `at` that is not white space."""
    while at > begin:
        back = at - 1
        while back > begin and data[back] & 0xC0 == 0x80:
            back -= 1
        if _space(data, back, at) != at - back:
            break
        at = back
    return at


@_inner
def _stands(data, at, end, texts, first, last):
    """Whether `texts[first:last]` stands in the data at `at`."""
    if at + last - first > end:
        return False
    for k in range(last - first):
        if data[at + k] != texts[first + k]:
            return False
    return True


@_inner
def _marker(data, at, end, texts, places, heads):
    """The longest marker that stands at `at`, -1 if there is none."""
    if at + 1 < end:
        bucket = data[at + 1] + 256 * (data[at] == _BRACKET)
        for m in range(heads[bucket], heads[bucket + 1]):
            if _stands(data, at, end, texts, places[m], places[m + 1]):
                return m
    return -1


@_inner
def _candidate(data, at, end):
    """The first place from `at` on where a marker may begin, `end` if there is none."""
    while end - at >= _BLOCK:
        block = data[at : at + _BLOCK]
        hit = np.uint8(0)
        for k in range(_BLOCK):  # a view and one byte: compiles to vector code
            hit |= np.uint8(block[k] == _LESS) | np.uint8(block[k] == _BRACKET)
        if hit:
            for k in range(_BLOCK):
                if block[k] == _LESS or block[k] == _BRACKET:
                    return at + k
        at += _BLOCK
    while at < end and data[at] != _LESS and data[at] != _BRACKET:
        at += 1
    return at


@_inner
def _scan(data, begin, end, texts, places, what, heads, marks):
    """Rows (kind, pair, start, end) of all markers in order, and how many they are.

    Two more rows are free behind them.
    """
    count, at = 0, begin
    while at < end:
        at = _candidate(data, at, end)
        found = -1
        if at < end:
            found = _marker(data, at, end, texts, places, heads)
        if found < 0:
            at += 1
            continue
        if count + 2 == len(marks):
            grown = np.empty((2 * len(marks), 4), np.int64)
            for m in range(count):
                _move(grown, m, marks, m)
            marks = grown
        marks[count, 0], marks[count, 1] = what[found, 0], what[found, 1]
        marks[count, 2] = at
        at += places[found + 1] - places[found]
        marks[count, 3] = at
        count += 1
    return marks, count


@_inner
def _pair(data, begin, end, marks, first, count, texts, places, bare):
    """The number of the pair that decides, -1 if there is none, and where text begins;
    see `spans._pair`."""
    begin = _behind_space(data, begin, end)
    at = first
    while at < count and marks[at, 0] == _TOKEN and marks[at, 2] == begin:
        begin = _behind_space(data, marks[at, 3], end)
        at += 1
    if at < count and marks[at, 0] == _OPEN and marks[at, 2] == begin:
        return marks[at, 1], begin
    words = len(places) - 1 - 2 * len(bare)
    for k in range(len(bare)):
        opens = words + 2 * k
        if _stands(data, begin, end, texts, places[opens], places[opens + 1]):
            return bare[k], begin
    pair = -1
    for m in range(first, count):
        if marks[m, 1] >= 0 and (pair < 0 or marks[m, 1] < pair):
            pair = marks[m, 1]
    return pair, begin


@_inner
def _move(marks, at, others, other):
    for k in range(4):  # assignment of whole rows takes seconds to compile
        marks[at, k] = others[other, k]


@_inner
def _insert(marks, count, kind, pair, begin, end):
    """`marks` with one more in its place; there is room for two."""
    at = count
    while at > 0 and marks[at - 1, 2] > begin:
        _move(marks, at, marks, at - 1)
        at -= 1
    marks[at, 0], marks[at, 1], marks[at, 2], marks[at, 3] = kind, pair, begin, end


@_inner
def _is_bare(pair, bare):
    for k in range(len(bare)):
        if bare[k] == pair:
            return True
    return False


@_inner
def _insert_words(data, begin, end, marks, count, pair, texts, places, bare):
    """Marks for the words of a bare pair that opens at `begin`; the new count."""
    opens = len(places) - 1 - 2 * len(bare)
    for k in range(len(bare)):
        if bare[k] == pair:
            opens += 2 * k
    behind = begin + places[opens + 1] - places[opens]
    _insert(marks, count, _OPEN, pair, begin, behind)
    first, last = places[opens + 1], places[opens + 2]
    at = _find(data, behind, end, texts, first, last)
    if at == end:
        return count + 1
    _insert(marks, count + 1, _CLOSE, pair, at, at + last - first)
    return count + 2


@_inner
def _find(data, at, end, texts, first, last):
    """The first place from `at` on where `texts[first:last]`, of two bytes at least,
    stands; `end` if there is none."""
    one, two = texts[first], texts[first + 1]
    while at < end:
        if end - at > _BLOCK:
            block, behind = data[at : at + _BLOCK], data[at + 1 : at + 1 + _BLOCK]
            hit = np.uint8(0)
            for k in range(_BLOCK):  # as in `_candidate`
                hit |= np.uint8(block[k] == one) & np.uint8(behind[k] == two)
            if hit == 0:
                at += _BLOCK
                continue
        for place in range(at, min(at + _BLOCK, end)):
            if _stands(data, place, end, texts, first, last):
                return place
        at += _BLOCK
    return end


@_inner
def _clean(data, begin, end, marks, first, last, out, size):
    """Writes [begin, end) behind `out[:size]` without its special tokens, stripped.

    The marks in between are `marks[first:last]`. Returns the new size.
    """
    while True:
        begin = _behind_space(data, begin, end)
        if first == last or marks[first, 0] != _TOKEN or marks[first, 2] != begin:
            break
        begin = marks[first, 3]
        first += 1
    while True:
        end = _before_space(data, begin, end)
        if first == last or marks[last - 1, 0] != _TOKEN or marks[last - 1, 3] != end:
            break
        last -= 1
        end = marks[last, 2]
    for m in range(first, last):
        if marks[m, 0] == _TOKEN:
            size = _copy(data, begin, marks[m, 2], out, size)
            begin = marks[m, 3]
    return _copy(data, begin, end, out, size)


@_inner
def _copy(data, begin, end, out, size):
    if end <= begin:
        return size
    source, target = data[begin:end], out[size : size + end - begin]
    for k in range(len(source)):  # views count from zero, which compiles to a memcpy
        target[k] = source[k]
    return size + end - begin


@_inner
def _block(data, begin, end, marks, first, last, out, row, size):
    """As `_clean`, joined to what the row has in `out[row:size]`."""
    joined = size
    if size > row:
        out[size] = out[size + 1] = _NEWLINE
        joined += 2
    written = _clean(data, begin, end, marks, first, last, out, joined)
    return size if written == joined else written


@_inner
def _blocks(data, begin, end, marks, first, count, pair, reasoning, answer, sizes):
    """Writes both texts of one row, returns its state; see `spans._blocks`."""
    own, opened_first, inside = 0, False, False
    row, size = sizes[0], sizes[0]
    last = -1  # kind of the last mark of the pair
    for m in range(first, count):
        if marks[m, 1] != pair:
            continue
        last = marks[m, 0]
        opened_first |= own == 0 and last == _OPEN
        own += 1
        if last == _CLOSE or inside:
            to = marks[m, 2]
            size = _block(data, begin, to, marks, first, m, reasoning, row, size)
        inside = last == _OPEN
        begin, first = marks[m, 3], m + 1
    if inside:
        size = _block(data, begin, end, marks, first, count, reasoning, row, size)
    else:
        sizes[1] = _clean(data, begin, end, marks, first, count, answer, sizes[1])
    sizes[0] = size
    if own == 1:
        return _OPEN_ONLY if last == _OPEN else _CLOSE_ONLY
    return _CLOSED if own == 2 and opened_first and last == _CLOSE else _SEVERAL


@njit(_SIGNATURE, cache=True, nogil=True)
def _cut(
    data, offsets, texts, places, what, heads, bare, states, reasoning, answer, ends
):
    """See `cut`; `spans.find` row by row."""
    marks = np.empty((64, 4), np.int64)
    sizes = np.zeros(2, np.int64)
    for row in range(len(states)):
        begin, end = offsets[row], offsets[row + 1]
        marks, count = _scan(data, begin, end, texts, places, what, heads, marks)
        first = 0
        for m in range(count):
            if marks[m, 0] == _CUT:
                begin, first = marks[m, 3], m + 1
        pair, words = _pair(data, begin, end, marks, first, count, texts, places, bare)
        if pair < 0:
            states[row] = _NONE
            sizes[0] = _clean(
                data, begin, end, marks, first, count, reasoning, sizes[0]
            )
        else:
            if _is_bare(pair, bare):
                count = _insert_words(
                    data, words, end, marks, count, pair, texts, places, bare
                )
            states[row] = _blocks(
                data, begin, end, marks, first, count, pair, reasoning, answer, sizes
            )
        ends[0, row + 1], ends[1, row + 1] = sizes[0], sizes[1]
