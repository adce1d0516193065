"""Parts of the page around a drawing: figures, panels, legends, tables, notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from routejax.report.inputs import Inputs, Look
from routejax.report.svg import drawing, el, marker, path
from routejax.report.wording import STAGE_TITLES, escaped, points, points_span

# Classes of lines and markers by stage.
STAGES = {"sft": "before", "rl": "after"}


def figure(
    anchor: str, title: str, *body: str, units: str, read: str, wide: bool = True
) -> str:
    """A numbered figure: its title, units, the drawings, and how to read them.

    `units` and `read` are plain text; the number comes from the style sheet.
    """
    caption = el(
        "figcaption",
        el("b", escaped(title)),
        " ",
        el("span", escaped(units), class_="units"),
    )
    how = el("p", el("b", "How to read this."), f" {escaped(read)}", class_="read")
    return el(
        "figure",
        caption,
        *body,
        how,
        id=anchor,
        class_=None if wide else "text",
    )


def not_run(anchor: str, title: str, why: str) -> str:
    """In place of a figure whose input is missing: says so in words."""
    caption = el("figcaption", el("b", escaped(title)))
    said = el("p", f"Not run: {escaped(why)}", class_="absent")
    return el("figure", caption, said, id=anchor, class_="text")


def panels(*parts: str, across: int = 2) -> str:
    """Drawings beside each other, as many as fit and at most `across`."""
    return el("div", *parts, class_=f"panels across{across}")


def panel(title: str, drawn: str, note: str = "", *, arm: Look | None = None) -> str:
    """One drawing under its title, which carries the marker of `arm`."""
    head = el("h4", swatch(arm) if arm else "", escaped(title))
    foot = el("p", escaped(note), class_="note") if note else ""
    return el("div", head, drawn, foot, class_="panel")


def swatch(arm: Look, *, line: bool = False) -> str:
    """The arm's marker, on its line if asked, at the size of the text around it."""
    drawn = marker(14 if line else 8, 8, arm.marker, "mark", radius=4.6)
    if line:
        stroke = path([(1, 8), (27, 8)])
        rule = el("path", d=stroke, class_="curve", stroke_dasharray=arm.dash)
        drawn = rule + drawn
    width = 28 if line else 16
    return el(
        "svg",
        drawn,
        viewBox=f"0 0 {width} 16",
        class_=f"swatch {arm.css}",
        width=width,
        height=16,
        aria_hidden="true",
    )


def chip(arm: Look, *, line: bool = False) -> str:
    """An arm's name with its marker; pointing at it brings that arm forward."""
    return el(
        "span",
        swatch(arm, line=line),
        escaped(arm.name),
        class_="chip",
        data_arm=arm.index,
        tabindex=0,
    )


def legend(inputs: Inputs, *extra: str, lines: bool = False) -> str:
    chips = [chip(arm, line=lines) for arm in inputs.arms]
    return el("div", *chips, *extra, class_="legend")


def stage_key() -> str:
    """How lines before and after RL differ."""
    parts = []
    for stage, css in STAGES.items():
        rule = el("path", d=path([(1, 8), (33, 8)]), class_=f"curve {css}")
        dot = marker(17, 8, "circle", f"mark {css}", radius=4)
        drawn = el(
            "svg",
            rule,
            dot,
            viewBox="0 0 34 16",
            class_="swatch plain",
            width=34,
            height=16,
            aria_hidden="true",
        )
        parts.append(el("span", drawn, STAGE_TITLES[stage], class_="key"))
    return "".join(parts)


def block_key(css: str, said: str) -> str:
    """A legend entry for a filled area."""
    return el("span", el("i", class_=f"block {css}"), escaped(said), class_="key")


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, class_: str = "facts"
) -> str:
    """A table of ready markup; the first cell of a row is its heading."""
    top = el("thead", el("tr", *(el("th", cell, scope="col") for cell in head)))
    body = [
        el(
            "tr",
            el("th", cells[0], scope="row"),
            *(el("td", cell) for cell in cells[1:]),
        )
        for cells in rows
    ]
    inside = (top if any(head) else "") + el("tbody", *body)
    return el("div", el("table", inside, class_=class_), class_="scroll")


def whisker(interval: Mapping[str, Any], reach: float, css: str) -> str:
    """A difference on a line from -reach to +reach: zero, interval and mean."""
    mean, lower, upper = (interval[key] for key in ("mean", "lower", "upper"))
    label = f"{points(mean)} points, 95 % interval {points_span(interval)}"

    def at(value: float) -> float:
        return 60 + 56 * min(1.0, max(-1.0, value / reach))

    return el(
        "div",
        drawing(
            120,
            18,
            label,
            el("path", d=path([(4, 9), (116, 9)]), class_="grid"),
            el("path", d=path([(60, 2), (60, 16)]), class_="base"),
            el("path", d=path([(at(lower), 9), (at(upper), 9)]), class_="span"),
            marker(at(mean), 9, "circle", "mark after", radius=4),
        ),
        class_=f"whisker {css}",
    )
