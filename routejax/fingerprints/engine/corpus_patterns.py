"""The pattern block of the `corpus` family: `patterns_corpus.patterns`, on arrays.

Most patterns ask how often a type or a mark occurs, where first and last, or which type
follows which; the last is asked of 64 steps at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64

from routejax.fingerprints.engine import blocks, walk
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.engine.said import at_least
from routejax.fingerprints.marks_corpus import SUBJECTS
from routejax.fingerprints.patterns_corpus import PATTERNS

assert len(PATTERNS) == 64
SETUP, COMPUTATION, DEDUCTION, VERIFICATION, BACKTRACKING = range(5)
EXPLORATION, BACKWARD, DECOMPOSITION, COMMENTARY, CONCLUSION = range(5, 10)
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
    """Per mark its count, first and last place (-1 for none); `marked` is room for the
    steps that have one."""

    marked: Int32[np.ndarray, "capacity"]
    count: Int64[np.ndarray, "64"]
    first: Int64[np.ndarray, "64"]
    last: Int64[np.ndarray, "64"]


def room(capacity: int) -> Facts:
    return Facts(np.empty(capacity, np.int32), *np.empty((3, 64), np.int64))


def asked(marks: tuple[str, ...]) -> Int64[np.ndarray, "asked"]:
    """The bit of each mark of `ASKED`."""
    return np.array([marks.index(name) for name in ASKED], np.int64)


@kernel
def gather(marks, n, f):
    """Fills the facts of a row."""
    marked, count, first, last = f.marked, f.count, f.first, f.last
    count[:], first[:], last[:] = 0, -1, -1
    held = 0
    for i in range(n):
        marked[held] = i
        held += marks[i] != 0
    for k in range(held):
        i = marked[k]
        rest = marks[i]
        while rest != 0:
            bit = np.int64(blocks.lowest(rest))
            count[bit] += 1
            if first[bit] < 0:
                first[bit] = i
            last[bit] = i
            rest &= rest - np.uint64(1)


_verifies, _concludes = blocks.mask_of([VERIFICATION]), blocks.mask_of([CONCLUSION])
_explores, _backtracks = blocks.mask_of([EXPLORATION]), blocks.mask_of([BACKTRACKING])
_computes = blocks.mask_of([COMPUTATION])
_TURNS = (EXPLORATION, BACKTRACKING)
_turns = blocks.mask_of(_TURNS)
_ends = blocks.mask_of([*_TURNS, VERIFICATION, DEDUCTION, CONCLUSION])
_ONE, _TOP = np.uint64(1), np.uint64(63)


@kernel
def _sequences(step, n):
    """Whether types follow each other: the eight patterns that ask so, in their order.
    Behind the last step stand types that nothing asks for (`walk.NO_STEP`)."""
    concluded = rechecked = refuted = computed = burst = np.uint64(0)
    tested = revised = swung = np.uint64(0)
    for at in range(0, n, blocks.WIDTH):
        checks, next_checks = _verifies(step, at), _verifies(step, at + 1)
        third_checks = _verifies(step, at + 2)
        soon = next_checks | third_checks | _verifies(step, at + 3)
        ends = _concludes(step, at)
        end_soon = _concludes(step, at + 1) | _concludes(step, at + 2)
        concluded |= checks & (end_soon | _concludes(step, at + 3))
        rechecked |= ends & soon
        refuted |= checks & (_backtracks(step, at + 1) | _backtracks(step, at + 2))
        computed |= checks & _computes(step, at + 1)
        burst |= checks & next_checks & third_checks
        tested |= _explores(step, at) & soon
        revised |= _backtracks(step, at) & soon
        other = blocks.unlike(step, at, step, at + 2)
        for k in range(1, 4):
            other |= blocks.unlike(step, at + k, step, at + k + 2)
        swung |= blocks.unlike(step, at, step, at + 1) & ~other
    return (
        concluded != 0,
        rechecked != 0,
        refuted != 0,
        computed != 0,
        burst != 0,
        tested != 0,
        revised != 0,
        swung != 0,
    )


@kernel
def patterns(text, steps, n, nodes, f, mark, group, before, out):
    """Writes the 64 indicators to `out`; n > 0.

    `mark` are the bits of `asked`; `group` and `before` come from `said.number`.
    """
    gather(steps.marks, n, f)
    (concluded, rechecked, refuted, computed, burst, tested, revised, swung) = (
        _sequences(nodes.step, n)
    )
    kinds, count = nodes.kinds, f.count
    _direct(n, nodes, count, mark, out[:7])
    checks = kinds[walk.COUNT, VERIFICATION]
    out[7] = checks > 0
    out[8] = 10 * checks >= n
    out[9], out[10] = concluded, rechecked
    out[11] = _confirms(steps.marks, nodes.step, f, mark[CONFIRMED])
    out[12], out[13] = refuted, computed
    out[14] = count[mark[SUBSTITUTED]] > 0
    out[15] = count[mark[EXAMPLE]] > 0
    out[16] = count[mark[EDGE_CASE]] > 0
    out[17] = burst
    _exploration(nodes, f, mark, out[18:27])
    out[22] = tested
    _backtracking(n, nodes, count, mark, out[27:36])
    out[34] = revised
    _decomposition(n, nodes, f, mark, out[36:43])
    for k in range(12):
        times = count[mark[20 + k]]
        out[43 + k] = times > 0 and 20 * times >= n
    out[55] = count[mark[OPTION]] >= 3
    out[56] = _circular(text, steps, n, before)
    out[57] = _loops(text, steps, n, group, before)
    out[58] = swung
    _failure(n, nodes, count, mark, out[59:64])


@kernel
def _direct(n, nodes, count, mark, out):
    kinds, sums = nodes.kinds, nodes.sums
    turns = kinds[walk.COUNT, VERIFICATION] + sums[walk.BRANCHED] + sums[walk.RETURNS]
    out[0] = kinds[walk.COUNT, CONCLUSION] > 0 and turns == 0
    out[1] = n >= 3 and sums[walk.MOST] == 1
    out[2] = 2 * kinds[walk.COUNT, COMPUTATION] >= n
    out[3] = 3 * kinds[walk.COUNT, DEDUCTION] >= n
    out[4] = kinds[walk.FIRST, SETUP] < min(n, 2)
    out[5] = nodes.step[n - 1] == CONCLUSION
    out[6] = count[mark[BOXED]] > 0


@kernel
def _confirms(marks, step, f, bit):
    """Whether a step with this mark comes at most two steps after a verification."""
    if f.count[bit] > 0:
        for i in range(max(f.first[bit], 1), f.last[bit] + 1):
            if (marks[i] >> np.uint64(bit)) & _ONE:
                if step[i - 1] == VERIFICATION or step[max(i - 2, 0)] == VERIFICATION:
                    return True
    return False


@kernel
def _exploration(nodes, f, mark, out):
    kinds, sums = nodes.kinds, nodes.sums
    out[0] = sums[walk.BRANCHED] > 0
    out[1] = sums[walk.SIBLINGS] > 0
    out[2] = f.count[mark[OTHER_WAY]] >= 2
    out[3] = f.count[mark[CASE]] >= 2
    assumed = f.first[mark[ASSUMED]]
    out[5] = 0 <= assumed < f.last[mark[CONTRADICTED]]
    out[6] = f.count[mark[TRIED]] >= 3
    explored = kinds[walk.LAST, EXPLORATION]  # a place before it is not the root's
    out[7] = kinds[walk.FIRST, CONCLUSION] < explored
    out[8] = f.count[mark[QUESTION]] >= 2


@kernel
def _backtracking(n, nodes, count, mark, out):
    kinds, sums = nodes.kinds, nodes.sums
    out[0] = sums[walk.RETURNS] > 0
    out[1] = sums[walk.RETURNS] >= 3
    out[2] = sums[walk.REVISITS] > 0
    out[3] = sums[walk.TO_ROOT] > 0
    out[4] = count[mark[RESTARTED]] > 0
    out[5] = count[mark[ERRED]] > 0
    out[6] = 3 * kinds[walk.LAST, BACKTRACKING] >= 2 * n
    out[8] = count[mark[DOUBT]] >= 3


@kernel
def _decomposition(n, nodes, f, mark, out):
    kinds = nodes.kinds
    out[0] = kinds[walk.COUNT, DECOMPOSITION] > 0
    out[1] = kinds[walk.FIRST, DECOMPOSITION] < min(n, 3)
    out[2] = f.count[mark[NUMBERED]] >= 3
    out[3] = 0 <= f.first[mark[FIRST]] < f.last[mark[LAST]]
    checks = kinds[walk.COUNT, VERIFICATION]
    if kinds[walk.COUNT, DECOMPOSITION] >= 2 and checks >= 2:
        out[4] = _checked_stretches(n, nodes.step) >= 2
    out[5] = f.count[mark[SUMMED]] > 0
    out[6] = kinds[walk.COUNT, BACKWARD] > 0


@kernel
def _checked_stretches(n, step):
    """In how many of the stretches that decompositions begin stands a verification."""
    stretches = 0
    fresh = False
    for i in range(n):
        if step[i] == DECOMPOSITION:
            fresh = True
        elif step[i] == VERIFICATION and fresh:
            stretches += 1
            fresh = False
    return stretches


@kernel
def _failure(n, nodes, count, mark, out):
    kinds = nodes.kinds
    out[0] = _abandons(n, nodes.step)
    revised = kinds[walk.LAST, BACKTRACKING]
    out[1] = revised >= 0 and kinds[walk.LAST, VERIFICATION] < revised
    concluded = kinds[walk.FIRST, CONCLUSION]
    out[2] = concluded == n
    out[3] = concluded < n and 2 * (n - 1 - concluded) > n
    out[4] = count[mark[GIVEN_UP]] > 0


@kernel
def _circular(text, steps, n, before):
    again = 0
    for i in range(n):
        again += (before[i] >= 0) & (i - before[i] >= 3)
    if again:
        for i in range(n):
            if before[i] >= 0 and i - before[i] >= 3:
                if at_least(text, steps.said[i], steps.end[i], 5):
                    return True
    return False


@kernel
def _loops(text, steps, n, group, before):
    """Whether a block of one to four steps is said three times running: so at least two
    steps say what a step at most four before them says."""
    near = 0
    for i in range(n):
        near += (before[i] >= 0) & (i - before[i] <= 4)
    if near < 2:
        return False
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


@kernel
def _abandons(n, step):
    """Between an exploration edge and the next turn stand steps, but no result.

    In each 64 steps, one is added where a run of other steps behind an exploration
    begins: the carry comes out where the run ends.
    """
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
