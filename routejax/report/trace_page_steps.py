"""The steps of a trace in order: each with its type, the reason for it, its text."""

from __future__ import annotations

from collections.abc import Sequence

from routejax.fingerprints import Explained
from routejax.report.svg import bar, el, number
from routejax.report.trace_page_glyphs import (
    css_of,
    glyph,
    type_counts,
    type_name,
)
from routejax.report.trace_page_outline import Row
from routejax.report.trace_page_view import TraceView, cue_span
from routejax.report.wording import said

# A longer step is cut to a few lines until it is pointed at with a click.
LONG = 900

_STRIP = 1000.0


def legend(view: TraceView) -> str:
    """Every type with its count; pointing at one brings its steps forward."""
    keys = [
        el(
            "button",
            glyph(kind),
            said(type_name(kind)),
            el("b", f"{count:,}"),
            type="button",
            class_=f"type {css_of(kind)}",
            data_type=index,
            aria_pressed="false",
        )
        for index, (kind, count) in enumerate(type_counts(view.steps))
    ]
    return el("div", *keys, class_="legend types")


def strip(view: TraceView) -> str:
    """The whole trace as one row of blocks, one per step."""
    if not view.steps:
        return ""
    width = _STRIP / len(view.steps)
    gap = 1.5 if width > 6 else 0.0
    blocks = [
        bar((i * width, 0.0, width - gap, 14.0), css_of(step.type))
        for i, step in enumerate(view.steps)
    ]
    drawn = el(
        "svg",
        *blocks,
        viewBox=f"0 0 {number(_STRIP)} 14",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{len(view.steps):,} steps in order, coloured by type",
    )
    return el("div", drawn, el("i", class_="window"), class_="strip whole", id="strip")


def step_list(view: TraceView, rows: Sequence[Row]) -> str:
    """One item per step, linked to its node."""
    number = {kind: i for i, (kind, _) in enumerate(type_counts(view.steps))}
    items = [
        el(
            "li",
            el("a", f"{i + 1:,}", href=f"#n{i + 1}", class_="count", tabindex=-1),
            el(
                "div",
                el("b", glyph(step.type), said(type_name(step.type))),
                el("span", said(_why(step.rule, view.cue(i))), class_="why"),
                _place(step.edge, step.parent, rows[i].check),
                class_="head",
            ),
            el("p", _marked(step.step, view.cue(i)), dir="auto", class_=_form(step)),
            id=f"s{i + 1}",
            class_=f"{css_of(step.type)} t{number[step.type]}",
        )
        for i, step in enumerate(view.steps)
    ]
    return el("ol", *items, class_="walked")


def _why(rule: str, cue: str) -> str:
    return f"{rule}: “{cue}”" if cue else rule


def _place(edge: str, parent: int, check: bool) -> str:
    """In words, where a step hangs that does not simply go on."""
    at = f"{parent + 1:,}"
    words = {"exploration": f"another way from {at}", "backtracking": f"back to {at}"}
    text = words.get(edge) or (f"checks {at}" if check else "")
    css = f"place {edge if edge in words else 'sequential'}"
    return el("span", text, class_=css) if text else ""


def _marked(text: str, cue: str) -> str:
    span = cue_span(text, cue)
    if not span:
        return said(text)
    start, end = span
    middle = el("u", said(text[start:end]), class_="cue")
    return said(text[:start]) + middle + said(text[end:])


def _form(step: Explained) -> str | None:
    forms = ["long"] if len(step.step) > LONG else []
    forms += ["code"] if "```" in step.step else []
    return " ".join(forms) or None
