"""The hash block of the `corpus` family: all labels of a route in 1,024 signed counts.

    ngram/setup>computation     types of 1 to 4 neighbouring steps
    node/computation/2          type of a tree node, its children (3: three or more)
    edge/setup>deduction/sequential   an edge of the tree
    path/SCCDA                  types from the root to a leaf, a letter each
    attempt/CCD                 types between two events; an event is an exploration or
                                backtracking step; nothing in between is a label, too

The kinds of labels, SHA-256 and the scale are the paper's (A.2, "Feature vector");
the bytes and the spelling are our choice: of the digest of the label in UTF-8, the
first eight bytes, big-endian, mod 1,024 give the index, the lowest bit of the ninth
gives the sign (0 → +1). Each occurrence counts. The signed counts are integers, divided
by the root of the number of labels, so their order does not matter.

Paths and attempts are as long as they are. The letters (`rules_corpus.LETTERS`) keep
them short, and a node continues the hash of its parent, so time is linear in the steps.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import sqrt

from routejax.fingerprints.family import Feature
from routejax.fingerprints.route import Route
from routejax.fingerprints.rules_corpus import LETTERS, ROLES
from routejax.fingerprints.tree import Tree

BUCKETS = 1024
LONGEST = 4  # steps of an n-gram
MANY = 3  # children of a node that are counted apart up to here

FEATURES = tuple(
    Feature(
        f"hash/{bucket:04d}",
        f"signed count of route labels whose SHA-256 is {bucket} mod {BUCKETS}, over "
        "the root of the number of labels",
    )
    for bucket in range(BUCKETS)
)

_EVENTS = ROLES.exploration | ROLES.backtracking


def route_hash(route: Route) -> list[float]:
    """The 1,024 values of one route, all zero for no steps."""
    if not route.types:
        return [0.0] * BUCKETS
    short = Counter([*_ngrams(route.types), *_nodes(route.types, route.tree)])
    long = [*_path_places(route.types, route.tree), *_attempts(route.types)]
    signed = [0] * BUCKETS
    for label, times in short.items():
        index, sign = _place(label)
        signed[index] += sign * times
    for index, sign in long:
        signed[index] += sign
    root = sqrt(short.total() + len(long))
    return [value / root for value in signed]


def place(digest: bytes) -> tuple[int, int]:
    """Index and sign that a digest stands for."""
    sign = -1 if digest[8] & 1 else 1
    return int.from_bytes(digest[:8], "big") % BUCKETS, sign


@cache
def _place(label: str) -> tuple[int, int]:
    """The place of one of the short labels; there are about 11,500."""
    return place(hashlib.sha256(label.encode()).digest())


def _ngrams(types: Sequence[str]) -> list[str]:
    return [
        "ngram/" + ">".join(types[i : i + n])
        for n in range(1, LONGEST + 1)
        for i in range(len(types) - n + 1)
    ]


def _nodes(types: Sequence[str], tree: Tree) -> list[str]:
    """The labels of all nodes and edges."""
    nodes = [
        f"node/{kind}/{min(children, MANY)}"
        for kind, children in zip(types, tree.children(), strict=True)
    ]
    edges = [
        f"edge/{types[parent]}>{kind}/{edge}"
        for kind, parent, edge in zip(types, tree.parents, tree.edges, strict=True)
        if edge
    ]
    return [*nodes, *edges]


def _path_places(types: Sequence[str], tree: Tree) -> list[tuple[int, int]]:
    """The places of the paths to all leaves."""
    found, states = [], []
    above = hashlib.sha256(b"path/")
    rows = zip(types, tree.parents, tree.children(), strict=True)
    for i, (kind, parent, children) in enumerate(rows):
        state = (states[parent] if i else above).copy()
        state.update(LETTERS[kind].encode())
        states.append(state if children else None)
        if not children:
            found.append(place(state.digest()))
    return found


def _attempts(types: Sequence[str]) -> list[tuple[int, int]]:
    """The places of the attempts; none with fewer than two events."""
    letters = "".join(LETTERS[kind] for kind in types)
    events = [i for i, kind in enumerate(types) if kind in _EVENTS]
    return [
        place(hashlib.sha256(f"attempt/{letters[a + 1 : b]}".encode()).digest())
        for a, b in pairwise(events)
    ]
