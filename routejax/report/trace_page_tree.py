"""The drawn tree: one row per step from top to bottom, one lane per detour.

Edges differ by form: a sequential edge is a solid line, an exploration edge a dashed
curve, a backtracking edge a dotted line with a head at the earlier step's line. A check
is a small leaf beside its step. The depth stands at the right of every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from routejax.fingerprints import Explained
from routejax.report.plane import dots
from routejax.report.svg import el, marker, number, path, words
from routejax.report.trace_page_glyphs import (
    css_of,
    outline_of,
    type_counts,
    type_name,
)
from routejax.report.trace_page_outline import Row
from routejax.report.wording import escaped, said

EDGE_NAMES = {
    "sequential": "goes on",
    "exploration": "another way",
    "backtracking": "goes back",
}

# Up to so many steps: height of a row and radius of a node. The last holds beyond.
SIZES = ((12, 36.0, 7.5), (40, 28.0, 6.5), (150, 22.0, 5.5), (0, 17.0, 4.8))
_TOP, _LEFT, _LANE, _BESIDE = 20.0, 22.0, 40.0, 18.0
_LABEL, _DEPTH = 150.0, 50.0
_WIDEST = 340.0  # of all lanes together; more lanes stand closer

Spot = tuple[float, float]


class Plan(NamedTuple):
    """Where things stand: a spot per step, the height of a row, the whole size."""

    spots: list[Spot]
    row: float
    radius: float
    width: float
    height: float


def plan(rows: Sequence[Row]) -> Plan:
    """Every step on its row; the size depends on how many there are."""
    count = len(rows)
    row, radius = next((r, s) for n, r, s in SIZES if count <= n or not n)
    lanes = max((r.lane for r in rows), default=0)
    lane = min(_LANE, _WIDEST / max(lanes, 1))
    spots = [
        (_LEFT + r.lane * lane + r.check * _BESIDE, _TOP + row * i)
        for i, r in enumerate(rows)
    ]
    width = _LEFT + lanes * lane + _BESIDE + _LABEL + _DEPTH
    return Plan(spots, row, radius, width, _TOP + row * count)


def tree(steps: Sequence[Explained], rows: Sequence[Row]) -> str:
    """The tree as a drawing with one node per step, linked to the step's text."""
    where = plan(rows)
    number_of = {kind: i for i, (kind, _) in enumerate(type_counts(steps))}
    nodes = [
        _node(i, step, row, where, number_of[step.type])
        for i, (step, row) in enumerate(zip(steps, rows, strict=True))
    ]
    edges = [
        _edge(i, step, rows, where) for i, step in enumerate(steps) if step.parent >= 0
    ]
    band = el("rect", x=0.0, width=where.width, y=0.0, height=where.row, id="row")
    return el(
        "svg",
        band,
        el("g", *edges, class_="edges"),
        el("g", *nodes, class_="nodes"),
        viewBox=f"0 0 {number(where.width)} {number(where.height)}",
        width=where.width,
        height=where.height,
        role="img",
        aria_label=f"Reasoning tree of {len(rows):,} steps",
        id="tree",
        class_="small" if where.row < 20 else None,
        data_top=_TOP,
        data_row=where.row,
    )


