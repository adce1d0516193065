"""How far apart the chosen rows lie, how near the pool is to them, and in what features
two selections differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routejax.report.choice_inputs import Choice
from routejax.report.layout import chip, figure, not_run, panel, panels, table
from routejax.report.svg import (
    axes,
    drawing,
    el,
    frame,
    line,
    marker,
    nice_ticks,
    path,
    share_ticks,
    spot,
    words,
)
from routejax.report.wording import ABSENT, plural, said, signed, significant

STATISTICS = {
    "response_distance": "Response pairwise distance",
    "topology_distance": "Topology pairwise distance",
    "topology_variance": "Topology-vector variance",
    "pattern_entropy_bits": "Pattern entropy, bits",
    "active_patterns": "Active patterns",
}
_ROW = 34


def distances(choice: Choice) -> str:
    """Covering radius, mean nearest distance, Vendi score, clusters."""
    head = ["", *(chip(look) for look in choice.looks)]
    rows = [
        ["Rows", *(f"{choice.rows(look.name):,}" for look in choice.looks)],
        ["Prompts", *(f"{choice.selector(o.name)['prompts']:,}" for o in choice.looks)],
    ]
    for key, name in (
        ("covering_radius", "Covering radius"),
        ("mean_nearest_distance", "Mean distance of a pool row"),
        ("vendi", "Vendi score"),
    ):
        facts = (choice.geometry(look.name)[key] for look in choice.looks)
        rows.append([name, *map(significant, facts)])
    hits = [choice.geometry(look.name)["clusters"] for look in choice.looks]
    if all(hits):
        cells = (f"{100 * h['hit'] / h['of']:.1f} %" for h in hits)
        rows.append([f"Of {hits[0]['of']:,} clusters of diverse, hit", *cells])
    looked = min(choice.geometry(look.name)["looked_at"] for look in choice.looks)
    pool = choice.report["pool"]["eligible"]
    sample = (
        ""
        if looked == pool
        else f" Distances of the pool are those of {looked:,} of its {pool:,} rows, so "
        "the covering radius of all of them may be larger."
    )
    return figure(
        "distances",
        "How a selection lies in its pool",
        table(head, rows, class_="facts numbers"),
        units="Euclidean distances between fingerprints of length 1",
        read=(
            "The covering radius is the distance from the loneliest row of the pool to "
            "the nearest chosen one; both it and the mean are smaller where a "
            "selection covers better. The Vendi score is how many rows there would be "
            "if all were entirely different; larger is more varied." + sample
        ),
    )


def reach(choice: Choice) -> str:
    """The share of the pool within each distance of a chosen row."""
    curves = {o: choice.geometry(o.name)["quantiles"] for o in choice.looks}
    top = max(max(values) for values in curves.values()) or 1.0
    ticks = nice_ticks(0, top, 6)
    plot = frame((0, ticks[-1]), (0, 1), left=40)
    drawn = [
        axes(
            plot,
            x_ticks=[(v, f"{v:g}") for v in ticks],
            y_ticks=share_ticks(1),
            x_title="distance to the nearest chosen row",
            y_title="% of the pool",
        )
    ]
    for look, values in curves.items():
        shares = [i / (len(values) - 1) for i in range(len(values))]
        curve = line(plot, values, shares, "curve", dash=look.dash)
        spots = [
            marker(plot.x(values[i]), plot.y(shares[i]), look.marker, "mark after")
            + spot(
                plot.x(values[i]),
                plot.y(shares[i]),
                f"{look.name}\n{100 * shares[i]:.0f} % of the pool within "
                f"{significant(values[i])}",
            )
            for i in (10, 25, 50, 75, 90)
            if i < len(values)
        ]
        drawn.append(el("g", curve, *spots, class_=look.css))
    label = "Share of the pool within each distance of the nearest chosen row"
    legend = [chip(look, line=True) for look in choice.looks]
    return figure(
        "reach",
        "How near the pool is to each selection",
        el("div", *legend, class_="legend"),
        panels(el("div", drawing(400, 260, label, *drawn), class_="panel"), across=1),
        units="share of the pool's rows within a distance of a chosen row",
        read=(
            "A curve further to the left reaches more of the pool at the same "
            "distance. It starts at the share of rows that were chosen, at distance "
            "0, and ends at the covering radius."
        ),
    )


def within_prompts(choice: Choice) -> str:
    """The five statistics of Table 3 per selector, and the ratio of two of them."""
    title = "How far apart solutions of one prompt lie"
    found = {o.name: choice.selector(o.name)["spread"] for o in choice.looks}
    if not all(found.values()):
        return not_run(
            "within-prompts",
            title,
            f"the family {choice.report['family']} has no blocks of continuous, "
            "topology and pattern features that the statistics are defined over.",
        )
    pair, ratio = choice.report["compared"], choice.report["ratio"] or {}
    head = ["", *(chip(look) for look in choice.looks)]
    if pair:
        head.append(f"{said(pair[0])} ÷ {said(pair[1])}")
    prompts = (f"{found[look.name]['prompts']:,}" for look in choice.looks)
    rows = [["Prompts with two rows or more", *prompts, *([""] if pair else [])]]
    for key, name in STATISTICS.items():
        cells = [significant(found[look.name][key]) for look in choice.looks]
        if pair:
            value = ratio.get(key)
            cells.append(ABSENT if value is None else f"{significant(value, 3)}×")
        rows.append([name, *cells])
    return figure(
        "within-prompts",
        title,
        table(head, rows, class_="facts numbers"),
        units="features standardised within each selection",
        read=(
            "Taken among the chosen solutions of one prompt and averaged over the "
            "prompts that keep at least two. Because every selection is standardised "
            "by itself, a ratio tells how the distance inside prompts compares with "
            "the variety of the whole selection. The more of a pool is chosen, the "
            "nearer all selections come to each other."
        ),
    )


def features(choice: Choice) -> str:
    """The features whose means, and whose deviations, differ most between two."""
    found = choice.report["separating"]
    title = "Features that tell two selections apart"
    if not found or not (found["shift"] or found["spread"]):
        return not_run("features", title, "it takes two selections that differ.")
    one, two = found["of"], found["to"]
    drawn = [
        panel(f"{what} of {one} and {two}", _dumbbells(choice, found, key), note)
        for what, key, rows, note in (
            ("Means", "mean", "shift", f"number: effect, {one} minus {two}"),
            ("Deviations", "deviation", "spread", f"number: {one} minus {two}"),
        )
        if found[rows]
    ]
    legend = [chip(look) for look in choice.looks]
    listing = [
        [el("code", said(row["feature"])), said(row["meaning"])]
        for row in {r["feature"]: r for r in found["shift"] + found["spread"]}.values()
    ]
    meanings = el(
        "details",
        el("summary", f"What the {plural(len(listing), 'feature')} count"),
        table(["", ""], listing, class_="facts meanings"),
        class_="more",
    )
    return figure(
        "features",
        title,
        el("div", *legend, class_="legend"),
        panels(*drawn),
        meanings,
        units="in standard deviations of the pool",
        read=(
            "Left, the features whose means differ most: the effect is Cohen's d, the "
            "difference divided by the deviation inside the two selections; 0.2 is "
            "small, 0.8 is large. Right, those whose deviations differ most: a wider "
            "selection lies further right. Buckets of hashed routes are left out."
        ),
    )


def _dumbbells(choice: Choice, found: Mapping[str, Any], key: str) -> str:
    rows = found["shift" if key == "mean" else "spread"]
    pair = (found["of"], found["to"])
    every = [value for row in rows for value in row[key].values()]
    low = min(0.0, *every) if key == "mean" else 0.0
    ticks = nice_ticks(low, max(every), 5)
    size = (400, 40 + _ROW * len(rows))
    plot = frame((ticks[0], ticks[-1]), (0, 1), size=size, left=10, right=58, top=4)
    parts = [
        axes(
            plot,
            x_ticks=[(v, f"{v:g}".replace("-", "−")) for v in ticks],
            y_ticks=[],
            x_title="deviations of the pool",
            y_title="",
        )
    ]
    if ticks[0] < 0 < ticks[-1]:
        x = plot.x(0)
        parts.append(el("path", d=path([(x, 4), (x, size[1] - 36)]), class_="edge"))
    for i, row in enumerate(rows):
        parts.append(_dumbbell(choice, plot, 4 + _ROW * i, row, key, pair))
    return drawing(*size, f"{key} of features in the selections", *parts)


def _dumbbell(
    choice: Choice,
    plot: Any,
    top: float,
    row: Mapping[str, Any],
    key: str,
    pair: tuple[str, str],
) -> str:
    y = top + 23.0
    name = row["feature"]
    short = name if len(name) <= 46 else f"{name[:45]}…"
    ends = [plot.x(row[key][side]) for side in pair]
    gap = row[key][pair[0]] - row[key][pair[1]]
    number = signed(row["effect"] if key == "mean" else gap, 2)
    parts = [
        words(plot.x.start, top + 12, short, "tick over", anchor="start"),
        el("path", d=path([(plot.x.start, y), (plot.x.end, y)]), class_="grid"),
        el("path", d=path([(ends[0], y), (ends[1], y)]), class_="between"),
        words(plot.width - 2, y + 4, number, "name", anchor="end"),
    ]
    others = [look for look in choice.looks if look.name not in pair]
    for look in (*others, *(choice.look(side) for side in pair[::-1])):
        value = row[key][look.name]
        radius = 4.6 if look.name in pair else 2.8
        tip = f"{look.name}\n{name}: {signed(value, 2)}"
        drawn = marker(plot.x(value), y, look.marker, "mark after", radius=radius)
        parts.append(el("g", drawn, class_=look.css))
        parts.append(spot(plot.x(value), y, tip, radius=7))
    return "".join(parts)
