"""The reasoning tree: a cursor walks the typed steps and attaches each one.

The rules are the paper's (A.2); which types of a family explore, verify and go back is
its `Roles`. Our choices: the first step is the root, whatever its type, and opens no
branch. The branch point is the node that an exploration step leaves from. It stays
open, for further alternatives and for corrections, until the route moves on: at a step
of a closing type (for `rlve` an answer or the next subgoal). So at most one branch
point is open, and it is always an ancestor of the cursor.

Left out: what the tree is measured by (`topology`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from routejax.fingerprints.label import Roles

EDGES = ("sequential", "backtracking", "exploration")


class Tree(NamedTuple):
    """One node per step, in order.

    `parents[i]` is the index of the parent, `edges[i]` a name of `EDGES`; the root has
    -1 and "". `depths[i]` counts edges from the root. `cursor` is where the walk ended,
    -1 for no steps.
    """

    parents: tuple[int, ...]
    edges: tuple[str, ...]
    depths: tuple[int, ...]
    cursor: int

    def children(self) -> list[int]:
        """How many children each node has."""
        counts = [0] * len(self.parents)
        for parent in self.parents[1:]:
            counts[parent] += 1
        return counts


def grow(types: Iterable[str], roles: Roles) -> Tree:
    """The tree of a type sequence (paper A.2, "Graph and tree").

    * An exploration step hangs by an exploration edge from the open branch point, so
      that alternatives are siblings; with none open, from the cursor, which becomes
      the open branch point. The cursor moves to it.
    * A verification step is a leaf of the cursor; the cursor stays.
    * A backtracking step hangs by a backtracking edge from the open branch point, else
      from the cursor's grandparent, else from the root. The cursor moves to it.
    * Any other step is a child of the cursor, which moves to it; one of a closing type
      closes the open branch point.
    """
    parents: list[int] = []
    edges: list[str] = []
    depths: list[int] = []
    cursor = point = -1
    for i, kind in enumerate(types):
        parent, edge = cursor, "sequential" if i else ""
        if i and kind in roles.exploration:
            parent = point = cursor if point < 0 else point
            edge = "exploration"
        elif i and kind in roles.backtracking:
            above = parents[cursor]
            higher = parents[above] if above >= 0 else -1
            parent, edge = point if point >= 0 else max(higher, 0), "backtracking"
        elif kind in roles.closing:
            point = -1
        if not i or kind not in roles.verification:
            cursor = i
        parents.append(parent)
        edges.append(edge)
        depths.append(depths[parent] + 1 if i else 0)
    return Tree(tuple(parents), tuple(edges), tuple(depths), cursor)
