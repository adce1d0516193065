"""The pattern block of the `corpus` family: `patterns_corpus.patterns`, on arrays.

Every step becomes a set of bits: its type, its edge, its marks. Most patterns ask how
often a bit occurs, where first and last, or which bit follows which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, UInt64
from numba import njit

from routejax.fingerprints.engine.said import at_least
from routejax.fingerprints.marks_corpus import SUBJECTS
from routejax.fingerprints.patterns_corpus import PATTERNS

assert len(PATTERNS) == 64
SETUP, COMPUTATION, DEDUCTION, VERIFICATION, BACKTRACKING = range(5)
EXPLORATION, BACKWARD, DECOMPOSITION, COMMENTARY, CONCLUSION = range(5, 10)
RETURNED, EXPLORED = 11, 12  # bits of the edges; 10 is the sequential one
_FIRST_MARK = 13

# Marks that patterns ask for, in the order in which `Facts.mark` holds their bits.
ASKED = (
    *("boxed", "confirmed", "substituted back", "example", "edge case"),
    *("other way", "case", "assumed", "contradicted", "tried", "asked", "restarted"),
    *("erred", "doubt", "numbered", "first", "last", "summed up", "option", "given up"),
    *SUBJECTS,
)
BOXED, CONFIRMED, SUBSTITUTED, EXAMPLE, EDGE_CASE = range(5)
OTHER_WAY, CASE, ASSUMED, CONTRADICTED, TRIED, QUESTION, RESTARTED = range(5, 12)
ERRED, DOUBT, NUMBERED, FIRST, LAST, SUMMED, OPTION, GIVEN_UP = range(12, 20)
assert len(SUBJECTS) == 12


class Facts(NamedTuple):
    """Bits per step, and per bit its count, first and last place (-1 for none)."""

    bits: UInt64[np.ndarray, "capacity"]
    count: Int64[np.ndarray, "64"]
    first: Int64[np.ndarray, "64"]
    last: Int64[np.ndarray, "64"]


def room(capacity: int) -> Facts:
    return Facts(np.empty(capacity, np.uint64), *np.empty((3, 64), np.int64))


def asked(marks: tuple[str, ...]) -> Int64[np.ndarray, "asked"]:
    """The bit of a step, counted from `_FIRST_MARK`, of each mark of `ASKED`."""
    assert _FIRST_MARK + len(marks) <= 64
    return np.array([_FIRST_MARK + marks.index(name) for name in ASKED], np.int64)


@njit(nogil=True, cache=True, error_model="numpy")
def gather(steps, n, nodes, f):
    """Fills the facts of a row."""
    count, first, last, every = f.count, f.first, f.last, f.bits
    marks, kinds, edges = steps.marks, steps.kind, nodes.edge
    count[:], first[:], last[:] = 0, -1, -1
    one = np.uint64(1)
    for i in range(n):
        bits = marks[i] << np.uint64(_FIRST_MARK)
        bits |= one << np.uint64(kinds[i])
        if i > 0:
            bits |= one << np.uint64(10 + edges[i])
        every[i] = bits
        rest, bit = bits, 0
        while rest != 0:
            while rest & np.uint64(15) == 0:
                rest >>= np.uint64(4)
                bit += 4
            if rest & one != 0:
                count[bit] += 1
                if first[bit] < 0:
                    first[bit] = i
                last[bit] = i
            rest >>= one
            bit += 1


@njit(nogil=True, cache=True, error_model="numpy")
def _follows(bits, n, a, b, within):
    """Whether bit `b` comes at most `within` steps after bit `a`."""
    since = within + 1
    for i in range(n):
        if (bits[i] >> np.uint64(b)) & np.uint64(1) and since <= within:
            return True
        since = 1 if (bits[i] >> np.uint64(a)) & np.uint64(1) else since + 1
    return False


@njit(nogil=True, cache=True, error_model="numpy")
def patterns(text, steps, n, nodes, f, mark, group, before, out):
    """Writes the 64 indicators to `out`; n > 0.

    `mark` are the bits of `asked`; `group` and `before` come from `said.number`.
    """
    gather(steps, n, nodes, f)
    _direct(steps.kind, n, nodes, f, mark, out[:7])
    _verification(n, f, mark, out[7:18])
    _exploration(n, nodes, f, mark, out[18:27])
    _backtracking(n, nodes, f, mark, out[27:36])
    _decomposition(n, f, mark, out[36:43])
    for k in range(12):
        count = f.count[mark[20 + k]]
        out[43 + k] = count > 0 and 20 * count >= n
    out[55] = f.count[mark[OPTION]] >= 3
    _failure(text, steps, n, f, mark, group, before, out[56:64])


@njit(nogil=True, cache=True, error_model="numpy")
def _direct(kinds, n, nodes, f, mark, out):
    turns = f.count[VERIFICATION] + f.count[EXPLORED] + f.count[RETURNED]
    out[0] = f.count[CONCLUSION] > 0 and turns == 0
    most = 0
    for i in range(n):
        most = max(most, nodes.children[i])
    out[1] = n >= 3 and most == 1
    out[2] = 2 * f.count[COMPUTATION] >= n
    out[3] = 3 * f.count[DEDUCTION] >= n
    out[4] = 0 <= f.first[SETUP] < 2
    out[5] = kinds[n - 1] == CONCLUSION
    out[6] = f.count[mark[BOXED]] > 0


@njit(nogil=True, cache=True, error_model="numpy")
def _verification(n, f, mark, out):
    bits = f.bits
    out[0] = f.count[VERIFICATION] > 0
    out[1] = 10 * f.count[VERIFICATION] >= n
    out[2] = _follows(bits, n, VERIFICATION, CONCLUSION, 3)
    out[3] = _follows(bits, n, CONCLUSION, VERIFICATION, 3)
    out[4] = _follows(bits, n, VERIFICATION, mark[CONFIRMED], 2)
    out[5] = _follows(bits, n, VERIFICATION, BACKTRACKING, 2)
    out[6] = _follows(bits, n, VERIFICATION, COMPUTATION, 1)
    out[7] = f.count[mark[SUBSTITUTED]] > 0
    out[8] = f.count[mark[EXAMPLE]] > 0
    out[9] = f.count[mark[EDGE_CASE]] > 0
    run = 0
    for i in range(n):
        run = run + 1 if (bits[i] >> np.uint64(VERIFICATION)) & np.uint64(1) else 0
        if run == 3:
            out[10] = 1
            break


@njit(nogil=True, cache=True, error_model="numpy")
def _exploration(n, nodes, f, mark, out):
    out[0] = f.count[EXPLORED] > 0
    if f.count[EXPLORED] >= 2:
        nodes.width[:n] = 0
        for i in range(1, n):
            if nodes.edge[i] == 2:
                nodes.width[nodes.parent[i]] += 1
                if nodes.width[nodes.parent[i]] == 2:
                    out[1] = 1
    out[2] = f.count[mark[OTHER_WAY]] >= 2
    out[3] = f.count[mark[CASE]] >= 2
    out[4] = _follows(f.bits, n, EXPLORATION, VERIFICATION, 3)
    assumed = f.first[mark[ASSUMED]]
    out[5] = 0 <= assumed < f.last[mark[CONTRADICTED]]
    out[6] = f.count[mark[TRIED]] >= 3
    out[7] = 0 <= f.first[CONCLUSION] < f.last[EXPLORED]
    out[8] = f.count[mark[QUESTION]] >= 2


@njit(nogil=True, cache=True, error_model="numpy")
def _backtracking(n, nodes, f, mark, out):
    out[0] = f.count[RETURNED] > 0
    out[1] = f.count[RETURNED] >= 3
    if f.count[RETURNED]:
        nodes.width[:n] = 0
        for i in range(1, n):
            if nodes.edge[i] == 2:
                nodes.width[nodes.parent[i]] = 1
        for i in range(1, n):
            if nodes.edge[i] == 1:
                if nodes.width[nodes.parent[i]]:
                    out[2] = 1
                if nodes.parent[i] == 0:
                    out[3] = 1
    out[4] = f.count[mark[RESTARTED]] > 0
    out[5] = f.count[mark[ERRED]] > 0
    out[6] = f.count[BACKTRACKING] > 0 and 3 * f.last[BACKTRACKING] >= 2 * n
    out[7] = _follows(f.bits, n, BACKTRACKING, VERIFICATION, 3)
    out[8] = f.count[mark[DOUBT]] >= 3


@njit(nogil=True, cache=True, error_model="numpy")
def _decomposition(n, f, mark, out):
    out[0] = f.count[DECOMPOSITION] > 0
    out[1] = 0 <= f.first[DECOMPOSITION] < 3
    out[2] = f.count[mark[NUMBERED]] >= 3
    out[3] = 0 <= f.first[mark[FIRST]] < f.last[mark[LAST]]
    stretches = 0
    started = fresh = False
    for i in range(n):
        if (f.bits[i] >> np.uint64(DECOMPOSITION)) & np.uint64(1):
            started = fresh = True
        elif (f.bits[i] >> np.uint64(VERIFICATION)) & np.uint64(1) and fresh:
            stretches += 1
            fresh = False
    out[4] = started and stretches >= 2
    out[5] = f.count[mark[SUMMED]] > 0
    out[6] = f.count[BACKWARD] > 0


@njit(nogil=True, cache=True, error_model="numpy")
def _failure(text, steps, n, f, mark, group, before, out):
    out[0] = _circular(text, steps, n, before)
    out[1] = _loops(text, steps, n, group)
    out[2] = _oscillates(steps.kind, n)
    out[3] = _abandons(n, f)
    revised = f.last[BACKTRACKING]
    out[4] = revised >= 0 and f.last[VERIFICATION] < revised
    out[5] = f.count[CONCLUSION] == 0
    concluded = f.first[CONCLUSION]
    out[6] = concluded >= 0 and 2 * (n - 1 - concluded) > n
    out[7] = f.count[mark[GIVEN_UP]] > 0


@njit(nogil=True, cache=True, error_model="numpy")
def _circular(text, steps, n, before):
    for i in range(n):
        if before[i] >= 0 and i - before[i] >= 3:
            if at_least(text, steps.said[i], steps.end[i], 5):
                return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
def _loops(text, steps, n, group):
    """Whether a block of one to four steps is said three times running."""
    for size in range(1, 5):
        run = 0
        for i in range(size, n):
            again = group[i] == group[i - size]
            if again:
                again = at_least(text, steps.said[i], steps.end[i], 1)
            run = run + 1 if again else 0
            if run == 2 * size:
                return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
def _oscillates(kinds, n):
    run = 0
    for i in range(2, n):
        turn = (kinds[i] == kinds[i - 2]) & (kinds[i] != kinds[i - 1])
        run = run + 1 if turn else 0
        if run == 4:
            return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
def _abandons(n, f):
    """Between an exploration edge and the next turn stand steps, but no result."""
    turns = (np.uint64(1) << np.uint64(EXPLORED)) | (
        np.uint64(1) << np.uint64(RETURNED)
    )
    results = np.uint64((1 << VERIFICATION) | (1 << DEDUCTION) | (1 << CONCLUSION))
    opened = np.int64(-1)
    for i in range(n):
        bits = f.bits[i]
        if bits & turns != 0:
            if opened >= 0 and i > opened + 1:
                return True
            opened = i if (bits >> np.uint64(EXPLORED)) & np.uint64(1) else -1
        elif bits & results != 0:
            opened = -1
    return False
