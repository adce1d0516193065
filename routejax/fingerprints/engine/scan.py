"""Both automata walked over rows at once, in four lanes; what they report as events.

A walk is one table lookup after another, each waiting for the last; four independent
lanes fill the waiting time. A lane takes one row after another, so that nothing crosses
a border and no lane is idle before the last rows.

An event is one uint64: its place, the cue state, the border state.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine.kernel import allocating, kernel

PLACE, CUE = np.uint64(32), np.uint64(16)  # shifts
STATE_MASK = np.uint64((1 << 16) - 1)
_ROW = np.uint64(6)  # a state has 64 entries
_ONE = np.uint64(1)


@allocating
def scan(text, bounds, rows, machines, events, counts):
    """Events of each row in text order: counts[row] of them, from events[bounds[row]]
    on. A byte has one event at most, so no row's events reach the next row's.
    """
    # Per lane: its row, its place in the text, the row's end, where its next event
    # goes, and the states of both automata.
    row, at, end = np.full(4, -1), np.zeros(4, np.uint64), np.zeros(4, np.uint64)
    put, cue, border = np.zeros((3, 4), np.uint64)
    following = 0
    while True:
        busy = 0
        for lane in range(4):
            if at[lane] == end[lane]:
                if row[lane] >= 0:
                    counts[row[lane]] = put[lane] - np.uint64(bounds[row[lane]])
                    row[lane] = -1
                if following < rows:
                    row[lane] = following
                    at[lane] = put[lane] = bounds[following]
                    end[lane] = bounds[following + 1]
                    cue[lane] = border[lane] = 0
                    following += 1
            busy += row[lane] >= 0
        if busy == 4:
            _walk_four(text, at, end, machines, events, put, cue, border)
        elif busy > 0:
            for lane in range(4):
                if row[lane] >= 0:
                    _walk(text, at, end, machines, events, put, cue, border, lane)
        else:
            return


@kernel
def _walk(text, at, end, machines, events, put, cue, border, lane):
    """One lane alone to the end of its row."""
    classes, cues, borders = machines.classes, machines.cues, machines.borders
    first_cue, first_border = machines.first_cue, machines.first_border
    s, b, k = cue[lane], border[lane], put[lane]
    for place in range(at[lane], end[lane]):
        kind = np.uint64(classes[text[place]])
        s = np.uint64(cues[(s << _ROW) | kind])
        b = np.uint64(borders[(b << _ROW) | kind])
        if (s >= first_cue) | (b >= first_border):
            events[k] = (np.uint64(place) << PLACE) | (s << CUE) | b
            k += _ONE
    at[lane], put[lane] = end[lane], k


@kernel
def _walk_four(text, at, end, machines, events, put, cue, border):
    """All lanes by turns, until the first comes to the end of its row."""
    classes, cues, borders = machines.classes, machines.cues, machines.borders
    first_cue, first_border = machines.first_cue, machines.first_border
    e0, e1, e2, e3 = at[0], at[1], at[2], at[3]
    shared = min(min(end[0] - e0, end[1] - e1), min(end[2] - e2, end[3] - e3))
    s0, s1, s2, s3 = cue[0], cue[1], cue[2], cue[3]
    b0, b1, b2, b3 = border[0], border[1], border[2], border[3]
    k0, k1, k2, k3 = put[0], put[1], put[2], put[3]
    for i in range(shared):
        c0 = np.uint64(classes[text[e0 + i]])
        c1 = np.uint64(classes[text[e1 + i]])
        c2 = np.uint64(classes[text[e2 + i]])
        c3 = np.uint64(classes[text[e3 + i]])
        s0 = np.uint64(cues[(s0 << _ROW) | c0])
        s1 = np.uint64(cues[(s1 << _ROW) | c1])
        s2 = np.uint64(cues[(s2 << _ROW) | c2])
        s3 = np.uint64(cues[(s3 << _ROW) | c3])
        b0 = np.uint64(borders[(b0 << _ROW) | c0])
        b1 = np.uint64(borders[(b1 << _ROW) | c1])
        b2 = np.uint64(borders[(b2 << _ROW) | c2])
        b3 = np.uint64(borders[(b3 << _ROW) | c3])
        if (s0 >= first_cue) | (b0 >= first_border):
            events[k0] = ((e0 + i) << PLACE) | (s0 << CUE) | b0
            k0 += _ONE
        if (s1 >= first_cue) | (b1 >= first_border):
            events[k1] = ((e1 + i) << PLACE) | (s1 << CUE) | b1
            k1 += _ONE
        if (s2 >= first_cue) | (b2 >= first_border):
            events[k2] = ((e2 + i) << PLACE) | (s2 << CUE) | b2
            k2 += _ONE
        if (s3 >= first_cue) | (b3 >= first_border):
            events[k3] = ((e3 + i) << PLACE) | (s3 << CUE) | b3
            k3 += _ONE
    at[0], at[1], at[2], at[3] = e0 + shared, e1 + shared, e2 + shared, e3 + shared
    cue[0], cue[1], cue[2], cue[3] = s0, s1, s2, s3
    border[0], border[1], border[2], border[3] = b0, b1, b2, b3
    put[0], put[1], put[2], put[3] = k0, k1, k2, k3
