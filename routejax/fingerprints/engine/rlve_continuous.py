"""The continuous block of the `rlve` family: `continuous_rlve`, on arrays."""

from __future__ import annotations

from math import log1p, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64

from routejax.fingerprints.continuous_rlve import FEATURES, REVISION, SELECTED, SUBGOAL
from routejax.fingerprints.engine import blocks, rlve_lengths, walk
from routejax.fingerprints.engine.kernel import inlined, kernel
from routejax.fingerprints.engine.rlve_types import (
    ANSWER,
    BIT,
    CHECK,
    CORRECT,
    DECOMPOSE,
    EVALUATE,
    INFER,
    NUMBER,
    TRACK_PROGRESS,
    T,
    answers,
    checks,
    corrects,
    verifies,
)
from routejax.fingerprints.engine.walk import ones

assert (T, len(SELECTED), len(REVISION), len(SUBGOAL)) == (18, 36, 12, 9)
assert len(FEATURES) == 159
assert all(a != b for a, b in SELECTED)
_FROM = np.array([NUMBER[a] for a, _ in SELECTED])
_TO = np.array([NUMBER[b] for _, b in SELECTED])
_DOUBT, _NUMBERED, _ORDINAL = BIT["doubt"], BIT["numbered"], BIT["ordinal"]
_ONE = np.uint64(1)

# What a stretch of a subgoal holds, by type: a result, verification.
_HOLDS = np.zeros(T, np.uint8)
_HOLDS[[INFER, ANSWER, TRACK_PROGRESS]] = 1
_HOLDS[[CHECK, EVALUATE]] = 2


class Room(NamedTuple):
    """Room for counts per type, and for the lengths of steps."""

    words: Int64[np.ndarray, "18"]
    early: Int64[np.ndarray, "18"]
    leaving: Int64[np.ndarray, "18"]
    lengths: rlve_lengths.Lengths


def room() -> Room:
    words, early, leaving = np.empty((3, T), np.int64)
    return Room(words, early, leaving, rlve_lengths.lengths())


@kernel
def continuous(steps, n, nodes, characters, marked, room, out):
    """Writes the 159 features to `out`, n > 0; how many stretches hold verification.

    `characters` are those of all steps, `marked` counts the steps with each mark.
    """
    _by_type(nodes.step, steps.words, n, nodes.kinds, room, out[:90])
    _selected(nodes.follows, room.leaving, out[90:126])
    rlve_lengths.step_lengths(steps.words, n, characters, room.lengths, out[126:138])
    _revision(nodes.step, n, nodes.kinds, marked[_DOUBT], out[138:150])
    verified = _subgoals(nodes.step, n, nodes.kinds, out[150:157])
    out[157] = np.float32(marked[_NUMBERED] / n)
    out[158] = np.float32(marked[_ORDINAL] / n)
    return verified


@kernel
def _by_type(step, lengths, n, kinds, room, out):
    """Frequencies, shares in each third of the steps, mean lengths."""
    words, early = room.words, room.early
    counts, late = kinds[walk.COUNT], kinds[walk.LATE]
    words[:], early[:] = 0, 0
    for i in range(n):
        words[step[i]] += lengths[i]
    early_to, late_from = (n + 2) // 3, (2 * n + 2) // 3
    for i in range(early_to):
        early[step[i]] += 1
    between, last = max(late_from - early_to, 1), max(n - late_from, 1)
    for k in range(T):
        middle = counts[k] - early[k] - late[k]
        out[k] = np.float32(counts[k] / n)
        out[T + 3 * k] = np.float32(early[k] / early_to)
        out[T + 3 * k + 1] = np.float32(middle / between)
        out[T + 3 * k + 2] = np.float32(late[k] / last)
        out[4 * T + k] = np.float32(log1p(words[k] / max(counts[k], 1)))


@kernel
def _selected(follows, leaving, out):
    """Rates in the graph of moves from one type to another."""
    for a in range(T):
        total = 0
        for b in range(T):
            total += follows[walk.WIDE * a + b] * (a != b)
        leaving[a] = max(total, 1)
    for k in range(36):
        a = _FROM[k]
        out[k] = np.float32(follows[walk.WIDE * a + _TO[k]] / leaving[a])


