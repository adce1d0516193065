"""Where the fingerprint of a trace differs from the pool, as bars of z-scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from routejax.report.svg import bar, drawing, el, path, words
from routejax.report.trace_page_view import Difference, TraceView, differences
from routejax.report.wording import decimal, plural, said, signed, significant

CLIP = 5.0  # beyond which a selection tells no difference (`selection.standardise`)
SHOWN = 14

_WIDTH, _HEIGHT = 170.0, 18.0


def feature_section(view: TraceView) -> str:
    """Bars above and below the pool, or in words that the pool is not known."""
    sides = differences(view, SHOWN)
    if sides is None:
        body = el(
            "p",
            "No statistics of a pool were handed in, so there are no z-scores: how far "
            "this trace is from others cannot be said.",
            class_="absent",
        )
    else:
        above, below = sides
        body = el(
            "div",
            _side("More than in the pool", above),
            _side("Less than in the pool", below),
            class_="side-by-side differing",
        ) + el("p", el("b", "How to read this."), _reading(view), class_="read")
    return el(
        "section",
        el("h2", "Where it differs from the pool"),
        body,
        _all_features(view),
        id="features",
    )


def _side(name: str, found: Sequence[Difference]) -> str:
    if not found:
        return el("div", el("h3", name), el("p", "Nothing.", class_="absent"))
    head = "".join(
        el("th", cell, scope="col", class_=css)
        for cell, css in (
            ("Feature", None),
            ("z", None),
            (_axis(), "zbar"),
            ("here", None),
            ("pool", None),
        )
    )
    rows = [_row(one) for one in found]
    table = el(
        "table",
        el("thead", el("tr", head)),
        el("tbody", *rows),
        class_="z",
    )
    return el("div", el("h3", name), el("div", table, class_="scroll"))


def _row(one: Difference) -> str:
    name = el("code", _breakable(one.name)) + el("small", said(one.meaning))
    numbers = (one.value, one.mean)
    return el(
        "tr",
        el("th", name, scope="row"),
        el("td", signed(one.z), class_="score"),
        el("td", z_bar(one.z), class_="zbar"),
        *(el("td", significant(value)) for value in numbers),
    )


def z_bar(z: float) -> str:
    """A bar from zero; one beyond the clip ends at the edge, in a point."""
    side = "more" if z > 0 else "less"
    length = _WIDTH * min(abs(z), CLIP) / CLIP
    beyond = abs(z) > CLIP
    body = bar((0.0, 4.0, length - (7 if beyond else 0), 10.0), f"zfill {side}")
    if beyond:
        tip = [(length - 7, 4), (length, 9), (length - 7, 14)]
        body += el("path", d=path(tip, closed=True), class_=f"zfill {side}")
    marks = [
        el("path", d=path([(x, 0), (x, _HEIGHT)]), class_="grid")
        for x in (_WIDTH * i / CLIP for i in range(1, int(CLIP)))
    ]
    base = el("path", d=path([(0, 0), (0, _HEIGHT)]), class_="base")
    return drawing(_WIDTH, _HEIGHT, f"z {decimal(z)}", *marks, body, base)


def _axis() -> str:
    ticks = [
        words(_WIDTH * i / CLIP, 13, f"{i}", "tick", anchor="middle")
        for i in range(int(CLIP) + 1)
    ]
    return drawing(_WIDTH, _HEIGHT, f"z from 0 to {CLIP:g}", *ticks)


def _breakable(name: str) -> str:
    """A name that may be broken at its parts, not inside them."""
    arrow = '<wbr><span class="arrow">-&gt;</span>'
    return said(name).replace("/", "/<wbr>").replace("-&gt;", arrow)


def _reading(view: TraceView) -> str:
    pool = "the pool" if view.pool_rows is None else plural(view.pool_rows, "trace")
    return (
        f" z is how many standard deviations of {pool} the value lies from the mean; a "
        "feature that never varies there counts as if the deviation were 1. A rule at "
        "every whole z; a bar ends at 5, in a point if z is larger, because a "
        "selection reads no more than 5. A feature of few traces gives a large z to "
        "each of them."
    )


def _all_features(view: TraceView) -> str:
    values = np.asarray(view.values)
    kept = [int(i) for i in np.flatnonzero(values)]
    total = len(view.names)
    said_all = (
        f"All {plural(len(kept), 'feature')} that are not zero, of {total:,} "
        f"of family {said(view.family)}"
    )
    rows = [
        el(
            "tr",
            el("th", el("code", said(view.names[i])), scope="row"),
            el("td", significant(float(values[i]))),
            el("td", said(view.meanings[i])),
        )
        for i in kept
    ]
    table = el("table", el("tbody", *rows), class_="facts every")
    return el("details", el("summary", said_all), table, class_="more")
