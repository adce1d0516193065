"""Paths of the `rlve` family, spelled in words, hashed: `topology`, on arrays.

A path is written into one line, each step behind its parent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64, UInt8, UInt32

from routejax.fingerprints.engine import blocks, sha256, shape
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.topology import in_words


class Paths(NamedTuple):
    """How a type is spelled behind another: `names` has a block per type, of which the
    first `sizes[k]` bytes count.

    `line` is a path, and `ends[i]` where step i ends in it; `chain[k]` follows from the
    first k blocks of the path. The first of `digests`, one per leaf, are the paths'.
    """

    names: UInt8[np.ndarray, "types*64"]
    sizes: Int64[np.ndarray, "types"]
    ends: Int32[np.ndarray, "capacity"]
    line: UInt8[np.ndarray, "bytes"]
    chain: UInt32[np.ndarray, "blocks 8"]
    lanes: sha256.Lanes
    digests: sha256.Digests


def room(capacity: int, vocabulary: tuple[str, ...]) -> Paths:
    spelling = in_words(vocabulary)
    assert not spelling.before
    assert len(spelling.separator) == 1  # is left out before the root
    spelled = [
        f"{spelling.separator}{spelling.names[kind]}".encode() for kind in vocabulary
    ]
    longest = max(map(len, spelled))
    assert longest <= blocks.WIDTH
    names = b"".join(name.ljust(blocks.WIDTH, b"\0") for name in spelled)
    chain = np.empty((capacity * longest // 64 + 2, 8), np.uint32)
    chain[0] = sha256.START
    return Paths(
        np.frombuffer(names, np.uint8).copy(),
        np.array([len(name) for name in spelled], np.int64),
        np.empty(capacity, np.int32),
        np.empty(capacity * longest + 2 * blocks.WIDTH, np.uint8),
        chain,
        sha256.lanes(),
        sha256.digests(capacity),
    )


@kernel
def path_hashes(step, n, nodes, p):
    """Hashes the path to each leaf; the digests are there after `sha256.finish_all`.

    All parents are on the path to the cursor (`walk.grow`), so that the line holds the
    path to the parent of the next step.
    """
    parents, children, ends, sizes = nodes.parent, nodes.children, p.ends, p.sizes
    path = p.line[1:]  # no separator before the root
    labels = ready = np.int64(0)  # blocks of the path whose chain is known
    for i in range(n):
        kind = np.int64(step[i])
        before = np.int64(ends[parents[i]]) if i else np.int64(0)
        blocks.copy(p.names, blocks.WIDTH * kind, p.line, before)
        ends[i] = before + sizes[kind]
        ready = min(ready, max(before - 1, 0) >> 6)
        if children[i] == 0:
            length = np.int64(ends[i]) - 1
            for k in range(ready, length >> 6):
                shape.next_chain(p.chain, k, path)
            ready = length >> 6
            sha256.add(p.digests, p.lanes, labels, p.chain[ready], path, length)
            labels += 1
