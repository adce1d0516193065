"""Example traces that each arm selected, step by step, coloured by the kind of step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from routejax.report.inputs import Inputs
from routejax.report.layout import figure, not_run, swatch
from routejax.report.svg import bar, drawing, el
from routejax.report.wording import escaped, plural, title

# Step types of every fingerprint family, gathered into ten kinds that ten colours can
# tell apart (our choice). The written type always stands beside the colour.
KINDS = {
    "setup": ("setup", "parse", "describe"),
    "computation": (
        *("computation", "calculate", "execute", "manipulate", "count", "matrix"),
        *("simplify", "solve_equation", "factor", "expand", "differentiate"),
        *("integrate", "substitute", "modular", "geometry"),
    ),
    "deduction": ("deduction", "infer", "assert", "reason", "insight", "bound"),
    "verification": ("verification", "check", "evaluate"),
    "backtracking": ("backtracking", "correct"),
    "exploration": ("exploration", "branch", "hypothesize"),
    "backward": ("backward_reasoning", "backward"),
    "decomposition": ("decomposition", "decompose", "enumerate", "case"),
    "commentary": ("commentary", "track_progress"),
    "conclusion": ("conclusion", "conclude", "answer"),
}
_KIND = {kind: name for name, kinds in KINDS.items() for kind in kinds}


def example_traces(inputs: Inputs) -> str:
    """Up to three traces per arm, the first of each unfolded."""
    columns, used = [], []
    for arm in inputs.arms:
        found = inputs.examples.get(arm.name) or []
        used += [kind_of(s["type"]) for one in found for s in one.get("steps") or []]
        if found:
            cards = [_card(one, unfolded=i == 0) for i, one in enumerate(found)]
            head = el("h4", swatch(arm), escaped(arm.name), class_=arm.css)
            columns.append(el("div", head, *cards, class_="column"))
    if not columns:
        return not_run("traces", "Example traces", "no traces were handed in.")
    keys = [
        el("span", el("i", class_=f"block kind-{name}"), title(name), class_="key")
        for name in (*KINDS, "other")
        if name in used
    ]
    return figure(
        "traces",
        "Traces that were selected",
        el("div", *keys, class_="legend"),
        el("div", *columns, class_=f"columns across{min(3, len(columns))}"),
        units="the reasoning of each trace, cut into typed steps",
        read=(
            "The strip at the top is the whole trace, one block per step. Routes "
            "differ where strips differ: in order, in detours, in checks. Click to "
            "open or close a trace."
        ),
    )


def kind_of(step_type: str) -> str:
    """The colour group of a step type, "other" for a type no family knows."""
    return _KIND.get(str(step_type).strip().lower().replace(" ", "_"), "other")


def _card(one: Mapping[str, Any], *, unfolded: bool) -> str:
    steps = one.get("steps") or []
    level = one.get("difficulty")
    tags = [
        text
        for text in (
            one.get("env"),
            None if level is None else f"difficulty {level}",
            one.get("strategy"),
        )
        if text
    ]
    tags.append(plural(len(steps), "step"))
    head = el(
        "summary",
        el("span", *(el("span", escaped(tag), class_="tag") for tag in tags)),
        _strip(steps),
    )
    return el(
        "details",
        head,
        el("p", escaped(one.get("prompt", "")), class_="prompt"),
        _steps(steps) if steps else el("pre", escaped(one.get("response", ""))),
        class_="trace",
        open="" if unfolded else None,
    )


def _strip(steps: Sequence[Mapping[str, Any]]) -> str:
    if not steps:
        return ""
    width = 300 / len(steps)
    gap = min(1.0, width / 4)
    blocks = [
        bar(
            (i * width, 0, width - gap, 10),
            f"kind-{kind_of(step['type'])}",
            tip=f"{i + 1}. {title(step['type'])}",
        )
        for i, step in enumerate(steps)
    ]
    order = ", ".join(title(step["type"]).lower() for step in steps)
    drawn = drawing(300, 10, f"Steps in order: {order}", *blocks)
    return el("div", drawn, class_="strip")


def _steps(steps: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        el(
            "li",
            el("b", escaped(title(step["type"]))),
            el("span", escaped(step["text"])),
            class_=f"kind-{kind_of(step['type'])}",
        )
        for step in steps
    ]
    return el("ol", *rows, class_="steps")
