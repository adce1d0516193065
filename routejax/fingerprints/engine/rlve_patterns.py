"""The pattern block of the `rlve` family: `patterns_rlve.patterns`, on arrays.

As in `corpus_patterns`, most ask for counts and first and last places, and which type
follows which is asked of 64 steps at once.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine import blocks, walk
from routejax.fingerprints.engine.corpus_patterns import _circular, _loops
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.engine.rlve_answers import conflicts
from routejax.fingerprints.engine.rlve_types import (
    ANSWER,
    BIT,
    BRANCH,
    CALCULATE,
    CHECK,
    CORRECT,
    DECOMPOSE,
    DESCRIBE,
    EVALUATE,
    HYPOTHESIZE,
    INFER,
    MANIPULATE,
    PARSE,
    TRACK_PROGRESS,
    answers,
    checks,
    corrects,
    verifies,
)
from routejax.fingerprints.marks_rlve import PROCEDURES
from routejax.fingerprints.patterns_rlve import PATTERNS

assert (len(PATTERNS), len(PROCEDURES)) == (64, 13)
_PROCEDURES = np.array([BIT[name] for name in PROCEDURES])
_CONFIRMED, _CONSTRAINT = np.uint64(BIT["confirmed"]), np.uint64(BIT["constraint"])
_SUBSTITUTED, _EXAMPLE = BIT["substituted back"], BIT["example"]
_CASE, _ASSUMED, _CONTRADICTED = BIT["case"], BIT["assumed"], BIT["contradicted"]
_TRIED, _ASKED, _RESTARTED = BIT["tried"], BIT["asked"], BIT["restarted"]
_DOUBT, _NUMBERED, _FIRST, _LAST = (
    BIT[name] for name in ("doubt", "numbered", "first", "last")
)
_SUMMED, _BACKWARDS, _GIVEN_UP = BIT["summed up"], BIT["backwards"], BIT["given up"]

_calculates = blocks.mask_of([CALCULATE])
_supposes = blocks.mask_of([HYPOTHESIZE])
_explores = blocks.mask_of([BRANCH, HYPOTHESIZE])
_TURNS = (BRANCH, HYPOTHESIZE, CORRECT)
_turns = blocks.mask_of(_TURNS)
_ends = blocks.mask_of([*_TURNS, CHECK, EVALUATE, INFER, ANSWER])
_ONE, _TOP = np.uint64(1), np.uint64(63)


@kernel
def patterns(text, steps, n, nodes, f, verified, group, before, out):
    """Writes the 64 indicators to `out`; n > 0.

    `f` are the facts about the marks (`corpus_patterns.gather`), `verified` counts the
    stretches with verification, `group` and `before` come from `said.number`.
    """
    _direct(n, nodes, out[:7])
    _verification(steps.marks, nodes, f, out[7:18])
    _exploration(nodes, f, out[18:26])
    _backtracking(n, nodes, f.count, out[26:34])
    _decomposition(n, nodes.kinds, f, out[34:42])
    out[39] = verified >= 2
    for k in range(13):
        times = f.count[_PROCEDURES[k]]
        out[42 + k] = times > 0 and 20 * times >= n
    out[55] = _circular(text, steps, n, before)
    out[56] = _loops(text, steps, n, group, before)
    _sequences(nodes.step, n, out)
    out[58] = _abandons(n, nodes.step)
    out[59] = conflicts(text, steps, n, nodes.step)
    _failure(n, nodes.kinds, f.count, out[60:64])


@kernel
def _sequences(step, n, out):
    """The nine patterns that ask which type follows which. Behind the last step stand
    types that nothing asks for (`walk.NO_STEP`)."""
    answered = asked = refuted = computed = burst = np.uint64(0)
    tested = revised = swung = np.uint64(0)
    for at in range(0, n, blocks.WIDTH):
        check, verified, answer = (
            checks(step, at),
            verifies(step, at),
            answers(step, at),
        )
        next_verified, third_verified = verifies(step, at + 1), verifies(step, at + 2)
        next_two = next_verified | third_verified
        check_soon = checks(step, at + 1) | checks(step, at + 2) | checks(step, at + 3)
        answer_soon = answers(step, at + 1) | answers(step, at + 2)
        answered |= check & (answer_soon | answers(step, at + 3))
        asked |= answer & check_soon
        refuted |= check & (corrects(step, at + 1) | corrects(step, at + 2))
        computed |= check & _calculates(step, at + 1)
        burst |= verified & next_verified & third_verified
        tested |= _supposes(step, at) & check_soon
        revised |= corrects(step, at) & (next_two | verifies(step, at + 3))
        other = blocks.unlike(step, at, step, at + 2)
        for k in range(1, 4):
            other |= blocks.unlike(step, at + k, step, at + k + 2)
        swung |= blocks.unlike(step, at, step, at + 1) & ~other
    out[9], out[10] = answered != 0, asked != 0
    out[12], out[13] = refuted != 0, computed != 0
    out[17], out[21] = burst != 0, tested != 0
    out[32], out[57] = revised != 0, swung != 0


@kernel
def _direct(n, nodes, out):
    kinds, sums = nodes.kinds, nodes.sums
    counts, first = kinds[walk.COUNT], kinds[walk.FIRST]
    turns = counts[CHECK] + counts[EVALUATE] + sums[walk.BRANCHED] + sums[walk.RETURNS]
    out[0] = counts[ANSWER] > 0 and turns == 0
    out[1] = n >= 3 and sums[walk.MOST] == 1
    out[2] = 2 * (counts[CALCULATE] + counts[MANIPULATE]) >= n
    out[3] = 4 * counts[INFER] >= n
    out[4] = min(first[PARSE], first[DESCRIBE]) < min(n, 2)
    out[5] = nodes.step[n - 1] == ANSWER
    out[6] = counts[ANSWER] >= 2


@kernel
def _verification(marks, nodes, f, out):
    times = nodes.kinds[walk.COUNT, CHECK]
    out[0] = times > 0
    out[1] = times >= 4
    out[4] = _confirms(marks, nodes.step, f)
    out[7] = f.count[_SUBSTITUTED] > 0
    out[8] = f.count[_EXAMPLE] > 0
    out[9] = _constrains(marks, nodes.step, f)


@kernel
def _confirms(marks, step, f):
    """Whether a confirmation comes at most two steps after a check."""
    if f.count[_CONFIRMED] > 0:
        for i in range(max(f.first[_CONFIRMED], 1), f.last[_CONFIRMED] + 1):
            if (marks[i] >> _CONFIRMED) & _ONE:
                if step[i - 1] == CHECK or step[max(i - 2, 0)] == CHECK:
                    return True
    return False


@kernel
def _constrains(marks, step, f):
    """Whether a verification step speaks of conditions."""
    if f.count[_CONSTRAINT] > 0:
        for i in range(f.first[_CONSTRAINT], f.last[_CONSTRAINT] + 1):
            if (marks[i] >> _CONSTRAINT) & _ONE:
                if step[i] == CHECK or step[i] == EVALUATE:
                    return True
    return False


@kernel
def _exploration(nodes, f, out):
    kinds, sums, count = nodes.kinds, nodes.sums, f.count
    out[0] = sums[walk.BRANCHED] > 0
    out[1] = sums[walk.SIBLINGS] > 0
    out[2] = count[_CASE] >= 2
    out[4] = 0 <= f.first[_ASSUMED] < f.last[_CONTRADICTED]
    out[5] = count[_TRIED] >= 3
    last = kinds[walk.LAST]  # a place behind an answer is not the root's
    out[6] = kinds[walk.FIRST, ANSWER] < max(last[BRANCH], last[HYPOTHESIZE])
    out[7] = count[_ASKED] >= 2


@kernel
def _backtracking(n, nodes, count, out):
    sums = nodes.sums
    out[0] = sums[walk.RETURNS] > 0
    out[1] = sums[walk.RETURNS] >= 3
    out[2] = sums[walk.REVISITS] > 0
    out[3] = sums[walk.TO_ROOT] > 0
    out[4] = count[_RESTARTED] > 0
    out[5] = 3 * nodes.kinds[walk.LAST, CORRECT] >= 2 * n
    out[7] = count[_DOUBT] >= 3


@kernel
def _decomposition(n, kinds, f, out):
    out[0] = kinds[walk.COUNT, DECOMPOSE] > 0
    out[1] = kinds[walk.FIRST, DECOMPOSE] < min(n, 3)
    out[2] = f.count[_NUMBERED] >= 3
    out[3] = 0 <= f.first[_FIRST] < f.last[_LAST]
    out[4] = kinds[walk.COUNT, TRACK_PROGRESS] >= 2
    out[6] = f.count[_SUMMED] > 0
    out[7] = f.count[_BACKWARDS] > 0


@kernel
def _failure(n, kinds, count, out):
    first, last = kinds[walk.FIRST], kinds[walk.LAST]
    out[0] = max(last[CHECK], last[EVALUATE]) < last[CORRECT]
    out[1] = first[ANSWER] == n
    out[2] = 2 * (n - 1 - first[ANSWER]) > n
    out[3] = count[_GIVEN_UP] > 0


@kernel
def _abandons(n, step):
    """Between an exploration edge and the next turn stand steps, but no result: as in
    `corpus_patterns`, a carry comes out where the run of other steps ends."""
    before = carry = np.uint64(0)  # an exploration right before, a run that goes on
    for at in range(0, n, blocks.WIDTH):
        explored, ended, turns = _explores(step, at), _ends(step, at), _turns(step, at)
        if at == 0:  # the root hangs by no edge
            explored &= ~_ONE
        begun = (explored << _ONE | before) & ~ended
        total = ~ended + begun
        run_on = total < begun
        total += carry
        run_on |= total < carry
        if total & ended & turns != 0:
            return True
        before, carry = explored >> _TOP, np.uint64(run_on)
    return False
