"""How training went: loss of fine-tuning, then reward and its company in RL."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import figure, legend, not_run, panel, panels
from routejax.report.svg import (
    Frame,
    axes,
    drawing,
    el,
    frame,
    line,
    nice_ticks,
    spot,
)
from routejax.report.wording import significant

# stage, key, title, unit of the axis, whether the axis is of shares in percent
PANELS = (
    ("sft", "loss", "Fine-tuning loss", "nats per token", False),
    ("grpo", "reward", "RL reward", "mean reward, %", True),
    ("grpo", "mixed", "Mixed groups in RL", "share of prompts, %", True),
    ("grpo", "length", "Response length in RL", "tokens", False),
    ("grpo", "kl", "Distance from the start of RL", "KL, nats per token", False),
    ("grpo", "entropy", "Entropy in RL", "nats per token", False),
)
# A curve is drawn as at most this many means of neighbouring steps.
BINS = 60


class Curve(NamedTuple):
    """One series of one training seed; `each` is how many steps a point averages."""

    arm: Look
    seed: str
    steps: list[float]
    values: list[float]
    each: int


def training_curves(inputs: Inputs) -> str:
    """Small multiples; a thin line per seed and a thick one for their mean."""
    drawn = []
    for stage, key, title, unit, share in PANELS:
        curves = _curves(inputs, stage, key)
        if curves:
            drawn.append(panel(title, _panel(curves, title, unit, share)))
    if not drawn:
        return not_run(
            "training", "Training curves", "no training curves were recorded."
        )
    return figure(
        "training",
        "How training went",
        legend(inputs, lines=True),
        panels(*drawn, across=3),
        units="against optimiser steps",
        read=(
            "Thin lines are training seeds, thick lines their mean. Long runs are "
            f"drawn as means of neighbouring steps, {BINS} points at most. The axes of "
            "loss, length and entropy need not start at zero."
        ),
    )


def binned(
    steps: Sequence[float], values: Sequence[float | None], bins: int = BINS
) -> tuple[list[float], list[float], int]:
    """Means of at most `bins` runs of neighbouring steps, and the length of a run.

    Points without a finite value are left out before.
    """
    kept = [
        (step, value)
        for step, value in zip(steps, values, strict=True)
        if value is not None and math.isfinite(value)
    ]
    each = max(1, math.ceil(len(kept) / bins))
    groups = [kept[i : i + each] for i in range(0, len(kept), each)]
    means = [[sum(side) / len(side) for side in zip(*g, strict=True)] for g in groups]
    return [m[0] for m in means], [m[1] for m in means], each


def _curves(inputs: Inputs, stage: str, key: str) -> list[Curve]:
    found = []
    for arm in inputs.arms:
        runs: Mapping[str, Any] = inputs.curves.get(arm.name) or {}
        for seed, stages in runs.items():
            series = (stages or {}).get(stage) or {}
            if series.get(key):
                steps, values, each = binned(series["step"], series[key])
                if steps:
                    found.append(Curve(arm, str(seed), steps, values, each))
    return found


def _panel(curves: list[Curve], title: str, unit: str, share: bool) -> str:
    lows = [min(curve.values) for curve in curves]
    highs = [max(curve.values) for curve in curves]
    floor = (
        0.0 if share or (min(lows) >= 0 and min(lows) < max(highs) / 3) else min(lows)
    )
    ticks = nice_ticks(floor, max(highs), 4)
    last = max(curve.steps[-1] for curve in curves)
    first = min(curve.steps[0] for curve in curves)
    first = 0.0 if 0 < first < last / 20 else first
    plot = frame((first, last), (ticks[0], ticks[-1]), size=(400, 250), left=44)
    factor = 100 if share else 1
    frames = axes(
        plot,
        x_ticks=[
            (x, f"{x:g}") for x in nice_ticks(first, last, 5) if first <= x <= last
        ],
        y_ticks=[(y, f"{factor * y:,g}") for y in ticks],
        x_title="step",
        y_title=unit,
    )
    lines = [_lines(plot, arm, curves) for arm in dict.fromkeys(c.arm for c in curves)]
    hits = [_hits(plot, curve, unit, factor) for curve in curves]
    label = f"{title} against steps"
    return drawing(plot.width, plot.height, label, frames, *lines, *hits)


def _lines(plot: Frame, arm: Look, curves: list[Curve]) -> str:
    own = [curve for curve in curves if curve.arm == arm]
    thin = [line(plot, c.steps, c.values, "curve seed") for c in own] if own[1:] else []
    # Seeds that stopped early end the mean where the shortest ends.
    columns = list(zip(*(curve.values for curve in own), strict=False))
    means = [sum(column) / len(column) for column in columns]
    steps = own[0].steps[: len(means)]
    thick = line(plot, steps, means, "curve after", dash=arm.dash)
    return el("g", *thin, thick, class_=arm.css)


def _hits(plot: Frame, curve: Curve, unit: str, factor: int) -> str:
    every = max(1, len(curve.steps) // 20)
    over = f", mean of {curve.each} steps" if curve.each > 1 else ""
    return "".join(
        spot(
            plot.x(step),
            plot.y(value),
            f"{curve.arm.name}, seed {curve.seed}\nstep {round(step)}{over}\n"
            f"{unit}: {significant(factor * value)}",
            radius=7,
        )
        for step, value in list(zip(curve.steps, curve.values, strict=True))[::every]
    )
