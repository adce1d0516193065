"""Expansion or exchange: the sets of problems two arms solve, drawn to scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import block_key, figure, legend, not_run, panel, panels
from routejax.report.svg import bar, drawing, el, path, words
from routejax.report.wording import CELL_TITLES, percent, plural, whole

CELLS = ("all", "in_range", "extrapolation")
_WIDTH, _HEIGHT = 400, 250
_PARTS = {"only_a": "a", "both": "both", "only_b": "b", "neither": "neither"}


def solved_sets(inputs: Inputs) -> str:
    """Circles and a bar: the first arm against each other one, or two arms by cell."""
    if len(inputs.arms) == 1:
        return not_run("solved", "Solved problems", "it takes two arms to compare.")
    drawn = _by_cell(inputs) if len(inputs.arms) == 2 else _by_arm(inputs)
    if not drawn:
        return not_run("solved", "Solved problems", "RL has not been run.")
    return figure(
        "solved",
        "What one solves and the other misses",
        legend(inputs, block_key("both", "solved by both")),
        panels(*drawn, across=2 if len(drawn) in (2, 4) else 3),
        units=(
            f"problems solved at least once in {plural(inputs.samples, 'attempt')} "
            f"after RL, {inputs.over_seeds()}"
        ),
        read=(
            "Areas are to scale within a drawing. A large gold part with a large first "
            "crescent and a thin second one is expansion; two crescents alike are an "
            "exchange of successes. The bar adds the problems that neither solves."
        ),
    )


def _by_arm(inputs: Inputs) -> list[str]:
    first = inputs.arms[0]
    drawn = []
    for other in inputs.arms[1:]:
        pair = inputs.study["pairs"][f"{first.name}|{other.name}"]
        if pair["overlap"]:
            found = pair["overlap"]["all"]["mean"]
            title = f"{first.name} and {other.name}"
            drawn.append(_panel(title, first, other, found))
    return drawn


def _by_cell(inputs: Inputs) -> list[str]:
    a, b = inputs.arms
    overlap = inputs.study["pairs"][f"{a.name}|{b.name}"]["overlap"]
    if not overlap:
        return []
    cells = [cell for cell in CELLS if overlap[cell]]
    return [_panel(CELL_TITLES[cell], a, b, overlap[cell]["mean"]) for cell in cells]


def _panel(title: str, a: Look, b: Look, mean: Mapping[str, Any]) -> str:
    kept = mean["retention"]
    said = f"{a.name} solves {percent(kept)} % of what {b.name} solves."
    note = f"{b.name} solves nothing." if kept is None else said
    return panel(title, _circles(a, b, mean), note)


def circle_distance(r: float, s: float, shared: float) -> float:
    """How far apart the centres of two circles lie whose overlap has area `shared`."""
    low, high = abs(r - s), r + s
    if shared >= math.pi * min(r, s) ** 2:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if lens(r, s, middle) > shared else (low, middle)
    return (low + high) / 2


def lens(r: float, s: float, d: float) -> float:
    """Area that two circles of radius r and s share at distance d of the centres."""
    if d >= r + s:
        return 0.0
    if d <= abs(r - s):
        return math.pi * min(r, s) ** 2
    alpha = math.acos(max(-1, min(1, (d * d + r * r - s * s) / (2 * d * r))))
    beta = math.acos(max(-1, min(1, (d * d + s * s - r * r) / (2 * d * s))))
    corner = (-d + r + s) * (d + r - s) * (d - r + s) * (d + r + s)
    return r * r * alpha + s * s * beta - math.sqrt(max(0.0, corner)) / 2


def _circles(a: Look, b: Look, mean: Mapping[str, Any]) -> str:
    sizes = mean["both"] + mean["only_a"], mean["both"] + mean["only_b"]
    r, s = (math.sqrt(size / math.pi) for size in sizes)
    d = circle_distance(r, s, mean["both"])
    left, right = min(-r, d - s), max(r, d + s)
    unit = min(250 / max(right - left, 1e-9), 66 / max(r, s, 1e-9))
    x0 = _WIDTH / 2 - unit * (left + right) / 2
    y0 = 128.0
    one = el("circle", cx=x0, cy=y0, r=unit * r, class_=f"set {a.css}")
    two = el("circle", cx=x0 + unit * d, cy=y0, r=unit * s, class_=f"set {b.css}")
    ring_a = el("circle", cx=x0, cy=y0, r=unit * r, class_=f"ring {a.css}")
    ring_b = el("circle", cx=x0 + unit * d, cy=y0, r=unit * s, class_=f"ring {b.css}")
    middle = (max(-r, d - s) + min(r, d + s)) / 2
    spots = {
        "only_a": x0 + unit * (left + max(-r, d - s)) / 2,
        "both": x0 + unit * middle,
        "only_b": x0 + unit * (right + min(r, d + s)) / 2,
    }
    said = {k: whole(mean[k]) for k in _PARTS}
    label = (
        f"{said['both']} problems solved by both, {said['only_a']} only by {a.name}, "
        f"{said['only_b']} only by {b.name}, {said['neither']} by neither"
    )
    shared = _shared(r, s, d, unit, (x0, y0)) if mean["both"] else ""
    return drawing(
        _WIDTH,
        _HEIGHT,
        label,
        one + two + shared + ring_a + ring_b,
        _labels(a, b, mean, spots, y0),
        _bar(a, b, mean),
    )


def _shared(
    r: float, s: float, d: float, unit: float, origin: tuple[float, float]
) -> str:
    # The overlap as its own shape, so that its colour is not a mixture.
    x0, y0 = origin
    if d <= abs(r - s) + 1e-9:
        small, x = (r, x0) if r < s else (s, x0 + unit * d)
        return el("circle", cx=x, cy=y0, r=unit * small, class_="shared")
    if d >= r + s:
        return ""
    x = (d * d + r * r - s * s) / (2 * d)
    h = math.sqrt(max(0.0, r * r - x * x))
    top, low = f"{x0 + unit * x:.2f} {y0 - unit * h:.2f}", f"{x0 + unit * x:.2f}"
    wide_a, wide_b = int(x < 0), int(x > d)
    data = (
        f"M{top}A{unit * r:.2f} {unit * r:.2f} 0 {wide_a} 1 {low} {y0 + unit * h:.2f}"
        f"A{unit * s:.2f} {unit * s:.2f} 0 {wide_b} 1 {top}z"
    )
    return el("path", d=data, class_="shared")


def _labels(
    a: Look,
    b: Look,
    mean: Mapping[str, float],
    spots: Mapping[str, float],
    y0: float,
) -> str:
    places = {
        "only_a": (8, "start", f"only {a.name}"),
        "both": (_WIDTH / 2, "middle", "both"),
        "only_b": (_WIDTH - 8, "end", f"only {b.name}"),
    }
    parts = []
    for key, (x, anchor, name) in places.items():
        parts.append(words(x, 20, whole(mean[key]), "count", anchor=anchor))
        parts.append(words(x, 36, name, "tick", anchor=anchor))
        if mean[key]:
            foot = {"start": x + 4, "middle": x, "end": x - 4}[anchor]
            leader = path([(foot, 42), (foot, 52), (spots[key], y0)])
            parts.append(el("path", d=leader, class_="leader"))
            parts.append(el("circle", cx=spots[key], cy=y0, r=2.2, class_="pin"))
    return "".join(parts)


def _bar(a: Look, b: Look, mean: Mapping[str, float]) -> str:
    total = sum(mean[key] for key in _PARTS) or 1.0
    names = {"a": a.css, "b": b.css}
    texts = {
        "only_a": f"only {a.name}",
        "both": "both",
        "only_b": f"only {b.name}",
        "neither": "neither",
    }
    x, parts = 8.0, []
    for key, css in _PARTS.items():
        width = (_WIDTH - 16) * mean[key] / total
        tip = f"{texts[key]}: {whole(mean[key])} ({percent(mean[key] / total)} %)"
        kind = f"part {names.get(css, css)}"
        parts.append(bar((x, 214, width, 14), kind, tip=tip))
        x += width
    said = f"neither: {whole(mean['neither'])} of {whole(total)}"
    parts.append(words(_WIDTH - 8, 244, said, "tick", anchor="end"))
    return "".join(parts)
