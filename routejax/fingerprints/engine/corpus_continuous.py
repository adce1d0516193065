"""The continuous block of the `corpus` family: `continuous_corpus`, on arrays."""

from __future__ import annotations

from math import log1p, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64

from routejax.fingerprints.continuous_corpus import BEHAVIOURS, FEATURES, SHORT
from routejax.fingerprints.engine import blocks, walk
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.engine.walk import ones
from routejax.fingerprints.rules_corpus import VOCABULARY

T = len(VOCABULARY)
assert (T, len(FEATURES), len(BEHAVIOURS)) == (10, 137, 6)


class Behaves(NamedTuple):
    """Per behaviour the types and the marks that count, as bits: types come first."""

    bits: UInt64[np.ndarray, "6"]


def behaves(marks: tuple[str, ...]) -> Behaves:
    assert T + len(marks) <= 64
    every = (*VOCABULARY, *marks)
    names = [{row.type, *row.marks} - {""} for row in BEHAVIOURS.values()]
    bits = [sum(1 << every.index(name) for name in row) for row in names]
    return Behaves(np.array(bits, np.uint64))


_SETUP, _COMPUTATION, _DEDUCTION = 0, 1, 2
_VERIFICATION, _BACKTRACKING, _EXPLORATION, _DECOMPOSITION = 3, 4, 5, 7
assert VOCABULARY[_DECOMPOSITION] == "decomposition"
assert VOCABULARY[:6] == ("setup", "computation", "deduction", "verification",
                          "backtracking", "exploration")  # fmt: skip
_plans = blocks.mask_of([_SETUP, _DECOMPOSITION])
_works = blocks.mask_of([_COMPUTATION, _DEDUCTION])
_turns = blocks.mask_of([_BACKTRACKING, _EXPLORATION])
_checks = blocks.mask_of([_VERIFICATION])
_CLASSES = 64  # of step lengths, the last for all longer ones


@kernel
def continuous(steps, n, nodes, b, lengths, room, out):
    """Writes the 137 features to `out`; n > 0.

    `lengths` are the words of each step; `room` is room for `_CLASSES` integers.
    """
    counts = nodes.kinds[walk.COUNT]
    for kind in range(T):
        out[kind] = np.float32(counts[kind] / n)
    _behaviours(steps.kind, steps.marks, n, b.bits, out[110:116])
    _graph(counts, n, nodes.follows, room, out[10:110], out[116:122])
    _step_lengths(lengths, n, room, out[122:127])
    _motifs(nodes.step, n, out[127:133])
    sums = nodes.sums
    deepest = sums[walk.DEEPEST]
    out[133] = np.float32((deepest + 1) / n)
    out[134] = np.float32(sums[walk.WIDEST] / n)
    out[135] = np.float32(sums[walk.INSIDE] / n)
    climbed, returns = sums[walk.CLIMBED], sums[walk.RETURNS]
    out[136] = np.float32(climbed / max(returns * deepest, 1))


@kernel
def _behaviours(kinds, marks, n, b, out):
    s0, s1, s2, s3, s4, s5 = b[0], b[1], b[2], b[3], b[4], b[5]
    c0 = c1 = c2 = c3 = c4 = c5 = 0
    for i in range(n):
        bits = marks[i] << np.uint64(T) | np.uint64(1) << np.uint64(kinds[i])
        c0 += bits & s0 != 0
        c1 += bits & s1 != 0
        c2 += bits & s2 != 0
        c3 += bits & s3 != 0
        c4 += bits & s4 != 0
        c5 += bits & s5 != 0
    counts = (c0, c1, c2, c3, c4, c5)
    for k in range(6):
        out[k] = np.float32(log1p(np.float64(counts[k])))


