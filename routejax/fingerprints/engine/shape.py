"""The topology block of a row: `topology.topology`, on arrays."""

from __future__ import annotations

from math import log, log1p
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, UInt8, UInt32
from numba import njit

from routejax.fingerprints.engine import sha256
from routejax.fingerprints.topology import PATHS, SHAPE, TIER_SUMMARIES

_SUMMARIES, _SHAPE = len(TIER_SUMMARIES), len(SHAPE)
assert (_SUMMARIES, _SHAPE, PATHS) == (6, 12, 40)


class Hashes(NamedTuple):
    """How a path is spelled, `before` and a letter per type, and room to hash paths.

    Where a node completes a block of 64 bytes, `chain[slot]` keeps what follows from
    all blocks so far; `slot` is a node's nearest such ancestor's, or 0 for the start.
    Such nodes lie 64 levels apart or beside each other, so that each inner one has a
    child of its own that is none: at most half of the nodes need a slot.
    """

    before: UInt8[np.ndarray, "bytes"]
    letters: UInt8[np.ndarray, "types"]
    chain: UInt32[np.ndarray, "slots 8"]
    slot: Int32[np.ndarray, "capacity"]
    block: UInt8[np.ndarray, "64"]
    end: UInt32[np.ndarray, "8"]
    words: UInt32[np.ndarray, "64"]


