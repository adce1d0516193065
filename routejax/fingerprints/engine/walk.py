"""The reasoning tree of a row's steps: `tree.grow`, on arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int8, Int32
from numba import njit

from routejax.fingerprints.label import Roles
from routejax.fingerprints.tree import EDGES

SEQUENTIAL, BACKTRACKING, EXPLORATION = range(3)
assert EDGES == ("sequential", "backtracking", "exploration")
ORDINARY, EXPLORES, VERIFIES, BACKTRACKS, CLOSES = range(5)


class Nodes(NamedTuple):
    """One node per step: parent (-1 at the root), type of edge (-1 there), depth, and
    number of children; `width` is room to count the nodes of each depth."""

    parent: Int32[np.ndarray, "capacity"]
    edge: Int8[np.ndarray, "capacity"]
    depth: Int32[np.ndarray, "capacity"]
    children: Int32[np.ndarray, "capacity"]
    width: Int32[np.ndarray, "capacity"]


def room(capacity: int) -> Nodes:
    return Nodes(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int8),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
    )


def roles(by: Roles, vocabulary: tuple[str, ...]) -> Int8[np.ndarray, "types"]:
    """What each type does to the cursor, in the order in which `tree.grow` asks."""
    table = np.zeros(len(vocabulary), np.int8)
    for i, kind in enumerate(vocabulary):
        does = ((by.exploration, EXPLORES), (by.backtracking, BACKTRACKS))
        does += ((by.closing, CLOSES), (by.verification, VERIFIES))
        found = [role for kinds, role in does if kind in kinds]
        assert len(found) <= 1, f"type {kind!r} has two roles"
        table[i] = found[0] if found else ORDINARY
    return table


@njit(nogil=True, cache=True, error_model="numpy")
def grow(kinds, n, role_of, nodes):
    """Fills `nodes` for n steps; the cursor at the end, -1 for no steps."""
    parents, edges, depths = nodes.parent, nodes.edge, nodes.depth
    children = nodes.children
    cursor = point = -1
    for i in range(n):
        role = role_of[kinds[i]]
        parent, edge = cursor, SEQUENTIAL
        if i > 0 and role == EXPLORES:
            if point < 0:
                point = cursor
            parent, edge = point, EXPLORATION
        elif i > 0 and role == BACKTRACKS:
            edge = BACKTRACKING
            if point >= 0:
                parent = point
            else:
                above = parents[cursor]
                parent = max(parents[above], 0) if above >= 0 else 0
        elif role == CLOSES:
            point = -1
        if i == 0 or role != VERIFIES:
            cursor = i
        children[i] = 0
        if i == 0:
            parents[i], edges[i], depths[i] = -1, -1, 0
        else:
            parents[i], edges[i], depths[i] = parent, edge, depths[parent] + 1
            children[parent] += 1
    return cursor
