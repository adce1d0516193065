"""The topology block: how the step types sit in the tree. |T| = 18 gives 1,150.

    transitions   3·|T|²       parent type → child type, per type of edge
    edge types    3·|T|        per parent type, the share of each type of edge
    depth tiers   3·(|T| + 6)  per third of the depth range: types and six summaries
    paths         40           root-to-leaf type paths, hashed
    shape         12           size and form of the tree

The parts and their sizes are the paper's (A.5); which six and which twelve summaries,
and that the shape counts enter as log(1 + count), because sizes of traces have a heavy
tail, are our choices. Only types and tree enter: no words, no lengths of steps.

The type of an edge follows from the type of its child (`tree`), so of the three
transitions of a pair of types two are zero in every tree; the layout keeps them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from math import log, log1p
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num

from routejax.fingerprints.family import Feature
from routejax.fingerprints.tree import EDGES, Tree

TIERS = ("shallow", "middle", "deep")
PATHS = 40

TIER_SUMMARIES = {
    "nodes": "share of all nodes that lie in the tier",
    "leaves": "share of the tier's nodes without children",
    "forks": "share of the tier's nodes with two children or more",
    "explored": "share of the tier's nodes entered by an exploration edge",
    "backtracked": "share of the tier's nodes entered by a backtracking edge",
    "entropy": "entropy of the tier's types over that of even types",
}
SHAPE = {
    "log_nodes": "log(1 + nodes)",
    "log_depth": "log(1 + depth of the deepest node)",
    "log_leaves": "log(1 + leaves)",
    "log_width": "log(1 + most nodes at one depth)",
    "log_children": "log(1 + most children of one node)",
    "leaves": "share of nodes without children",
    "forks": "share of nodes with two children or more",
    "mean_depth": "mean depth of the nodes over the depth of the deepest",
    "mean_leaf_depth": "mean depth of the leaves over the depth of the deepest node",
    "explored": "share of exploration edges among the edges",
    "backtracked": "share of backtracking edges among the edges",
    "trunk": "share of nodes on the path from the root to where the walk ended",
}


class Spelling(NamedTuple):
    """How a path is written before it is hashed: `before`, then a name per type with
    `separator` between them."""

    names: Mapping[str, str]
    before: str = ""
    separator: str = ""


def in_words(vocabulary: Sequence[str]) -> Spelling:
    """Paths such as "parse>infer>check"."""
    return Spelling({kind: kind for kind in vocabulary}, separator=">")


def topology_features(vocabulary: Sequence[str]) -> tuple[Feature, ...]:
    """The features of the block, in the order of `topology`."""
    transitions = [
        Feature(
            f"transition/{edge}/{parent}->{child}",
            f"share of {child} among the children of {parent} by {edge} edges",
        )
        for edge in EDGES
        for parent in vocabulary
        for child in vocabulary
    ]
    shares = [
        Feature(
            f"edge/{parent}/{edge}", f"share of {edge} edges leaving {parent} nodes"
        )
        for parent in vocabulary
        for edge in EDGES
    ]
    tiers = [
        Feature(f"tier/{tier}/{name}", f"{tier} third of the depth range: {meaning}")
        for tier in TIERS
        for name, meaning in [
            *((kind, f"share of {kind} among its nodes") for kind in vocabulary),
            *TIER_SUMMARIES.items(),
        ]
    ]
    paths = [
        Feature(
            f"path/{bucket:02d}",
            f"share of root-to-leaf type paths whose hash is {bucket} mod {PATHS}",
        )
        for bucket in range(PATHS)
    ]
    shape = [Feature(f"shape/{name}", meaning) for name, meaning in SHAPE.items()]
    return (*transitions, *shares, *tiers, *paths, *shape)


def topology(
    types: Sequence[str],
    tree: Tree,
    vocabulary: Sequence[str],
    spelling: Spelling | None = None,
) -> Float[np.ndarray, "D"]:
    """The block for one tree, float64, all zero for no steps; paths `in_words` if no
    spelling is given.

    Transitions and edge types are normalised within a parent type (paper A.5); a parent
    type without such edges is a row of zeros, and an empty tier is zero.
    """
    size = len(vocabulary)
    if not types:
        return np.zeros(
            3 * size * size + 3 * size + 3 * (size + 6) + PATHS + len(SHAPE)
        )
    number = {name: i for i, name in enumerate(vocabulary)}
    kinds = np.array([number[kind] for kind in types])
    parents = np.array(tree.parents)
    edges = np.array([EDGES.index(edge) if edge else -1 for edge in tree.edges])
    depths = np.array(tree.depths)
    children = np.bincount(parents[1:], minlength=len(kinds))
    moves = _moves(kinds, parents, edges, size)
    return np.concatenate(
        [
            row_normalised(moves).ravel(),
            row_normalised(moves.sum(axis=2).T).ravel(),
            _tiers(kinds, edges, depths, children, size).ravel(),
            _paths(types, tree.parents, children, spelling or in_words(vocabulary)),
            _shape(edges, depths, children, tree),
        ]
    )


def row_normalised(
    counts: Num[np.ndarray, "*rows types"],
) -> Float[np.ndarray, "*rows types"]:
    """Counts over the sum of their row; a row of zeros stays zero."""
    return counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)


def _moves(
    kinds: Int[np.ndarray, "steps"],
    parents: Int[np.ndarray, "steps"],
    edges: Int[np.ndarray, "steps"],
    size: int,
) -> Float[np.ndarray, "3 types types"]:
    """Number of edges by type of edge, type of parent, type of child."""
    cells = (edges[1:] * size + kinds[parents[1:]]) * size + kinds[1:]
    counts = np.bincount(cells, minlength=3 * size * size)
    return counts.reshape(3, size, size).astype(np.float64)


def _tiers(
    kinds: Int[np.ndarray, "steps"],
    edges: Int[np.ndarray, "steps"],
    depths: Int[np.ndarray, "steps"],
    children: Int[np.ndarray, "steps"],
    size: int,
) -> Float[np.ndarray, "3 columns"]:
    """Types and summaries per tier; depth d of m is in tier ⌊3d / (m + 1)⌋."""
    tiers = 3 * depths // (depths.max() + 1)
    counts = np.bincount(tiers * size + kinds, minlength=3 * size).reshape(3, size)
    shares = row_normalised(counts)
    nodes = counts.sum(axis=1)
    flags = (children == 0, children >= 2, edges == 2, edges == 1)
    columns = [
        np.bincount(tiers[flag], minlength=3) / np.maximum(nodes, 1) for flag in flags
    ]
    entropies = [_evenness(row) for row in shares.tolist()]
    summaries = np.stack([nodes / len(kinds), *columns, entropies], axis=1)
    return np.concatenate([shares, summaries], axis=1)


def _evenness(shares: Sequence[float]) -> float:
    """Entropy of shares over that of even ones, summed in index order."""
    total = 0.0
    for share in shares:
        if share > 0:
            total += share * log(share)
    return abs(total) / log(len(shares))


def _paths(
    types: Sequence[str],
    parents: Sequence[int],
    children: Int[np.ndarray, "steps"],
    spelling: Spelling,
) -> Float[np.ndarray, "40"]:
    """Leaves per bucket over leaves: SHA-256 of the path in UTF-8, its first eight
    bytes, big-endian, mod 40 (our choice, as for the hashes of other blocks).

    Each node continues the hash of its parent, so that time is linear in the nodes.
    """
    counts = np.zeros(PATHS)
    start = hashlib.sha256(spelling.before.encode())
    states = []
    inner = children.tolist()
    for i, (kind, parent) in enumerate(zip(types, parents, strict=True)):
        state = states[parent].copy() if i else start.copy()
        between = spelling.separator if i else ""
        state.update(f"{between}{spelling.names[kind]}".encode())
        states.append(state if inner[i] else None)
        if not inner[i]:
            counts[int.from_bytes(state.digest()[:8], "big") % PATHS] += 1
    return counts / counts.sum()


def _shape(
    edges: Int[np.ndarray, "steps"],
    depths: Int[np.ndarray, "steps"],
    children: Int[np.ndarray, "steps"],
    tree: Tree,
) -> Float[np.ndarray, "12"]:
    nodes, deepest = len(depths), max(int(depths.max()), 1)
    leaves = children == 0
    counts = [nodes, depths.max(), leaves.sum(), np.bincount(depths).max()]
    return np.array(
        [
            *(log1p(count) for count in (*counts, children.max())),
            leaves.mean(),
            (children >= 2).mean(),
            depths.mean() / deepest,
            depths[leaves].mean() / deepest,
            (edges == 2).sum() / max(nodes - 1, 1),
            (edges == 1).sum() / max(nodes - 1, 1),
            (depths[tree.cursor] + 1) / nodes,
        ]
    )