def room(capacity: int, letters: str, before: str) -> Hashes:
    assert len(before) < 64
    return Hashes(
        np.frombuffer(before.encode(), np.uint8).copy(),
        np.frombuffer(letters.encode(), np.uint8).copy(),
        np.empty((capacity // 2 + 2, 8), np.uint32),
        np.empty(capacity, np.int32),
        np.empty(64, np.uint8),
        np.empty(8, np.uint32),
        np.empty(64, np.uint32),
    )


@njit(nogil=True, cache=True, error_model="numpy")
def _fill(block, i, last, kinds, parents, letters, before):
    """The block that ends with node i at byte `last`: its ancestors' letters, and what
    stands before a path if the root is among them."""
    while last >= 0:
        if i < 0:
            block[last] = before[last]
        else:
            block[last] = letters[kinds[i]]
            i = parents[i]
        last -= 1


@njit(nogil=True, cache=True, error_model="numpy")
def path_hashes(kinds, n, nodes, h, numbers, ninths):
    """For each leaf the first 64 bits and byte 8 of the digest of its path."""
    parents, depths, children = nodes.parent, nodes.depth, nodes.children
    before, letters, chain, slot = h.before, h.letters, h.chain, h.slot
    block, end, words = h.block, h.end, h.words
    for k in range(8):
        chain[0, k] = sha256.START[k]
    slots = 1
    for i in range(n):
        parent = parents[i]
        at = slot[parent] if i > 0 else 0
        length = before.size + depths[i] + 1
        leaf = children[i] == 0
        if leaf and i > 0 and children[i - 1] == 0 and parents[i - 1] == parent:
            if kinds[i] == kinds[i - 1]:
                numbers[i], ninths[i] = numbers[i - 1], ninths[i - 1]
                continue
        if not leaf and length & 63 != 0:
            slot[i] = at
            continue
        _fill(block, i, (length - 1) & 63, kinds, parents, letters, before)
        for k in range(8):
            end[k] = chain[at, k]
        if length & 63 == 0:
            sha256.compress(end, block, words)
        if leaf:
            numbers[i], ninths[i] = sha256.finish(end, block, length, words)
        else:
            for k in range(8):
                chain[slots, k] = end[k]
            slot[i] = slots
            slots += 1


@njit(nogil=True, cache=True, error_model="numpy")
def topology(kinds, n, nodes, cursor, types, numbers, counts, out):
    """Writes the 3T² + 3T + 3(T + 6) + 40 + 12 features to `out`; n > 0.

    `numbers` are the leaves' path hashes; `counts` is room for 3T² integers.
    """
    parents, edges, depths = nodes.parent, nodes.edge, nodes.depth
    children = nodes.children
    _moves(kinds, n, parents, edges, types, counts, out)
    at = 3 * types * types
    _edge_shares(types, counts, out[at : at + 3 * types])
    at += 3 * types
    _tiers(
        kinds, n, edges, depths, children, types, counts, out[at : at + 3 * (types + 6)]
    )
    at += 3 * (types + 6)
    leaves = 0
    paths = out[at : at + 40]
    for i in range(n):
        if children[i] == 0:
            leaves += 1
            paths[np.int64(numbers[i] % np.uint64(40))] += 1
    for k in range(40):
        if paths[k] != 0:
            paths[k] = np.float32(np.float64(paths[k]) / leaves)
    _shape(
        n, edges, depths, children, nodes.width, cursor, leaves, out[at + 40 : at + 52]
    )


@njit(nogil=True, cache=True, error_model="numpy")
def _moves(kinds, n, parents, edges, types, counts, out):
    """Counts per edge type, parent type, child type, and their shares in each row."""
    counts[: 3 * types * types] = 0
    for i in range(1, n):
        counts[(edges[i] * types + kinds[parents[i]]) * types + kinds[i]] += 1
    for row in range(3 * types):
        total = 0
        for k in range(row * types, (row + 1) * types):
            total += counts[k]
        if total:
            for k in range(row * types, (row + 1) * types):
                if counts[k]:
                    out[k] = np.float32(counts[k] / total)


@njit(nogil=True, cache=True, error_model="numpy")
def _edge_shares(types, counts, out):
    """Per parent type the share of each type of edge."""
    for kind in range(types):
        for edge in range(3):
            row = (edge * types + kind) * types
            total = 0
            for k in range(row, row + types):
                total += counts[k]
            out[3 * kind + edge] = total
        whole = np.float64(out[3 * kind]) + out[3 * kind + 1] + out[3 * kind + 2]
        if whole:
            for edge in range(3):
                share = np.float64(out[3 * kind + edge]) / whole
                out[3 * kind + edge] = np.float32(share)


@njit(nogil=True, cache=True, error_model="numpy")
def _tiers(kinds, n, edges, depths, children, types, counts, out):
    """Per third of the depth range: types, and six summaries."""
    deepest = 0
    for i in range(n):
        deepest = max(deepest, depths[i])
    width = types + 5  # counts of types, nodes, leaves, forks, explored, backtracked
    counts[: 3 * width] = 0
    for i in range(n):
        row = 3 * depths[i] // (deepest + 1) * width
        counts[row + kinds[i]] += 1
        counts[row + types] += 1
        counts[row + types + 1] += children[i] == 0
        counts[row + types + 2] += children[i] >= 2
        counts[row + types + 3] += edges[i] == 2
        counts[row + types + 4] += edges[i] == 1
    for tier in range(3):
        row, to = tier * width, tier * (types + 6)
        size = counts[row + types]
        if size == 0:
            continue
        total = 0.0
        for k in range(types):
            if counts[row + k]:
                share = counts[row + k] / size
                out[to + k] = np.float32(share)
                total += share * log(share)
        out[to + types] = np.float32(size / n)
        for k in range(1, 5):
            out[to + types + k] = np.float32(counts[row + types + k] / size)
        out[to + types + 5] = np.float32(abs(total) / log(types))


@njit(nogil=True, cache=True, error_model="numpy")
def _width(n, depths, width, deepest):
    """The most nodes at one depth."""
    width[: deepest + 1] = 0
    widest = 0
    for i in range(n):
        width[depths[i]] += 1
        widest = max(widest, width[depths[i]])
    return widest


@njit(nogil=True, cache=True, error_model="numpy")
def _shape(n, edges, depths, children, width, cursor, leaves, out):
    """Size and form of the tree."""
    deepest = forks = most = explored = backtracked = total = leaf_depths = 0
    for i in range(n):
        depth, below = depths[i], children[i]
        deepest, most = max(deepest, depth), max(most, below)
        total += depth
        forks += below >= 2
        explored += edges[i] == 2
        backtracked += edges[i] == 1
        if below == 0:
            leaf_depths += depth
    scale, edges = max(deepest, 1), max(n - 1, 1)
    out[0] = np.float32(log1p(np.float64(n)))
    out[1] = np.float32(log1p(np.float64(deepest)))
    out[2] = np.float32(log1p(np.float64(leaves)))
    out[3] = np.float32(log1p(np.float64(_width(n, depths, width, deepest))))
    out[4] = np.float32(log1p(np.float64(most)))
    out[5] = np.float32(leaves / n)
    out[6] = np.float32(forks / n)
    out[7] = np.float32(total / n / scale)
    out[8] = np.float32(leaf_depths / leaves / scale)
    out[9] = np.float32(explored / edges)
    out[10] = np.float32(backtracked / edges)
    out[11] = np.float32((depths[cursor] + 1) / n)