def overview(steps: Sequence[Explained], rows: Sequence[Row]) -> str:
    """The whole tree at a glance: dots by kind over the depth of every step."""
    lanes = max((row.lane for row in rows), default=0) + 1.5
    by_css: dict[str, list[Spot]] = {}
    for i, (step, row) in enumerate(zip(steps, rows, strict=True)):
        x = 6 + 30 * (row.lane + 0.5 * row.check) / lanes
        by_css.setdefault(css_of(step.type), []).append((x, 10.0 * i + 5))
    return el(
        "svg",
        _depths(rows, 60.0, 10.0),
        *(el("path", d=dots(spots), class_=f"dots {c}") for c, spots in by_css.items()),
        viewBox=f"0 0 60 {max(1, len(rows)) * 10}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def edge_legend(steps: Sequence[Explained], rows: Sequence[Row]) -> str:
    """How the edges differ, with their counts, and what is drawn small."""
    count = {edge: sum(s.edge == edge for s in steps) for edge in EDGE_NAMES}
    keys = [
        el("span", _sample(edge), name, el("b", f"{count[edge]:,}"), class_="key")
        for edge, name in EDGE_NAMES.items()
    ]
    trunk = el("path", d=path([(2, 8), (30, 8)]), class_="link trunk sequential")
    keys.append(el("span", _box(trunk), "the way to the end", class_="key"))
    checks = sum(row.check for row in rows)
    leaf = marker(16, 8, "diamond", "mark", radius=3.2)
    line = el("path", d=path([(2, 8), (12, 8)]), class_="link sequential")
    small = el("g", line, leaf, class_="kind-verification")
    keys.append(
        el("span", _box(small), "check, a leaf", el("b", f"{checks:,}"), class_="key")
    )
    return el("div", *keys, class_="legend edge-key")


def _node(i: int, step: Explained, row: Row, where: Plan, kind: int) -> str:
    x, y = where.spots[i]
    radius = where.radius * (0.62 if row.check else 1)
    name = type_name(step.type)
    label = el("tspan", f"{i + 1:,}", class_="no") + f" {said(name)}"
    return el(
        "a",
        marker(x, y, outline_of(step.type), "mark", radius=radius),
        el("text", label, x=x + where.radius + 7, y=y + 4),
        words(where.width - 8, y + 4, f"{row.depth:,}", "deep", anchor="end"),
        id=f"n{i + 1}",
        href=f"#s{i + 1}",
        class_=f"node {css_of(step.type)} t{kind}",
        tabindex=-1,
        data_up=step.parent + 1,
        data_depth=row.depth,
    )


def _edge(i: int, step: Explained, rows: Sequence[Row], where: Plan) -> str:
    """From the parent straight down, or out of the parent's lane at the own row."""
    (px, py), (x, y) = where.spots[step.parent], where.spots[i]
    row = rows[i]
    css = f"link {escaped(step.edge)}{' trunk' if row.trunk else ''}"
    if not row.detour and not row.check:
        return el("path", d=path([(px, py), (x, y)]), id=f"e{i + 1}", class_=css)
    if row.check and rows[step.parent].onward < 0:
        line = path([(px, py), (px, y), (x, y)])
        return el("path", d=line, id=f"e{i + 1}", class_=css)
    line = _turn(step.edge, px, x, y, where.row)
    # The lane of the parent leads on to another child; this stretch of it is drawn
    # over that only where the way to this step is shown.
    spine = el("path", d=path([(px, py), (px, y)]), class_="spine")
    head = step.edge == "backtracking"
    return (
        el("path", d=line, id=f"e{i + 1}", class_=css)
        + spine
        + (_head(px + 1.5, y, 0.18 * where.row + 1) if head else "")
    )


def _turn(edge: str, px: float, x: float, y: float, row: float) -> str:
    """An exploration leaves the line by a curve, all else straight."""
    if edge != "exploration":
        return path([(px, y), (x, y)])
    points = ((px, y - 0.8 * row), (px, y), (x, y))
    start, bend, end = (f"{number(u)} {number(v)}" for u, v in points)
    return f"M{start}Q{bend} {end}"


def _depths(rows: Sequence[Row], width: float, row: float) -> str:
    """The depth of every step as an area that grows to the left."""
    deepest = max((r.depth for r in rows), default=0) or 1
    outer = [
        (width * (1 - r.depth / deepest), row * (i + side))
        for i, r in enumerate(rows)
        for side in (0, 1)
    ]
    ends = [(width, 0.0), *outer, (width, row * len(rows))]
    return el("path", d=path(ends, closed=True), class_="depth")


def _sample(edge: str) -> str:
    line = _turn(edge, 3, 30, 9, 10)
    drawn = el("path", d=line, class_=f"link {edge}")
    return _box(drawn + (_head(4, 9, 4) if edge == "backtracking" else ""))


def _head(x: float, y: float, size: float) -> str:
    """An arrow to the left with its point at (x, y)."""
    spots = [(x, y), (x + 1.6 * size, y - size), (x + 1.6 * size, y + size)]
    return el("path", d=path(spots, closed=True), class_="head")


def _box(drawn: str) -> str:
    return el("svg", drawn, viewBox="0 0 32 16", class_="sample", aria_hidden="true")