@kernel
def _graph(counts, n, follows, reach, rates, out):
    """The moves of G from one type to another: their rates and six summaries.

    `reach` is room for a bit per type that can be reached, per type.
    """
    present = moves = mutual = total = hub = 0
    for a in range(T):
        present += counts[a] > 0
        leaving = entering = targets = sources = 0
        for b in range(T):
            there = follows[walk.WIDE * a + b] * (a != b)
            back = follows[walk.WIDE * b + a] * (a != b)
            leaving += there
            entering += back
            targets |= np.int64(there > 0) << b
            sources |= np.int64(back > 0) << b
        if leaving:
            for b in range(T):
                times = follows[walk.WIDE * a + b] * (a != b)
                rates[T * a + b] = np.float32(times / leaving)
        moves += ones(np.uint64(targets))
        mutual += ones(np.uint64(targets & sources))
        reach[a] = targets
        total += entering
        hub = max(hub, entering)
    for via in range(T):
        beyond = reach[via]
        for a in range(T):
            reach[a] |= beyond & -(reach[a] >> via & 1)
    cyclic = 0
    for a in range(T):
        cyclic += reach[a] >> a & 1
    out[0] = np.float32(present / 10)
    out[1] = np.float32(moves / 90)
    out[2] = np.float32(mutual / max(moves, 1))
    out[3] = np.float32(hub / max(total, 1))
    out[4] = np.float32(cyclic / present)
    out[5] = np.float32(total / max(n - 1, 1))


@kernel
def _ranked(lengths, n, rank, room):
    """The value of this rank, from 0, among the first n lengths."""
    room[:_CLASSES] = 0
    for i in range(n):
        room[min(lengths[i], _CLASSES - 1)] += 1
    below = 0
    for value in range(_CLASSES - 1):
        below += room[value]
        if below > rank:
            return np.int64(value)
    low, high = np.int64(_CLASSES - 1), np.int64(1) << 31
    while low < high:
        middle = (low + high) // 2
        below = 0
        for i in range(n):
            below += lengths[i] <= middle
        low, high = (low, middle) if below > rank else (middle + 1, high)
    return low


@kernel
def _step_lengths(lengths, n, room, out):
    total = squares = longest = short = 0
    for i in range(n):
        total += lengths[i]
        squares += np.int64(lengths[i]) * lengths[i]
        longest = max(longest, lengths[i])
        short += lengths[i] <= SHORT
    spread = np.float64(n) * np.float64(squares) - np.float64(total) * np.float64(total)
    middle = _ranked(lengths, n, (n - 1) // 2, room)
    out[0] = np.float32(log1p(total / n))
    out[1] = np.float32(log1p(np.float64(middle)))
    out[2] = np.float32(log1p(sqrt(max(spread, 0.0)) / n))
    out[3] = np.float32(log1p(np.float64(longest)))
    out[4] = np.float32(short / n)


@kernel
def _motifs(step, n, out):
    """Shares of three neighbouring steps a, b, c, of 64 places at once."""
    same = alternating = rechecked = tested = turning = planned = 0
    for at in range(0, n - 2, blocks.WIDTH):
        live = blocks.below(n - 2 - at)
        unlike_ab = blocks.unlike(step, at, step, at + 1)
        unlike_bc = blocks.unlike(step, at + 1, step, at + 2)
        unlike_ac = blocks.unlike(step, at, step, at + 2)
        work_b, work_c = _works(step, at + 1), _works(step, at + 2)
        turn_a, turn_c = _turns(step, at), _turns(step, at + 2)
        same += ones(live & ~(unlike_ab | unlike_bc))
        alternating += ones(live & unlike_bc & ~unlike_ac)
        rechecked += ones(_works(step, at) & _checks(step, at + 1) & work_c)
        tested += ones(turn_a & work_b & _checks(step, at + 2))
        turning += ones(turn_a & ~_turns(step, at + 1) & turn_c)
        planned += ones(_plans(step, at) & work_b & work_c)
    counts = (same, alternating, rechecked, tested, turning, planned)
    for k in range(6):
        out[k] = np.float32(counts[k] / max(n - 2, 1))
