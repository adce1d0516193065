"""The dense block of the `corpus` family: `dense.dense`, on arrays."""

from __future__ import annotations

from math import log, log1p

import numpy as np
from jaxtyping import Int64
from numba import njit

from routejax.fingerprints.dense import CLASS_NAMES, FEATURES, GROUPS, MARKERS
from routejax.fingerprints.engine.texts import LINES, PARAGRAPHS, WORDS

assert (len(FEATURES), len(CLASS_NAMES), len(GROUPS), len(MARKERS)) == (83, 24, 8, 2)
_GROUP_OF = np.full(24, -1, np.int64)
for _number, _names in enumerate(GROUPS.values()):
    _GROUP_OF[[CLASS_NAMES.index(name) for name in _names]] = _number


def markers(marks: tuple[str, ...]) -> Int64[np.ndarray, "2"]:
    """The bits of the marks whose places are features."""
    return np.array([marks.index(name) for name in MARKERS], np.int64)


@njit(nogil=True, cache=True, error_model="numpy")
def entropy(counts, size):
    """Entropy of the first `size` counts over that of even ones (`dense.entropy`)."""
    total, weighted, most = 0, 0.0, 0
    for k in range(size):
        times = counts[k]
        total += times
        most = max(most, times)
        if times:
            weighted += times * log(np.float64(times))
    if most == total:
        return 0.0
    even = log(np.float64(size))
    return max(log(np.float64(total)) - weighted / total, 0.0) / even


@njit(nogil=True, cache=True, error_model="numpy")
def _characters(counts):
    total = 0
    for k in range(24):
        total += counts[k]
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def dense(steps, n, nodes, counts, bits, tally, out):
    """Writes the 83 features to `out`; n > 0.

    `counts` are those of prompt, reasoning and answer (`texts`); `tally` is room for
    100 integers.
    """
    _sizes(counts, n, out[:18])
    for text in range(3):
        size = max(_characters(counts[text]), 1)
        groups = np.zeros(8, np.int64)
        for k in range(24):
            if _GROUP_OF[k] >= 0:
                groups[_GROUP_OF[k]] += counts[text, k]
        for k in range(8):
            out[18 + 8 * text + k] = np.float32(groups[k] / size)
        out[42 + text] = np.float32(entropy(counts[text], 24))
    _route_entropies(steps.kind, n, nodes.edge, tally, out[45:49])
    _places(steps.kind, n, out[49:79])
    marks = steps.marks
    for k in range(2):
        first = last = np.int64(-1)
        bit = np.uint64(1) << np.uint64(bits[k])
        for i in range(n):
            if marks[i] & bit:
                first = i if first < 0 else first
                last = i
        out[79 + 2 * k] = np.float32(first / n if first >= 0 else 1.0)
        out[80 + 2 * k] = np.float32((last + 1) / n)


@njit(nogil=True, cache=True, error_model="numpy")
def _sizes(counts, n, out):
    everything = 0
    for text in range(3):
        characters, words = _characters(counts[text]), counts[text, WORDS]
        everything += characters
        at = 4 * text
        out[at] = np.float32(log1p(np.float64(characters)))
        out[at + 1] = np.float32(log1p(np.float64(words)))
        out[at + 2] = np.float32(log1p(np.float64(counts[text, LINES])))
        out[at + 3] = np.float32(log1p(np.float64(counts[text, PARAGRAPHS])))
        out[12 + text] = np.float32(log1p(characters / max(words, 1)))
    out[15] = np.float32(_characters(counts[1]) / everything)
    out[16] = np.float32(_characters(counts[2]) / everything)
    out[17] = np.float32(log1p(n / counts[1, PARAGRAPHS]))


@njit(nogil=True, cache=True, error_model="numpy")
def _route_entropies(kinds, n, edges, tally, out):
    tally[:10] = 0
    for i in range(n):
        tally[kinds[i]] += 1
    out[0] = np.float32(entropy(tally, 10))
    tally[:100] = 0
    for i in range(1, n):
        tally[10 * kinds[i - 1] + kinds[i]] += 1
    out[1] = np.float32(entropy(tally, 100))
    tally[:10] = 0
    for i in range((2 * n + 2) // 3, n):
        tally[kinds[i]] += 1
    out[2] = np.float32(entropy(tally, 10))
    tally[:3] = 0
    for i in range(1, n):
        tally[edges[i]] += 1
    out[3] = np.float32(entropy(tally, 3))


@njit(nogil=True, cache=True, error_model="numpy")
def _places(kinds, n, out):
    """First, last and mean place of each type."""
    first = np.full(10, -1, np.int64)
    last, total, count = (
        np.zeros(10, np.int64),
        np.zeros(10, np.int64),
        np.zeros(10, np.int64),
    )
    for i in range(n):
        kind = kinds[i]
        if first[kind] < 0:
            first[kind] = i
        last[kind] = i
        total[kind] += i
        count[kind] += 1
    for kind in range(10):
        at = 3 * kind
        if count[kind] == 0:
            out[at], out[at + 1], out[at + 2] = 1.0, 0.0, 0.5
            continue
        out[at] = np.float32(first[kind] / n)
        out[at + 1] = np.float32((last[kind] + 1) / n)
        mean = (2 * total[kind] + count[kind]) / (2 * count[kind] * n)
        out[at + 2] = np.float32(mean)
