"""The pool as a density in two dimensions of fingerprint space, selections over it.

A density costs the same for a thousand rows and for millions. Dots are the rows that a
report names, so each can be asked why it was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from routejax.report.choice_inputs import Choice
from routejax.report.inputs import Look
from routejax.report.layout import figure, panel, panels
from routejax.report.plane import dots
from routejax.report.svg import drawing, el, number
from routejax.report.wording import percent, plural

SIZE = 360.0
LEVELS = 6
# What the script shows of a row, in this order.
FIELDS = ("id", "group", "source", "characters", "cluster", "cluster_rows")
FIELDS += ("cluster_chosen", "rank", "distance", "near", "near_distance", "route")


def maps(choice: Choice) -> str:
    """Small multiples: the pool, then one map per selector."""
    found = choice.report["pool"]["map"]
    eligible = choice.report["pool"]["eligible"]
    drawn = [
        panel(
            "The pool",
            drawing(SIZE, SIZE, "The pool as a density", _density(found)),
            f"all {eligible:,} eligible rows",
        )
    ]
    drawn += [_selected(choice, look, found) for look in choice.looks]
    card = el(
        "div",
        el("p", "Click a dot to see why it was chosen.", class_="hint"),
        id="card",
        role="status",
        aria_live="polite",
    )
    return figure(
        "space",
        "What each selector took from the pool",
        panels(*drawn, across=3),
        card,
        units="fingerprints on the two axes along which the pool varies most",
        read=(
            "Stronger squares hold more rows of the pool, in steps of equal ratio. The "
            f"two axes hold {percent(found['variance'])} % of the variance of the "
            "fingerprints, so dots that lie on each other here may lie far apart. "
            "Outermost rows are drawn at the border. Point at a dot for its id."
        ),
    )


def data(choice: Choice) -> dict[str, Any]:
    """What the script reads: per selector the rows that are drawn, with coordinates."""
    found = choice.report["pool"]["map"]
    selectors = []
    for look in choice.looks:
        one = choice.selector(look.name)
        rows = [
            [*(row[key] for key in FIELDS), *_spot(found, row["x"], row["y"])]
            for row in one["rows"]
        ]
        selectors.append(
            {"name": look.name, "measured": one["measured"], "css": look.css}
            | {"rows": rows}
        )
    return {
        "fields": [*FIELDS, "x", "y"],
        "commands": choice.report["commands"],
        "grammar": choice.report["grammar"],
        "selectors": selectors,
    }


def _selected(choice: Choice, look: Look, found: Mapping[str, Any]) -> str:
    rows = choice.selector(look.name)["rows"]
    spots = [_spot(found, row["x"], row["y"]) for row in rows]
    total = choice.rows(look.name)
    note = plural(total, "row")
    if len(rows) < total:
        note = f"{len(rows):,} of {total:,} rows"
    drawn = el(
        "svg",
        el("use", href="#density"),
        el("g", el("path", d=dots(spots), class_="picked"), class_=look.css),
        el("circle", r=6.0, class_="here", cx=0.0, cy=0.0, visibility="hidden"),
        viewBox=f"0 0 {number(SIZE)} {number(SIZE)}",
        role="img",
        aria_label=f"Rows that {look.name} chose, over the pool",
        class_="map",
        data_selector=look.index,
    )
    return panel(look.name, drawn, note, arm=look)


def _density(found: Mapping[str, Any]) -> str:
    """One path for each level, in steps of equal ratio up to the densest cell."""
    side = SIZE / found["cells"]
    levels: list[list[str]] = [[] for _ in range(LEVELS)]
    for cell, level in zip(found["at"], _levels(found["rows"]), strict=True):
        up, across = divmod(cell, found["cells"])
        x, y = number(across * side), number(SIZE - (up + 1) * side)
        step = number(side)
        levels[level].append(f"M{x} {y}h{step}v{step}h-{step}z")
    drawn = [
        el("path", d="".join(parts), fill_opacity=0.1 + 0.7 * i / (LEVELS - 1))
        for i, parts in enumerate(levels)
        if parts
    ]
    return el("g", *drawn, id="density", class_="density")


def _levels(rows: Sequence[int]) -> list[int]:
    top = max(rows)
    cuts = [top ** (k / LEVELS) for k in range(1, LEVELS)]
    return [sum(count > cut for cut in cuts) for count in rows]


def _spot(found: Mapping[str, Any], x: float, y: float) -> tuple[float, float]:
    """Where a row is drawn."""
    across, up = (
        min(1.0, max(0.0, (value - corner) / found["side"]))
        for value, corner in zip((x, y), found["corner"], strict=True)
    )
    return round(across * SIZE, 1), round((1 - up) * SIZE, 1)
