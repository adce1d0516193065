"""Tiny drawing: elements, scales, axes, lines, bands, bars, markers.

Everything returns markup as text. Colours are CSS classes, so that one drawing serves
light, dark and print. Text given as `children` is markup already; escape it first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from routejax.report.wording import escaped

# Outlines of markers of radius 1; the order is that of the arms.
MARKERS = {
    "circle": "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0z",
    "square": "M-.9 -.9h1.8v1.8h-1.8z",
    "triangle": "M0 -1.15L1.1 .8H-1.1z",
    "diamond": "M0 -1.3L1.1 0L0 1.3L-1.1 0z",
    "wedge": "M0 1.15L1.1 -.8H-1.1z",
    "cross": "M-1.1 -.4h.7v-.7h.8v.7h.7v.8h-.7v.7h-.8v-.7h-.7z",
}

Tick = tuple[float, str]


def el(tag: str, /, *children: str, **attributes: Any) -> str:
    """One element. `class_` is class, other _ are hyphens, None is left out."""
    parts = [tag]
    for name, value in attributes.items():
        if value is not None:
            key = name if name == "viewBox" else name.rstrip("_").replace("_", "-")
            text = number(value) if isinstance(value, float) else escaped(value)
            parts.append(f'{key}="{text}"')
    inside = "".join(children)
    return f"<{' '.join(parts)}>{inside}</{tag}>"


def number(value: float) -> str:
    """At most two digits behind the point, for coordinates."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


class Scale(NamedTuple):
    """From values to coordinates; a value beyond the ends lands on the end."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        low, high, at = (
            (math.log(v) if self.log else v) for v in (self.low, self.high, inside)
        )
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


class Frame(NamedTuple):
    """A plot area inside a drawing of `width` by `height`."""

    x: Scale
    y: Scale
    width: float
    height: float


def frame(
    x: tuple[float, float],
    y: tuple[float, float],
    *,
    size: tuple[float, float] = (400, 260),
    log_x: bool = False,
    left: float = 34,
    right: float = 14,
    top: float = 24,
) -> Frame:
    """A frame with room for a title above, ticks at the left and a title below."""
    width, height = size
    return Frame(
        x=Scale(*x, left, width - right, log_x),
        y=Scale(*y, height - 36, top),
        width=width,
        height=height,
    )


def drawing(width: float, height: float, label: str, *children: str) -> str:
    """A drawing that scales with its column; `label` says in words what it shows."""
    box = f"0 0 {number(width)} {number(height)}"
    return el("svg", *children, viewBox=box, role="img", aria_label=label)


def axes(
    plot: Frame,
    *,
    x_ticks: Iterable[Tick],
    y_ticks: Iterable[Tick],
    x_title: str,
    y_title: str,
) -> str:
    """Light horizontal rules, ticks and titles with units."""
    left, right, floor = plot.x.start, plot.x.end, plot.y.start
    parts = []
    for value, text in y_ticks:
        y = plot.y(value)
        kind = "base" if y == floor else "grid"
        parts.append(el("path", d=path([(left, y), (right, y)]), class_=kind))
        parts.append(words(left - 6, y + 4, text, "tick", anchor="end"))
    for value, text in x_ticks:
        x = plot.x(value)
        parts.append(el("path", d=path([(x, floor), (x, floor + 4)]), class_="base"))
        parts.append(words(x, floor + 16, text, "tick"))
    if y_title:
        parts.append(words(2, 12, y_title, "axis", anchor="start"))
    parts.append(words(right, floor + 32, x_title, "axis", anchor="end"))
    return "".join(parts)


def words(x: float, y: float, text: str, class_: str, *, anchor: str = "middle") -> str:
    return el(
        "text", escaped(text), x=float(x), y=float(y), class_=class_, text_anchor=anchor
    )


def path(spots: Sequence[tuple[float, float]], *, closed: bool = False) -> str:
    """Path data through `spots`."""
    line = "L".join(f"{number(x)} {number(y)}" for x, y in spots)
    return f"M{line}{'z' if closed else ''}"


def line(
    plot: Frame,
    xs: Sequence[float],
    ys: Sequence[float],
    class_: str,
    *,
    dash: str | None = None,
) -> str:
    spots = [(plot.x(x), plot.y(y)) for x, y in zip(xs, ys, strict=True)]
    return el("path", d=path(spots), class_=class_, stroke_dasharray=dash)


def band(
    plot: Frame,
    xs: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    class_: str,
) -> str:
    """The area between two curves."""
    there = [(plot.x(x), plot.y(y)) for x, y in zip(xs, highs, strict=True)]
    back = [(plot.x(x), plot.y(y)) for x, y in zip(xs, lows, strict=True)]
    return el("path", d=path(there + back[::-1], closed=True), class_=class_)


def marker(x: float, y: float, shape: str, class_: str, *, radius: float = 4) -> str:
    move = f"translate({number(x)} {number(y)}) scale({number(radius)})"
    return el("path", d=MARKERS[shape], transform=move, class_=class_)


def spot(x: float, y: float, tip: str, *, radius: float = 9) -> str:
    """An unseen target that shows `tip` when pointed at."""
    return el("circle", cx=x, cy=y, r=float(radius), class_="hit", data_tip=tip)


def bar(
    box: tuple[float, float, float, float],
    class_: str,
    *,
    tip: str | None = None,
    strength: float | None = None,
) -> str:
    """A rectangle (x, y, width, height); `strength` is how opaque its fill is, 0..1."""
    x, y, width, height = (float(side) for side in box)
    return el(
        "rect",
        x=x,
        y=y,
        width=max(0.0, width),
        height=max(0.0, height),
        class_=class_,
        data_tip=tip,
        fill_opacity=None if strength is None else float(strength),
    )


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values from at most `low` to at least `high`, about `about` steps."""
    span = high - low
    if span <= 0:
        span = abs(high) or 1.0
    raw = span / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(m for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


def share_ticks(high: float) -> list[Tick]:
    """Ticks of an axis of shares from 0 to at least `high`, at most 1, in percent."""
    values = [v for v in nice_ticks(0, max(high, 0.02), 4) if v <= 1 + 1e-9]
    return [(v, f"{100 * v:g}") for v in values]
