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

from routejax.fingerprints.engine import blocks, sha256, walk
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.route_hash import BUCKETS, LONGEST, MANY, place
from routejax.fingerprints.rules_corpus import LETTERS, ROLES, VOCABULARY
from routejax.fingerprints.tree import EDGES

T = len(VOCABULARY)
assert (T, LONGEST, MANY, BUCKETS) == (10, 4, 3, 1024)
# Where runs of 0, 1, … 4 types begin in a table of all of them, shortest first.
_FIRST_OF = np.array([0, 1, 11, 111, 1111])
_ATTEMPT = np.frombuffer(b"attempt/", np.uint8).copy()


class Places(NamedTuple):
    """Place of every short label, index + (1,024 where it counts down), and which
    types are events.

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
    return np.array([index + BUCKETS * (sign < 0) for index, sign in found], np.int16)


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


@kernel
def attempts(kinds, n, event, h, labels):
    """How many labels there are with the attempts of five steps or more, which are
    hashed behind `labels` others. Their digests are there after
    `sha256.finish_all`."""
    begin = np.int64(-1)  # of the attempt that is open
    for i in range(n):
        if event[kinds[i]]:
            if begin >= 0 and i - begin > LONGEST:
                _hash_attempt(begin, i, h, labels)
                labels += 1
            begin = i + 1
    return labels


@kernel
def _hash_attempt(begin, end, h, label):
    """Hashes the attempt of the steps from `begin` to before `end`."""
    line, chain, start = h.line, h.lanes.own, _ATTEMPT.size
    for k in range(start):
        line[k] = _ATTEMPT[k]
    for k in range(0, end - begin, blocks.WIDTH):
        blocks.copy(h.spelled, begin + k, line, start + k)
    length = start + end - begin
    for k in range(8):
        chain[k] = sha256.START[k]
    for k in range(length >> 6):
        sha256.compress(chain, line, 64 * k)
    sha256.add(h.digests, h.lanes, label, chain, line, length)


@kernel
def route_hash(kinds, n, nodes, p, h, labels, out):
    """Writes the 1,024 features to `out`; `h.tally` holds what counts up, and behind it
    what counts down.

    The first `labels` digests are those of paths and of longer attempts.
    """
    tally = h.tally
    tally[:] = 0
    total = labels + _ngrams(kinds, n, nodes.kinds[walk.COUNT], p.ngrams, tally)
    total += _tree(kinds, n, nodes, p.nodes, p.edges, tally)
    number, ninth = h.digests.number, h.digests.ninth
    for k in range(labels):
        index = np.int64(number[k] & np.uint64(BUCKETS - 1))
        index += BUCKETS * np.int64(ninth[k] & 1)
        tally[index] += 1
    total += _short_attempts(kinds, n, p.event, p.attempts, tally)
    root = sqrt(np.float64(total))
    for k in range(BUCKETS):
        out[k] = np.float32((tally[k] - tally[BUCKETS + k]) / root)


@kernel
def _ngrams(kinds, n, counts, table, tally):
    """Adds the runs of one to four steps; how many there are."""
    for kind in range(T):
        tally[table[kind]] += counts[kind]
    two = three = np.int64(0)  # the runs that end at the step before
    one = np.int64(kinds[0])
    for i in range(1, n):
        kind = np.int64(kinds[i])
        four, three, two = 10 * three + kind, 10 * two + kind, 10 * one + kind
        one = kind
        tally[table[10 + two]] += 1
        if i >= 2:
            tally[table[110 + three]] += 1
        if i >= 3:
            tally[table[1110 + four]] += 1
    return n + max(n - 1, 0) + max(n - 2, 0) + max(n - 3, 0)


@kernel
def _tree(kinds, n, nodes, node_places, edge_places, tally):
    """Adds nodes and edges; how many there are."""
    parents, children, form = nodes.parent, nodes.children, nodes.form
    tally[node_places[4 * np.int64(kinds[0]) + min(children[0], 3)]] += 1
    for i in range(1, n):
        kind, above = np.int64(kinds[i]), np.int64(kinds[parents[i]])
        edge = 2 * ((form[i] & walk.EXPLORED) != 0)
        edge += (form[i] & walk.BACKTRACKED) != 0
        tally[node_places[4 * kind + min(children[i], 3)]] += 1
        tally[edge_places[(10 * edge + above) * 10 + kind]] += 1
    return 2 * n - 1


@kernel
def _short_attempts(kinds, n, event, table, tally):
    """Adds the attempts of up to four steps; how many there are."""
    found = 0
    begin = np.int64(-1)  # of the attempt that is open
    for i in range(n):
        if event[kinds[i]]:
            length = i - begin
            if begin >= 0 and length <= LONGEST:
                run = 0
                for k in range(begin, i):
                    run = 10 * run + kinds[k]
                tally[table[_FIRST_OF[length] + run]] += 1
                found += 1
            begin = i + 1
    return found
