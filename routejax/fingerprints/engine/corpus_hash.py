"""The hash block of the `corpus` family: `route_hash.route_hash`, on arrays.

Short labels are hashed once, when the tables are made; paths and attempts as they grow.
"""

from __future__ import annotations

import hashlib
from itertools import product
from math import sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Int16, UInt8
from numba import njit

from routejax.fingerprints.engine import sha256
from routejax.fingerprints.route_hash import BUCKETS, LONGEST, MANY, place
from routejax.fingerprints.rules_corpus import LETTERS, ROLES, VOCABULARY
from routejax.fingerprints.tree import EDGES

T = len(VOCABULARY)
assert (T, LONGEST, MANY, BUCKETS) == (10, 4, 3, 1024)
# Where runs of 0, 1, … 4 types begin in a table of all of them, shortest first.
_FIRST_OF = np.array([0, 1, 11, 111, 1111])
_ATTEMPT = np.frombuffer(b"attempt/", np.uint8).copy()


class Places(NamedTuple):
    """Place of every short label, 2 index + (1 where it counts down), and which types
    are events.

    `ngrams` holds the runs of one type, then of two, …; a run a, b is number 10 a + b.
    `attempts` holds the same runs behind the empty one. `nodes` is [type, children] and
    `edges` [edge, parent, child], both flat.
    """

    ngrams: Int16[np.ndarray, "11110"]
    nodes: Int16[np.ndarray, "40"]
    edges: Int16[np.ndarray, "300"]
    attempts: Int16[np.ndarray, "11111"]
    event: UInt8[np.ndarray, "10"]


def _coded(labels: list[str]) -> Int16[np.ndarray, "labels"]:
    found = [place(hashlib.sha256(label.encode()).digest()) for label in labels]
    return np.array([2 * index + (sign < 0) for index, sign in found], np.int16)


def places() -> Places:
    runs = [r for n in range(1, LONGEST + 1) for r in product(VOCABULARY, repeat=n)]
    return Places(
        _coded(["ngram/" + ">".join(run) for run in runs]),
        _coded([f"node/{kind}/{k}" for kind in VOCABULARY for k in range(MANY + 1)]),
        _coded(
            [f"edge/{a}>{b}/{e}" for e in EDGES for a in VOCABULARY for b in VOCABULARY]
        ),
        _coded(["attempt/" + "".join(LETTERS[k] for k in run) for run in [(), *runs]]),
        np.array(
            [k in ROLES.exploration | ROLES.backtracking for k in VOCABULARY], np.uint8
        ),
    )


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _add(signed, code):
    signed[code >> 1] += 1 - 2 * (code & 1)


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _add_hash(signed, number, ninth):
    index = np.int64(number & np.uint64(1023))
    signed[index] += 1 - 2 * np.int64(ninth & 1)


@njit(nogil=True, cache=True, error_model="numpy")
def route_hash(kinds, n, nodes, p, numbers, ninths, hashes, signed, out):
    """Writes the 1,024 features to `out`; `signed` is room for as many integers.

    `numbers` and `ninths` are the leaves' path hashes (`shape.path_hashes`).
    """
    parents, edges, children = nodes.parent, nodes.edge, nodes.children
    node_places, edge_places = p.nodes, p.edges
    signed[:] = 0
    labels = _ngrams(kinds, n, p.ngrams, signed)
    for i in range(n):
        _add(signed, node_places[4 * kinds[i] + min(children[i], 3)])
        if i > 0:
            above = kinds[parents[i]]
            _add(signed, edge_places[(10 * edges[i] + above) * 10 + kinds[i]])
        if children[i] == 0:
            _add_hash(signed, numbers[i], ninths[i])
            labels += 1
    labels += 2 * n - 1 + _attempts(kinds, n, p.event, p.attempts, hashes, signed)
    root = sqrt(np.float64(labels))
    for k in range(1024):
        out[k] = np.float32(signed[k] / root)


@njit(nogil=True, cache=True, error_model="numpy")
def _ngrams(kinds, n, table, signed):
    """Adds the runs of one to four steps; how many there are."""
    run = 0
    for i in range(n):
        run = (run * 10 + kinds[i]) % 10000
        _add(signed, table[kinds[i]])
        if i >= 1:
            _add(signed, table[10 + run % 100])
        if i >= 2:
            _add(signed, table[110 + run % 1000])
        if i >= 3:
            _add(signed, table[1110 + run])
    return n + max(n - 1, 0) + max(n - 2, 0) + max(n - 3, 0)


@njit(nogil=True, cache=True, error_model="numpy")
def _attempts(kinds, n, event, table, h, signed):
    """Adds the types between neighbouring events; how many there are. Attempts of up to
    four steps are in the table, longer ones are hashed."""
    attempts = 0
    begin = np.int64(-1)  # of the attempt that is open
    run = 0
    for i in range(n):
        if event[kinds[i]] == 0:
            run = (run * 10 + kinds[i]) % 10000
            continue
        length = i - begin
        if begin >= 0:
            attempts += 1
            if length <= 4:
                _add(signed, table[_FIRST_OF[length] + run])
            else:
                number, ninth = _hashed(kinds, begin, i, h)
                _add_hash(signed, number, ninth)
        begin, run = i + 1, 0
    return attempts


@njit(nogil=True, cache=True, error_model="numpy")
def _hashed(kinds, begin, end, h):
    """The hash of the attempt of the steps from `begin` to before `end`."""
    chain, block, letters, words = h.end, h.block, h.letters, h.words
    for k in range(8):
        chain[k] = sha256.START[k]
    length = sha256.extend(chain, block, 0, _ATTEMPT, 0, 8, words)
    for i in range(begin, end):
        a = kinds[i]
        length = sha256.extend(chain, block, length, letters, a, a + 1, words)
    return sha256.finish(chain, block, length, words)
