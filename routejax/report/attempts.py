"""How many problems are within reach by the number of attempts: pass@k curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import (
    STAGES,
    figure,
    legend,
    not_run,
    panel,
    panels,
    stage_key,
)
from routejax.report.svg import (
    Frame,
    Tick,
    axes,
    band,
    drawing,
    el,
    frame,
    line,
    marker,
    share_ticks,
    spot,
)
from routejax.report.wording import CELL_TITLES, STAGE_TITLES, percent

CELLS = ("in_range", "extrapolation", "seen", "unseen")
# Above this many samples only powers of two get a marker and a tick.
_EVERY = 8


def attempts(inputs: Inputs) -> str:
    """pass@k against k, one panel per cell, before and after RL."""
    cells = inputs.cells(CELLS)
    drawn = [
        panel(CELL_TITLES[cell], _attempts(inputs, cell, _top(inputs, cells)))
        for cell in cells
    ]
    if not drawn:
        return not_run(
            "attempts", "Coverage by attempts", "no problems in these cells."
        )
    return figure(
        "attempts",
        "Coverage grows with attempts",
        legend(inputs, stage_key()),
        panels(*drawn),
        units="pass@k in percent against attempts k, logarithmic",
        read=(
            "Each curve is the chance that at least one of k attempts is right; its "
            "left end is accuracy, its right end the share of problems solved at all. "
            "Shaded: 95 % intervals, cut off at the frame. Curves that part to the "
            "right differ in what they can reach, not in how sure they are."
        ),
    )


def _attempts(inputs: Inputs, cell: str, top: float) -> str:
    n = inputs.samples
    plot = frame((1, max(n, 2)), (0, top), log_x=True)
    shown = [k for k in range(1, n + 1) if n <= _EVERY or k & (k - 1) == 0 or k == n]
    ticks: list[Tick] = [(k, str(k)) for k in shown if k & (k - 1) == 0 or k == n]
    bands, lines, hits = [], [], []
    for arm in inputs.arms:
        curves = inputs.study["arms"][arm.name]["curves"][cell] or {}
        for stage, css in STAGES.items():
            if stage not in curves:
                continue
            if css == "after" or not inputs.crowded:
                bands.append(_band(plot, curves[stage], f"{arm.css} band {css}"))
            lines.append(_curve(plot, curves[stage], arm, css, shown))
            hits.append(_hits(plot, curves[stage], arm, stage, shown))
    frames = axes(
        plot,
        x_ticks=ticks,
        y_ticks=share_ticks(top),
        x_title="attempts k",
        y_title="pass@k, %",
    )
    label = f"pass@k against k, {CELL_TITLES[cell]}"
    return drawing(plot.width, plot.height, label, *bands, frames, *lines, *hits)


def _band(plot: Frame, curve: Mapping[str, Any], css: str) -> str:
    return band(plot, curve["k"], curve["low"], curve["high"], css)


def _curve(
    plot: Frame, curve: Mapping[str, Any], arm: Look, css: str, shown: list[int]
) -> str:
    means = dict(zip(curve["k"], curve["mean"], strict=True))
    dots = [
        marker(plot.x(k), plot.y(means[k]), arm.marker, f"mark {css}", radius=3.6)
        for k in shown
    ]
    rule = line(plot, curve["k"], curve["mean"], f"curve {css}")
    return el("g", rule, *dots, class_=arm.css)


def _hits(
    plot: Frame, curve: Mapping[str, Any], arm: Look, stage: str, shown: list[int]
) -> str:
    parts = []
    columns = (curve[key] for key in ("k", "mean", "low", "high"))
    for k, mean, low, high in zip(*columns, strict=True):
        if k in shown:
            tip = (
                f"{arm.name}, {STAGE_TITLES[stage]}\npass@{k}: {percent(mean)} %\n"
                f"95 %: {percent(max(0, low))}–{percent(min(1, high))}"
            )
            parts.append(spot(plot.x(k), plot.y(mean), tip))
    return "".join(parts)


def _top(inputs: Inputs, cells: list[str]) -> float:
    highest = 0.0
    for arm in inputs.arms:
        for cell in cells:
            curves = inputs.study["arms"][arm.name]["curves"][cell] or {}
            highest = max([highest, *(c["mean"][-1] for c in curves.values())])
    return share_ticks(min(1.0, highest * 1.08))[-1][0]
