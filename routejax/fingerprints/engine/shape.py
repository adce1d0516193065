"""The topology block of a row: `topology.topology`, on arrays."""

from __future__ import annotations

from math import log, log1p
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, UInt8, UInt32

from routejax.fingerprints.engine import blocks, sha256, walk
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.topology import PATHS, SHAPE, TIER_SUMMARIES

_SUMMARIES, _SHAPE = len(TIER_SUMMARIES), len(SHAPE)
assert (_SUMMARIES, _SHAPE, PATHS) == (6, 12, 40)


class Hashes(NamedTuple):
    """How a path is spelled, `before` and a letter per type, and what is hashed.

    `spelled` has a letter per step. `line` is a label, and `chain[k]` follows from its
    first k blocks. `tally` is room for the hash block.
    """

    before: UInt8[np.ndarray, "bytes"]
    letters: UInt8[np.ndarray, "types"]
    spelled: UInt8[np.ndarray, "capacity+64"]
    line: UInt8[np.ndarray, "capacity+bytes+64"]
    chain: UInt32[np.ndarray, "blocks 8"]
    tally: Int32[np.ndarray, "2048"]
    lanes: sha256.Lanes
    digests: sha256.Digests


def room(capacity: int, letters: str, before: str) -> Hashes:
    chain = np.empty((capacity // 64 + 3, 8), np.uint32)
    chain[0] = sha256.START
    assert len(before) < 64
    return Hashes(
        np.frombuffer(before.encode(), np.uint8).copy(),
        np.frombuffer(letters.encode(), np.uint8).copy(),
        np.empty(capacity + 64, np.uint8),
        np.empty(capacity + 192, np.uint8),
        chain,
        np.empty(2048, np.int32),
        sha256.lanes(),
        sha256.digests(2 * capacity),
    )


_leaf = blocks.mask_with(walk.LEAF)


@kernel
def path_hashes(kinds, n, nodes, h):
    """Hashes the path to each leaf. The digests, the first that a row has, are there
    after `sha256.finish_all`.

    All parents are on the path to the cursor (`walk.grow`). So the steps behind a leaf
    up to the next one are a path, below a part of the path before, which is still in
    `line` when their letters are put there.
    """
    depths, letters, spelled, line = nodes.depth, h.letters, h.spelled, h.line
    for i in range(n):
        spelled[i] = letters[kinds[i]]
    start = h.before.size
    for k in range(start):
        line[k] = h.before[k]
    labels = first = np.int64(0)
    for at in range(0, n, blocks.WIDTH):
        leaves = _leaf(nodes.form, at) & blocks.below(n - at)
        while leaves != 0:
            behind = at + np.int64(blocks.lowest(leaves)) + 1
            to = start + np.int64(depths[first])
            for k in range(0, behind - first, blocks.WIDTH):
                blocks.copy(spelled, first + k, line, to + k)
            length = to + behind - first
            for k in range(to >> 6, length >> 6):
                next_chain(h.chain, k, line)
            sha256.add(h.digests, h.lanes, labels, h.chain[length >> 6], line, length)
            labels += 1
            first = behind
            leaves &= leaves - np.uint64(1)


@kernel
def next_chain(chain, k, line):
    """chain[k + 1], from the one before and the block that ends there."""
    for word in range(8):
        chain[k + 1, word] = chain[k, word]
    sha256.compress(chain[k + 1], line, 64 * k)


@kernel
def topology(n, nodes, cursor, h, out):
    """Writes the 3T² + 3T + 3(T + 6) + 40 + 12 features of T types to `out`; n > 0.

    The first digests of `h`, one per leaf, are those of the paths.
    """
    types = nodes.edge_of.size
    moves, shares = 3 * types * types, 3 * types
    at = moves + shares
    _moves(nodes.hangs, nodes.edge_of, out[:moves], out[moves:at])
    for tier in range(3):
        _tier(n, nodes, tier, out[at : at + types + 6])
        at += types + 6
    paths, leaves = out[at : at + PATHS], nodes.sums[walk.LEAVES]
    for k in range(leaves):
        paths[np.int64(h.digests.number[k] % np.uint64(PATHS))] += 1
    for k in range(PATHS):
        paths[k] = np.float32(np.float64(paths[k]) / leaves)
    _shape(n, nodes, cursor, out[at + PATHS : at + PATHS + 12])


@kernel
def _moves(hangs, edge_of, moves, shares):
    """Per edge type and parent type the shares of the children's types; per parent
    type the shares of the types of edges."""
    types = edge_of.size
    for kind in range(types):
        row = hangs[walk.WIDE * kind : walk.WIDE * kind + types]
        whole = 0
        for k in range(types):
            whole += row[k]
        if whole == 0:
            continue
        for edge in range(3):
            total = 0
            for k in range(types):
                total += row[k] * (edge_of[k] == edge)
            if total:
                shares[3 * kind + edge] = np.float32(total / whole)
                to = (types * edge + kind) * types
                for k in range(types):
                    times = row[k] * (edge_of[k] == edge)
                    moves[to + k] = np.float32(times / total)


@kernel
def _tier(n, nodes, tier, out):
    """Of a third of the depth range: types, and six summaries."""
    counts, found = nodes.tiers[tier], nodes.kinds[walk.IN_SHALLOW + tier]
    types, size = nodes.edge_of.size, counts[0]
    if size == 0:
        return
    total = 0.0
    for k in range(types):
        if found[k]:
            share = found[k] / size
            out[k] = np.float32(share)
            total += share * log(share)
    out[types] = np.float32(size / n)
    for k in range(1, 5):
        out[types + k] = np.float32(counts[k] / size)
    out[types + 5] = np.float32(abs(total) / log(types))


@kernel
def _shape(n, nodes, cursor, out):
    """Size and form of the tree."""
    sums = nodes.sums
    deepest, leaves = sums[walk.DEEPEST], sums[walk.LEAVES]
    scale, edges = max(deepest, 1), max(n - 1, 1)
    out[0] = np.float32(log1p(np.float64(n)))
    out[1] = np.float32(log1p(np.float64(deepest)))
    out[2] = np.float32(log1p(np.float64(leaves)))
    out[3] = np.float32(log1p(np.float64(sums[walk.WIDEST])))
    out[4] = np.float32(log1p(np.float64(sums[walk.MOST])))
    out[5] = np.float32(leaves / n)
    out[6] = np.float32(sums[walk.FORKS] / n)
    out[7] = np.float32(sums[walk.DEPTHS] / n / scale)
    out[8] = np.float32(sums[walk.LEAF_DEPTHS] / leaves / scale)
    out[9] = np.float32(sums[walk.BRANCHED] / edges)
    out[10] = np.float32(sums[walk.RETURNS] / edges)
    out[11] = np.float32((nodes.depth[cursor] + 1) / n)