@kernel
def _revision(step, n, kinds, doubts, out):
    counts, first, last = kinds[walk.COUNT], kinds[walk.FIRST], kinds[walk.LAST]
    check, correct, answer = counts[CHECK], counts[CORRECT], counts[ANSWER]
    verified = check + counts[EVALUATE]
    longest, before, after, refuted, again = _near(step, n, first[ANSWER])
    gap = (last[CHECK] - first[CHECK]) / max(check - 1, 1) if check else 0.0
    out[0] = np.float32(doubts / n)
    out[1] = np.float32(log1p(np.float64(check)))
    out[2] = np.float32(first[CHECK] / n)  # n without one
    out[3] = np.float32((last[CHECK] + 1) / n)  # -1 without one
    out[4] = np.float32(gap / n)
    out[5] = np.float32(longest / n)
    out[6] = np.float32(before / max(answer, 1))
    out[7] = np.float32(after / max(verified, 1))
    out[8] = np.float32(refuted / max(check, 1))
    out[9] = np.float32(log1p(np.float64(correct)))
    out[10] = np.float32(first[CORRECT] / n)
    out[11] = np.float32(again / max(correct, 1))


@kernel
def _near(step, n, answered):
    """Of verification the longest run, and the steps after place `answered`; then the
    answers with it among the 3 steps before, the checks with a correction among the 2
    steps after, the corrections with verification among the 3 steps after."""
    longest = before = after = refuted = again = np.int64(0)
    run, held = np.int64(0), np.uint64(0)  # what the block before hands on
    for at in range(0, n, blocks.WIDTH):
        here = verifies(step, at)
        soon = verifies(step, at + 1) | verifies(step, at + 2) | verifies(step, at + 3)
        recent = _shifted(here, held, 1) | _shifted(here, held, 2)
        recent |= _shifted(here, held, 3)
        before += ones(answers(step, at) & recent)
        after += ones(here & ~blocks.below(max(answered + 1 - at, 0)))
        wrong = corrects(step, at + 1) | corrects(step, at + 2)
        refuted += ones(checks(step, at) & wrong)
        again += ones(corrects(step, at) & soon)
        joined = run + np.int64(blocks.lowest(~here))
        longest = max(longest, joined, _longest_run(here))
        run = joined if ~here == 0 else np.int64(blocks.leading(~here))
        held = here
    return longest, before, after, refuted, again


@inlined
def _shifted(here, before, places):
    """The mask moved to later places; those of the block before come in."""
    return here << np.uint64(places) | before >> np.uint64(64 - places)


@inlined
def _longest_run(mask):
    length = np.int64(0)
    while mask != 0:
        mask &= mask >> _ONE
        length += 1
    return length


@kernel
def _subgoals(step, n, kinds, out):
    """Writes 7 features; how many stretches hold verification."""
    count, begun = kinds[walk.COUNT, DECOMPOSE], kinds[walk.FIRST, DECOMPOSE]
    out[1] = np.float32(begun / n)  # n without one
    if count == 0:
        return np.int64(0)
    covered = n - begun
    squares = concluded = verified = np.int64(0)
    held = np.uint8(0)
    for i in range(begun + 1, n + 1):
        if i == n or step[i] == DECOMPOSE:
            squares += (i - begun) * (i - begun)
            concluded += held & 1
            verified += held >> 1
            begun, held = i, np.uint8(0)
        else:
            held |= _HOLDS[step[i]]
    out[0] = np.float32(log1p(np.float64(count)))
    out[2] = np.float32((kinds[walk.LAST, DECOMPOSE] + 1) / n)
    out[3] = np.float32(covered / count / n)
    out[4] = np.float32(sqrt(rlve_lengths.spread(count, squares, covered)) / covered)
    out[5] = np.float32(concluded / count)
    out[6] = np.float32(verified / count)
    return verified
