"""The dense block of the `corpus` family: `dense.dense`, on arrays."""

from __future__ import annotations

from math import log, log1p

import numpy as np
from jaxtyping import Int64

from routejax.fingerprints.dense import CLASS_NAMES, FEATURES, GROUPS, MARKERS
from routejax.fingerprints.engine import walk
from routejax.fingerprints.engine.kernel import inlined, kernel
from routejax.fingerprints.engine.texts import LINES, PARAGRAPHS, WORDS

assert (len(FEATURES), len(CLASS_NAMES), len(GROUPS), len(MARKERS)) == (83, 24, 8, 2)
_GROUP_OF = np.full(24, 8, np.int64)  # 8 for none
for _number, _names in enumerate(GROUPS.values()):
    _GROUP_OF[[CLASS_NAMES.index(name) for name in _names]] = _number


def markers(marks: tuple[str, ...]) -> Int64[np.ndarray, "2"]:
    """The bits of the marks whose places are features."""
    return np.array([marks.index(name) for name in MARKERS], np.int64)


# k·log k, and log k; larger counts are rare.
_KNOWN = 1024
_WEIGHTED = np.array([0.0, *(k * log(k) for k in range(1, _KNOWN))])
_LOG = np.array([0.0, *(log(k) for k in range(1, 101))])


@inlined
def _weighted(times):
    if times < _KNOWN:
        return _WEIGHTED[times]
    return times * log(np.float64(times))


@inlined
def _evenness(total, most, weighted, size):
    """Entropy of counts over that of `size` even ones (`dense.entropy`)."""
    if most == total:
        return 0.0
    return max(log(np.float64(total)) - weighted / total, 0.0) / _LOG[size]


@kernel
def entropy(counts, size):
    """Entropy of the first `size` counts over that of even ones (`dense.entropy`)."""
    total, weighted, most = 0, 0.0, 0
    for k in range(size):
        times = counts[k]
        total += times
        most = max(most, times)
        weighted += _weighted(times)
    return _evenness(total, most, weighted, size)


@kernel
def _characters(counts):
    total = 0
    for k in range(24):
        total += counts[k]
    return total


@kernel
def dense(n, nodes, counts, facts, bits, tally, out):
    """Writes the 83 features to `out`; n > 0.

    `counts` are those of prompt, reasoning and answer (`texts`), `facts` those of the
    marks; `tally` is room for 9 integers.
    """
    _sizes(counts, n, out[:18])
    for text in range(3):
        size = max(_characters(counts[text]), 1)
        tally[:9] = 0
        for k in range(24):
            tally[_GROUP_OF[k]] += counts[text, k]
        for k in range(8):
            out[18 + 8 * text + k] = np.float32(tally[k] / size)
        out[42 + text] = np.float32(entropy(counts[text], 24))
    _route_entropies(n, nodes, out[45:49])
    _places(n, nodes.kinds, out[49:79])
    for k in range(2):
        first, last = facts.first[bits[k]], facts.last[bits[k]]
        out[79 + 2 * k] = np.float32(first / n if first >= 0 else 1.0)
        out[80 + 2 * k] = np.float32((last + 1) / n)


@kernel
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


@kernel
def _route_entropies(n, nodes, out):
    kinds, sums, follows = nodes.kinds, nodes.sums, nodes.follows
    out[0] = np.float32(entropy(kinds[walk.COUNT], 10))
    weighted, most = 0.0, 0
    for a in range(10):
        for k in range(walk.WIDE * a, walk.WIDE * a + 10):
            most = max(most, follows[k])
            weighted += _weighted(follows[k])
    out[1] = np.float32(_evenness(n - 1, most, weighted, 100))
    out[2] = np.float32(entropy(kinds[walk.LATE], 10))
    explored, returned = sums[walk.BRANCHED], sums[walk.RETURNS]
    rest = n - 1 - explored - returned
    weighted = _weighted(rest) + _weighted(returned) + _weighted(explored)
    most = max(rest, explored, returned)
    out[3] = np.float32(_evenness(n - 1, most, weighted, 3))


@kernel
def _places(n, kinds, out):
    """First, last and mean place of each type."""
    for kind in range(10):
        at, count = 3 * kind, kinds[walk.COUNT, kind]
        if count == 0:
            out[at], out[at + 1], out[at + 2] = 1.0, 0.0, 0.5
            continue
        out[at] = np.float32(kinds[walk.FIRST, kind] / n)
        out[at + 1] = np.float32((kinds[walk.LAST, kind] + 1) / n)
        mean = (2 * kinds[walk.PLACES, kind] + count) / (2 * count * n)
        out[at + 2] = np.float32(mean)
