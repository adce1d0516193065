"""How many problems are within reach by their difficulty, and the gap of two arms."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import (
    STAGES,
    block_key,
    figure,
    legend,
    not_run,
    panel,
    panels,
    stage_key,
)
from routejax.report.svg import (
    Frame,
    axes,
    bar,
    drawing,
    el,
    frame,
    line,
    marker,
    path,
    share_ticks,
    spot,
    words,
)
from routejax.report.wording import percent

Spots = Sequence[tuple[float, float]]


def by_difficulty(inputs: Inputs) -> str:
    """Accuracy and coverage after RL against difficulty, the gap filled."""
    levels = _levels(inputs)
    if len(levels) < 2:
        return not_run(
            "difficulty",
            "Coverage by difficulty",
            "it needs problems of at least two difficulties.",
        )
    drawn = [
        panel(name, _difficulty(inputs, levels, outcome, (name, unit)))
        for outcome, name, unit in (
            ("acc1", "acc@1", "% of samples"),
            ("passN", f"pass@{inputs.samples}", "% of problems"),
        )
    ]
    several = len(inputs.arms) > 1
    return figure(
        "difficulty",
        "Where the difference lies" if several else "How far it reaches",
        legend(
            inputs,
            "" if inputs.crowded else stage_key(),
            _gap_keys(inputs) if several else "",
        ),
        panels(*drawn),
        units=f"percent correct against difficulty, {inputs.over_seeds()}",
        read=" ".join(_how_to_read(inputs)),
    )


def _gap_keys(inputs: Inputs) -> str:
    first, second = (arm.name for arm in inputs.arms[:2])
    ahead = block_key("gap", f"{first} ahead of {second}")
    return ahead + block_key("behind", f"{second} ahead")


def _how_to_read(inputs: Inputs) -> list[str]:
    said = []
    if not inputs.crowded:
        said.append("Solid lines are after RL, dotted ones before.")
    if inputs.arms[1:]:
        said.append(
            "Gold is where the first arm stands above the second after RL: a wide gold "
            "band at some difficulty is where the choice of traces mattered."
        )
    said.append("Right of the dashed line lies what neither training stage had.")
    return said


def gap_area(xs: Sequence[float], a: Sequence[float], b: Sequence[float]) -> Spots:
    """Outline of the area between `b` and whatever of `a` lies above it."""
    xs, a, b = _with_crossings(xs, a, b)
    above = [max(first, second) for first, second in zip(a, b, strict=True)]
    there = list(zip(xs, above, strict=True))
    return there + list(zip(xs, b, strict=True))[::-1]


def _with_crossings(
    xs: Sequence[float], a: Sequence[float], b: Sequence[float]
) -> tuple[list[float], list[float], list[float]]:
    rows = list(zip(xs, a, b, strict=True))
    full = rows[:1]
    for (x0, a0, b0), (x1, a1, b1) in itertools.pairwise(rows):
        before, after = a0 - b0, a1 - b1
        if before * after < 0:
            share = before / (before - after)
            y = a0 + share * (a1 - a0)
            full.append((x0 + share * (x1 - x0), y, y))
        full.append((x1, a1, b1))
    return [r[0] for r in full], [r[1] for r in full], [r[2] for r in full]


def _levels(inputs: Inputs) -> list[int]:
    found = {
        int(level)
        for arm in inputs.arms
        for metrics in inputs.checkpoints(arm.name, "rl")
        for level in metrics["by_difficulty"]
    }
    return sorted(found)


def _scores(
    inputs: Inputs, arm: Look, stage: str, outcome: str, levels: list[int]
) -> list[list[float]]:
    # One list per training seed.
    k = "1" if outcome == "acc1" else str(inputs.samples)
    return [
        [metrics["by_difficulty"][str(level)]["passk"][k] for level in levels]
        for metrics in inputs.checkpoints(arm.name, stage)
    ]


def _difficulty(
    inputs: Inputs, levels: list[int], outcome: str, names: tuple[str, str]
) -> str:
    name, unit = names
    means = {
        (arm, stage): [sum(column) / len(column) for column in zip(*runs, strict=True)]
        for arm in inputs.arms
        for stage in STAGES
        if (stage == "rl" or not inputs.crowded)
        and (runs := _scores(inputs, arm, stage, outcome, levels))
    }
    top = share_ticks(max(max(values) for values in means.values()) * 1.05)[-1][0]
    plot = frame((levels[0] - 0.4, levels[-1] + 0.4), (0, top))
    step = 1 if len(levels) <= 16 else len(levels) // 12
    frames = axes(
        plot,
        x_ticks=[(level, str(level)) for level in levels[::step]],
        y_ticks=share_ticks(top),
        x_title="difficulty",
        y_title=unit,
    )
    curves = [
        _level_curve(plot, levels, values, arm, STAGES[stage])
        for (arm, stage), values in means.items()
    ]
    return drawing(
        plot.width,
        plot.height,
        f"{name} against difficulty, after RL",
        _beyond(inputs, plot),
        _gaps(inputs, plot, levels, means),
        frames,
        *curves,
        _level_hits(inputs, plot, levels, outcome, name),
    )


def _level_curve(
    plot: Frame, levels: list[int], values: list[float], arm: Look, css: str
) -> str:
    dots = [
        marker(plot.x(x), plot.y(y), arm.marker, f"mark {css}", radius=3.4)
        for x, y in zip(levels, values, strict=True)
        if css == "after"
    ]
    return el("g", line(plot, levels, values, f"curve {css}"), *dots, class_=arm.css)


def _gaps(
    inputs: Inputs,
    plot: Frame,
    levels: list[int],
    means: Mapping[tuple[Look, str], list[float]],
) -> str:
    sides = [means[arm, "rl"] for arm in inputs.arms[:2] if (arm, "rl") in means]
    if len(sides) < 2:
        return ""
    a, b = sides
    parts = []
    for css, first, second in (("gap", a, b), ("behind", b, a)):
        spots = [(plot.x(x), plot.y(y)) for x, y in gap_area(levels, first, second)]
        parts.append(el("path", d=path(spots, closed=True), class_=css))
    return "".join(parts)


def _beyond(inputs: Inputs, plot: Frame) -> str:
    band_ends = (inputs.results.get("evaluation") or {}).get("in_range")
    if not band_ends or band_ends[1] >= plot.x.high - 0.5:
        return ""
    x, top, floor = plot.x(band_ends[1] + 0.5), plot.y.end, plot.y.start
    return (
        bar((x, top, plot.x.end - x, floor - top), "beyond")
        + el("path", d=path([(x, top), (x, floor)]), class_="edge")
        + words(x + 5, top + 10, "beyond training", "hint", anchor="start")
    )


def _level_hits(
    inputs: Inputs, plot: Frame, levels: list[int], outcome: str, name: str
) -> str:
    parts = []
    for arm in inputs.arms:
        runs = _scores(inputs, arm, "rl", outcome, levels)
        for level, column in zip(levels, zip(*runs, strict=True), strict=False):
            mean = sum(column) / len(column)
            tip = f"{arm.name}, difficulty {level}\n{name}: {percent(mean)} %"
            if len(column) > 1:
                tip += f"\nseeds: {percent(min(column))}–{percent(max(column))}"
            parts.append(spot(plot.x(level), plot.y(mean), tip))
    return "".join(parts)
