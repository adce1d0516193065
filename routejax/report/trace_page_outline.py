"""The tree of a trace laid out: one row per step in order, one lane per detour.

A step hangs below its parent. The child by which the route went on from a node stays
in the lane of its parent, every earlier child opens the next lane to the right, so
that a straight run is a straight line however long it is. The line in the first lane
is the trunk: the way from the first step to where the walk ended.

Steps stand in the order in which a walk over the tree meets them, so lanes to the
left of a row are always those of its ancestors, and no two lines cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from routejax.fingerprints import Explained
from routejax.report.traces import kind_of


class Row(NamedTuple):
    """Where one step stands.

    Attributes:
        depth: edges from the root.
        lane: detours left behind on the way here; a check has that of its parent.
        check: whether it is a verification step without children, drawn small.
        onward: the child by which the route went on, -1 for none.
        children: how many.
        trunk: whether the way to where the walk ended leads through it.
        detour: whether its edge leaves the lane of its parent.
    """

    depth: int
    lane: int
    check: bool
    onward: int
    children: int
    trunk: bool
    detour: bool


def outline(steps: Sequence[Explained]) -> list[Row]:
    """One row per step, in order."""
    children = [0] * len(steps)
    for step in steps:
        if step.parent >= 0:
            children[step.parent] += 1
    checks = [
        step.parent >= 0 and not count and kind_of(step.type) == "verification"
        for step, count in zip(steps, children, strict=True)
    ]
    onward = [-1] * len(steps)
    for i, step in enumerate(steps):
        if step.parent >= 0 and not checks[i]:
            onward[step.parent] = i
    rows: list[Row] = []
    for i, step in enumerate(steps):
        up = rows[step.parent] if step.parent >= 0 else None
        ahead = up is None or up.onward == i
        rows.append(
            Row(
                depth=up.depth + 1 if up else 0,
                lane=(up.lane if up else 0) + (not ahead and not checks[i]),
                check=checks[i],
                onward=onward[i],
                children=children[i],
                trunk=ahead and (up is None or up.trunk),
                detour=not ahead and not checks[i],
            )
        )
    return rows


class Extent(NamedTuple):
    """A tree in numbers; `explored` and `returned` count edges, `checks` leaves."""

    steps: int
    depth: int
    leaves: int
    types: int
    checks: int
    explored: int
    returned: int


def extent(steps: Sequence[Explained], rows: Sequence[Row]) -> Extent:
    edges = [step.edge for step in steps]
    return Extent(
        steps=len(steps),
        depth=max((row.depth for row in rows), default=0),
        leaves=sum(not row.children for row in rows),
        types=len({step.type for step in steps}),
        checks=sum(row.check for row in rows),
        explored=edges.count("exploration"),
        returned=edges.count("backtracking"),
    )
