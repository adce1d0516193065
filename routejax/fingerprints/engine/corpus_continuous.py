"""The continuous block of the `corpus` family: `continuous_corpus`, on arrays."""

from __future__ import annotations

from math import log1p, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, UInt64
from numba import njit

from routejax.fingerprints.continuous_corpus import BEHAVIOURS, FEATURES, SHORT
from routejax.fingerprints.rules_corpus import VOCABULARY

T = len(VOCABULARY)
assert (T, len(FEATURES), len(BEHAVIOURS)) == (10, 137, 6)


class Behaves(NamedTuple):
    """Per behaviour its type, or -1, and the marks that count as well, as bits."""

    kind: Int64[np.ndarray, "6"]
    marks: UInt64[np.ndarray, "6"]


def behaves(marks: tuple[str, ...]) -> Behaves:
    rows = BEHAVIOURS.values()
    return Behaves(
        np.array([VOCABULARY.index(r.type) if r.type else -1 for r in rows], np.int64),
        np.array([sum(1 << marks.index(m) for m in r.marks) for r in rows], np.uint64),
    )


_SETUP, _COMPUTATION, _DEDUCTION = 0, 1, 2
_VERIFICATION, _BACKTRACKING, _EXPLORATION, _DECOMPOSITION = 3, 4, 5, 7
assert VOCABULARY[_DECOMPOSITION] == "decomposition"
assert VOCABULARY[:6] == ("setup", "computation", "deduction", "verification",
                          "backtracking", "exploration")  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def continuous(steps, n, nodes, b, lengths, weights, out):
    """Writes the 137 features to `out`; n > 0.

    `lengths` are the words of each step and are sorted by it; `weights` is room for
    100 integers.
    """
    kinds = steps.kind
    weights[:] = 0
    counts = np.zeros(10, np.int64)
    counts[kinds[0]] = 1
    for i in range(1, n):
        counts[kinds[i]] += 1
        if kinds[i] != kinds[i - 1]:
            weights[10 * kinds[i - 1] + kinds[i]] += 1
    for kind in range(10):
        out[kind] = np.float32(counts[kind] / n)
        leaving = 0
        for k in range(10 * kind, 10 * kind + 10):
            leaving += weights[k]
        if leaving:
            for k in range(10 * kind, 10 * kind + 10):
                out[10 + k] = np.float32(weights[k] / leaving)
    _behaviours(kinds, steps.marks, n, b.kind, b.marks, out[110:116])
    _graph(counts, n, weights, out[116:122])
    _step_lengths(lengths, n, out[122:127])
    _motifs(kinds, n, out[127:133])
    _tree_shape(kinds, n, nodes, out[133:137])


@njit(nogil=True, cache=True, error_model="numpy")
def _behaviours(kinds, marks, n, kind_of, marks_of, out):
    for k in range(6):
        count, wanted, bits = 0, kind_of[k], marks_of[k]
        for i in range(n):
            count += (kinds[i] == wanted) | ((marks[i] & bits) != 0)
        out[k] = np.float32(log1p(np.float64(count)))


@njit(nogil=True, cache=True, error_model="numpy")
def _graph(counts, n, weights, out):
    present = moves = mutual = total = hub = 0
    reach = np.zeros(10, np.int64)  # a bit per type that can be reached
    for a in range(10):
        present += counts[a] > 0
        entering = 0
        for b in range(10):
            entering += weights[10 * b + a]
            if weights[10 * a + b] > 0:
                moves += 1
                mutual += weights[10 * b + a] > 0
                reach[a] |= 1 << b
        total += entering
        hub = max(hub, entering)
    for via in range(10):
        for a in range(10):
            if reach[a] >> via & 1:
                reach[a] |= reach[via]
    cyclic = 0
    for a in range(10):
        cyclic += reach[a] >> a & 1
    out[0] = np.float32(present / 10)
    out[1] = np.float32(moves / 90)
    out[2] = np.float32(mutual / max(moves, 1))
    out[3] = np.float32(hub / max(total, 1))
    out[4] = np.float32(cyclic / present)
    out[5] = np.float32(total / max(n - 1, 1))


@njit(nogil=True, cache=True, error_model="numpy")
def _ranked(lengths, n, rank):
    """The value of this rank, from 0, among the first n lengths."""
    small = np.zeros(256, np.int64)
    for i in range(n):
        small[min(lengths[i], 255)] += 1
    below = 0
    for value in range(255):
        below += small[value]
        if below > rank:
            return np.int64(value)
    return np.int64(np.sort(lengths[:n])[rank])


@njit(nogil=True, cache=True, error_model="numpy")
def _step_lengths(lengths, n, out):
    total = squares = longest = short = 0
    for i in range(n):
        total += lengths[i]
        squares += np.int64(lengths[i]) * lengths[i]
        longest = max(longest, lengths[i])
        short += lengths[i] <= SHORT
    spread = np.float64(n) * np.float64(squares) - np.float64(total) * np.float64(total)
    out[0] = np.float32(log1p(total / n))
    out[1] = np.float32(log1p(np.float64(_ranked(lengths, n, (n - 1) // 2))))
    out[2] = np.float32(log1p(sqrt(max(spread, 0.0)) / n))
    out[3] = np.float32(log1p(np.float64(longest)))
    out[4] = np.float32(short / n)


@njit(nogil=True, cache=True, error_model="numpy")
def _motifs(kinds, n, out):
    counts = np.zeros(6, np.int64)
    for i in range(2, n):
        a, b, c = kinds[i - 2], kinds[i - 1], kinds[i]
        work_b = (b == _COMPUTATION) | (b == _DEDUCTION)
        work_c = (c == _COMPUTATION) | (c == _DEDUCTION)
        turn_a = (a == _EXPLORATION) | (a == _BACKTRACKING)
        turn_b = (b == _EXPLORATION) | (b == _BACKTRACKING)
        turn_c = (c == _EXPLORATION) | (c == _BACKTRACKING)
        checked = (a == _COMPUTATION) | (a == _DEDUCTION)
        planned = (a == _SETUP) | (a == _DECOMPOSITION)
        counts[0] += (a == b) & (b == c)
        counts[1] += (a == c) & (b != c)
        counts[2] += checked & (b == _VERIFICATION) & work_c
        counts[3] += turn_a & work_b & (c == _VERIFICATION)
        counts[4] += turn_a & (not turn_b) & turn_c
        counts[5] += planned & work_b & work_c
    for k in range(6):
        out[k] = np.float32(counts[k] / max(n - 2, 1))


@njit(nogil=True, cache=True, error_model="numpy")
def _tree_shape(kinds, n, nodes, out):
    """`nodes.width` first counts the nodes of each depth, then tells which nodes lie at
    or below an exploration edge."""
    edges, depths, parents, width = nodes.edge, nodes.depth, nodes.parent, nodes.width
    deepest = widest = below = climbed = returns = cursor = 0
    for i in range(n):
        deepest = max(deepest, depths[i])
    width[: deepest + 1] = 0
    for i in range(n):
        width[depths[i]] += 1
        widest = max(widest, width[depths[i]])
    for i in range(n):
        inside = edges[i] == 2 or (i > 0 and width[parents[i]] == 1)
        width[i] = inside
        below += inside
        if edges[i] == 1:
            returns += 1
            climbed += depths[cursor] - depths[parents[i]]
        if kinds[i] != _VERIFICATION:
            cursor = i
    out[0] = np.float32((deepest + 1) / n)
    out[1] = np.float32(widest / n)
    out[2] = np.float32(below / n)
    out[3] = np.float32(climbed / max(returns * deepest, 1))
