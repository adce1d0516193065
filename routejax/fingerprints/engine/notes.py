"""Events of a row to its steps: where each begins and ends, its rule, its marks.

The walk goes over the events once. Cue hits gather in the open step; at a border that
`cuts` accepts, the step is closed and its content asked. All in the order of the text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int16, Int32, UInt64

from routejax.fingerprints.engine import automaton, content, cuts, stretches, words
from routejax.fingerprints.engine.kernel import inlined, kernel
from routejax.fingerprints.engine.scan import (
    CUE,
    PLACE,
    STATE_MASK,
)
from routejax.fingerprints.engine.signs import (
    ALNUM,
    WIDE,
    has,
    skip_white,
)

SENTENCE, NEWLINE, MARKER = automaton.SENTENCE, automaton.NEWLINE, automaton.MARKER
WIDE_STOP, STRETCH, END = automaton.WIDE_STOP, automaton.STRETCH, automaton.END


class Steps(NamedTuple):
    """The steps of one row, in arrays long enough for any row of a group.

    `begin` and `end` are places in the plain text; `rank` is the rule's, `kind` its
    type; `marks` holds a bit per mark; `words` counts those parted by white space;
    `said` is where the words of `lexicon.words` begin; steps that differ in letters or
    digits mostly differ in `key`.
    """

    begin: Int32[np.ndarray, "capacity"]
    end: Int32[np.ndarray, "capacity"]
    rank: Int16[np.ndarray, "capacity"]
    kind: Int16[np.ndarray, "capacity"]
    marks: UInt64[np.ndarray, "capacity"]
    words: Int32[np.ndarray, "capacity"]
    said: Int32[np.ndarray, "capacity"]
    key: UInt64[np.ndarray, "capacity"]


class Stretches(NamedTuple):
    """The protected stretches of one row that have been met."""

    low: Int32[np.ndarray, "capacity"]
    high: Int32[np.ndarray, "capacity"]


def room(n: int) -> tuple[Steps, Stretches]:
    """Arrays for a row of at most `n` steps; a row has no more than its events."""
    return (
        Steps(
            np.empty(n, np.int32),
            np.empty(n, np.int32),
            np.empty(n, np.int16),
            np.empty(n, np.int16),
            np.empty(n, np.uint64),
            np.empty(n, np.int32),
            np.empty(n, np.int32),
            np.empty(n, np.uint64),
        ),
        Stretches(np.empty(n, np.int32), np.empty(n, np.int32)),
    )


@kernel
def read_row(text, begin, end, events, e, t, first_cue, steps, spans):
    """The number of steps of the row text[begin:end], whose events start at events[e].

    `t` are the grammar's `Tables`.
    """
    plain_rank, plain_marks, hit_at = t.plain_rank, t.plain_marks, t.hit_at
    hit_rank, hit_opens, hit_words = t.hit_rank, t.hit_opens, t.hit_words
    border_kind, content_rank, kind_of_rank = (
        t.border_kind,
        t.content_rank,
        t.kind_of_rank,
    )
    n = held = 0
    start, consumed, reached = begin, begin, begin
    lost = np.int64(0)  # closing marks that come no more
    fallback = kind_of_rank.size - 1
    best, marks = np.int64(fallback), np.uint64(0)
    # Where words begin, and up to where all are openers; found when first asked for.
    word_begin, opened = np.int64(-1), np.int64(-1)
    while True:
        event = events[e]
        e += 1
        at = np.int64(event >> PLACE)
        cue = (event >> CUE) & STATE_MASK
        if cue >= first_cue:
            report = np.int64(cue - first_cue)
            best = min(best, np.int64(plain_rank[report]))
            marks |= plain_marks[report]
            for hit in range(hit_at[report], hit_at[report + 1]):
                rank = np.int64(hit_rank[hit])
                if rank >= best:
                    continue
                if word_begin < 0:
                    word_begin = opened = words.first_word(text, start, end)
                a, b = hit_words[hit], hit_words[hit + 1]
                place = words.hit_begin(text, at, begin, t.word_lengths, a, b)
                if place < word_begin:
                    continue
                if hit_opens[hit]:
                    opened = words.opened(text, opened, place, t.openers)
                    if opened < place:
                        continue
                if rank >= 0:
                    best = rank
                else:
                    marks |= np.uint64(1) << np.uint64(-1 - rank)
        kind = border_kind[np.int64(event & STATE_MASK)]
        if kind == 0:
            continue
        if kind == STRETCH:
            low = stretches.mark_start(text, at, begin)
            if low >= reached:
                mark = stretches.opening(text, low, begin, end)
                if mark >= 0:
                    reached, lost = _stretch_end(
                        text, low, begin, end, events, e, border_kind, mark, lost
                    )
                    spans.low[held], spans.high[held] = low, reached
                    held += 1
            continue
        if kind == END:
            if at < end:
                continue
            cut = end
        else:
            cut, consumed, sign = _cut(text, at, kind, start, consumed, begin, end)
            if cut < 0 or (
                sign < reached and _inside(sign, spans.low, spans.high, held)
            ):
                continue
        a, b = _trimmed(text, start, cut)
        if a < b:
            said = words.first_word(text, a, b)
            spoken, key = words.look_over(text, a, said, b)
            for k in range(t.marked_bit.size):
                if content.holds(t.marked_test[k], text, a, b):
                    marks |= np.uint64(1) << np.uint64(t.marked_bit[k])
            for k in range(content_rank.size):
                if content_rank[k] >= best:
                    break
                if content.holds(t.content_test[k], text, a, b):
                    best = np.int64(content_rank[k])
                    break
            steps.begin[n], steps.end[n] = a, b
            steps.rank[n], steps.kind[n] = best, kind_of_rank[best]
            steps.marks[n], steps.words[n] = marks, spoken
            steps.said[n], steps.key[n] = said, key
            n += 1
        if kind == END:
            return n
        start = cut
        best, marks = np.int64(fallback), np.uint64(0)
        word_begin, opened = np.int64(-1), np.int64(-1)


@kernel
def _stretch_end(text, low, begin, end, events, e, border_kind, mark, lost):
    """Where the stretch opened at `low` ends, and the closing marks known as lost."""
    behind = low + stretches.opening_length(mark)
    bit = stretches.closing_bit(mark)
    while lost & bit == 0:
        event = events[e]
        e += 1
        kind = border_kind[np.int64(event & STATE_MASK)]
        at = np.int64(event >> PLACE)
        if kind == END and at >= end:
            lost |= bit
        elif kind == STRETCH:
            place = stretches.mark_start(text, at, begin)
            if place >= behind:
                closed = stretches.closes(text, place, end, mark)
                if closed >= 0:
                    return closed, lost
    return stretches.blank_line(text, behind, end), lost


@inlined
def _cut(text, at, kind, start, consumed, begin, end):
    """Where the step from `start` ends at this border, or -1; where the next border may
    begin, as `segment._CANDIDATE` finds borders that do not overlap; and the sign that
    the border begins with."""
    none = np.int64(-1)
    if at < consumed:  # before anything is walked over, so that time stays linear
        return none, consumed, at
    if kind == MARKER:
        if not cuts.marker(text, at, end):
            return none, consumed, none
        sign = _pause_before(text, at, begin)
        after = at
    elif kind == SENTENCE:
        sign = cuts.sentence_start(text, at, begin)
        after = skip_white(text, at, end)
    elif kind == WIDE_STOP:
        sign = at - 2
        after = _behind_wide_stops(text, at + 1, end)
    else:
        sign = at
        after = skip_white(text, at, end)
        pause = _pause_before(text, at, begin)
        if pause >= consumed and cuts.marker(text, after, end):
            sign, kind = pause, MARKER
    if sign < consumed:
        return none, consumed, sign
    if after >= end:
        return none, after, sign
    if kind == WIDE_STOP:
        return after, after, sign
    if kind == MARKER:
        return (after if cuts.three_words(text, start, sign) else none), after, sign
    stop = at if kind == SENTENCE else sign
    breaks = 0
    for i in range(stop, after):
        breaks += text[i] == 10
    if breaks >= 2 or (breaks == 1 and cuts.breaks_line(text, sign, after, begin, end)):
        return after, after, sign
    if kind == SENTENCE and cuts.ends_sentence(text, start, sign, stop, after, end):
        return after, after, sign
    return none, after, sign


@inlined
def _pause_before(text, at, begin):
    """Where the comma, semicolon, colon or dash before the white space that ends at
    `at` begins, or -1."""
    while at > begin and (text[at - 1] == 32 or text[at - 1] == 10):
        at -= 1
    length = cuts.is_pause(text, at, begin)
    return at - length if length else np.int64(-1)


@kernel
def _behind_wide_stops(text, i, end):
    """The place behind more of 。！？ and behind spaces."""
    while i + 3 <= end:
        a, b, c = text[i], text[i + 1], text[i + 2]
        full = a == 0xE3 and b == 0x80 and c == 0x82
        if not (full or (a == 0xEF and b == 0xBC and (c == 0x81 or c == 0x9F))):
            break
        i += 3
    while i < end and text[i] == 32:
        i += 1
    return i


@inlined
def _inside(place, low, high, held):
    """Whether a stretch that has been met holds the place."""
    while held > 0 and high[held - 1] > place:
        if low[held - 1] <= place:
            return True
        held -= 1
    return False


@inlined
def _trimmed(text, begin, end):
    """text[begin:end] without white space at its ends; empty if it is no step."""
    a = skip_white(text, begin, end)
    while end > a and (text[end - 1] == 32 or text[end - 1] == 10):
        end -= 1
    i = a
    while i < end and not has(text[i], ALNUM | WIDE):
        i += 1
    return (a, end) if i < end else (a, a)
