"""What the selections are made of: spread, clusters, strategies, environments."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import (
    chip,
    figure,
    legend,
    not_run,
    panel,
    panels,
    swatch,
    table,
)
from routejax.report.svg import (
    Frame,
    axes,
    drawing,
    el,
    frame,
    marker,
    nice_ticks,
    path,
    spot,
    words,
)
from routejax.report.wording import (
    ABSENT,
    escaped,
    percent,
    plural,
    significant,
    title,
)

DISTANCES = ("covering_radius", "mean_nearest_distance")
_ROW = 22

Shares = dict[str, float]


def spread(inputs: Inputs) -> str:
    """Spread statistics with ratios, distances, clusters and rows of each selection."""
    if not any(inputs.selection(arm.name) for arm in inputs.arms):
        return not_run("spread", "What was selected", "no selection was recorded.")
    rest = inputs.arms[1:]
    first = inputs.arms[0]
    head = ["", *(chip(arm) for arm in inputs.arms)]
    head += [f"{escaped(first.name)} ÷ {escaped(arm.name)}" for arm in rest]
    rows = [_row(inputs, "Rows", ("rows",), ratio=False)]
    rows += [_row(inputs, title(k), ("spread", k)) for k in _keys(inputs, "spread")]
    rows += [_row(inputs, title(k), (k,)) for k in DISTANCES]
    rows += [
        _row(inputs, f"Clusters: {title(k).lower()}", ("clusters", k), ratio=False)
        for k in _keys(inputs, "clusters")
    ]
    shared = _shared(inputs)
    return figure(
        "spread",
        "How far the selected routes lie apart",
        table(head, rows, class_="facts numbers"),
        shared,
        units="distances between standardised fingerprints; counts of rows, clusters",
        read=(
            "Spread is measured among the selected solutions of one prompt and "
            "averaged over prompts with two or more. The covering radius is how far "
            "the pool's loneliest row is from the selection: smaller covers better."
        ),
    )


def composition(inputs: Inputs) -> str:
    """Shares of strategies and environments in the pool and in each selection."""
    drawn = []
    for key, name in (("by_strategy", "Strategies"), ("by_env", "Environments")):
        pool = _shares((inputs.results.get("pool") or {}).get(key))
        arms = {a: _shares(inputs.selection(a.name).get(key)) for a in inputs.arms}
        if any(arms.values()):
            drawn.append(panel(name, shares_strip(pool, arms, name)))
    if not drawn:
        return not_run(
            "composition", "Composition", "no strategies or environments are known."
        )
    key = el(
        "span",
        el(
            "svg",
            el("path", d="M8 2v12", class_="tickmark"),
            viewBox="0 0 16 16",
            class_="swatch",
            width=16,
            height=16,
            aria_hidden="true",
        ),
        "pool",
        class_="key",
    )
    return figure(
        "composition",
        "What the selections are made of",
        legend(inputs, key),
        panels(*drawn),
        units="share of the rows in percent",
        read=(
            "A marker right of the grey tick means that the arm took more of a kind "
            "than the pool holds; spread does not ask for equal shares."
        ),
    )


def _row(
    inputs: Inputs, name: str, keys: tuple[str, ...], *, ratio: bool = True
) -> list[str]:
    values = [_value(inputs.selection(arm.name), keys) for arm in inputs.arms]
    cells = [significant(value) for value in values]
    if ratio:
        cells += [_ratio(values[0], value) for value in values[1:]]
    else:
        cells += [""] * (len(values) - 1)
    return [escaped(name), *(escaped(cell) for cell in cells)]


def _value(found: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    value: Any = found
    for key in keys:
        value = (value or {}).get(key)
    return value


def _ratio(a: float | None, b: float | None) -> str:
    return ABSENT if a is None or not b else f"{significant(a / b, 2)}×"


def _keys(inputs: Inputs, part: str) -> list[str]:
    found = [inputs.selection(arm.name).get(part) or {} for arm in inputs.arms]
    return list(dict.fromkeys(itertools.chain.from_iterable(found)))


def _shared(inputs: Inputs) -> str:
    said = []
    looks = {arm.name: arm for arm in inputs.arms}
    for pair, rows in (inputs.results.get("selection_overlap") or {}).items():
        a, _, b = pair.partition("|")
        if a in looks and b in looks:
            total = inputs.selection(a).get("rows")
            share = f" ({percent(rows / total)} %)" if total else ""
            text = f"{plural(rows, 'row')}{share} in both {a} and {b}"
            marks = swatch(looks[a]) + swatch(looks[b])
            said.append(el("li", marks, escaped(text)))
    return el("ul", *said, class_="shared-rows") if said else ""


def _shares(counts: Mapping[str, int] | None) -> Shares:
    total = sum((counts or {}).values())
    return {key: n / total for key, n in (counts or {}).items()} if total else {}


def shares_strip(pool: Shares, arms: Mapping[Look, Shares], name: str) -> str:
    """One line for each kind: a tick for its share of the pool, a marker per arm."""
    names = sorted(
        {key for shares in (pool, *arms.values()) for key in shares},
        key=lambda key: (-pool.get(key, 0.0), key),
    )
    top = max(v for shares in (pool, *arms.values()) for v in shares.values())
    ticks = nice_ticks(0, top, 4)
    size = (400, 40 + _ROW * len(names))
    plot = frame((0, ticks[-1]), (0, 1), size=size, left=124, top=4)
    frames = axes(
        plot,
        x_ticks=[(v, f"{100 * v:g}") for v in ticks],
        y_ticks=[],
        x_title="% of rows",
        y_title="",
    )
    rows = [
        _strip_row(plot, 4.0 + _ROW * (i + 0.5), key, pool, arms)
        for i, key in enumerate(names)
    ]
    return drawing(*size, f"{name}: shares of rows", frames, *rows)


def _strip_row(
    plot: Frame,
    y: float,
    key: str,
    pool: Shares,
    arms: Mapping[Look, Shares],
) -> str:
    short = key if len(key) <= 18 else f"{key[:17]}…"
    parts = [
        el("path", d=path([(plot.x.start, y), (plot.x.end, y)]), class_="grid"),
        words(plot.x.start - 8, y + 4, short, "tick", anchor="end"),
    ]
    if pool:
        x = plot.x(pool.get(key, 0.0))
        parts.append(el("path", d=path([(x, y - 7), (x, y + 7)]), class_="tickmark"))
    for arm, shares in arms.items():
        share = shares.get(key, 0.0)
        x = plot.x(share)
        tip = f"{arm.name}, {key}\n{percent(share)} %"
        if pool:
            tip += f"\npool: {percent(pool.get(key, 0.0))} %"
        parts.append(marker(x, y, arm.marker, f"mark after {arm.css}"))
        parts.append(spot(x, y, tip))
    return "".join(parts)
