"""What the selections are made of, against the pool, and which rows they share."""

from __future__ import annotations

from collections.abc import Mapping

from routejax.report.choice_inputs import Choice
from routejax.report.inputs import Look
from routejax.report.layout import chip, figure, panel, panels, table
from routejax.report.selection import Shares, shares_strip
from routejax.report.svg import (
    axes,
    drawing,
    el,
    frame,
    line,
    marker,
    nice_ticks,
    share_ticks,
    spot,
)
from routejax.report.wording import ABSENT, listed, percent, said, visible

MOST = 14  # kinds of a histogram, none below a hundredth everywhere; the rest as one
LEAST = 0.01


def composition(choice: Choice) -> str:
    """Groups, sources and lengths of every selection and of the pool."""
    pool = choice.report["pool"]
    groups = {
        look: _shares(
            {
                g: one["selected"]
                for g, one in choice.selector(look.name)["quotas"].items()
            }
        )
        for look in choice.looks
    }
    sources = {
        look: _shares(choice.selector(look.name)["by_source"]) for look in choice.looks
    }
    column = [panel("Lengths", _lengths(choice), "characters of a conversation")]
    if set(pool["groups"]) == {g for shares in groups.values() for g in shares}:
        strip = shares_strip(_shares(pool["groups"]), groups, "Groups")
        column.insert(0, panel("Groups", strip))
    cut = _cut(_shares(pool["sources"]), sources)
    drawn = [
        el("div", *column, class_="stack"),
        panel("Sources", shares_strip(*cut, "Sources")),
    ]
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
    read_rows, eligible = pool["read"], pool["eligible"]
    sample = (
        ""
        if read_rows == eligible
        else f" Sources and lengths of the pool are those of {read_rows:,} of its "
        f"{eligible:,} eligible rows."
    )
    legend = [chip(look, line=True) for look in choice.looks]
    return figure(
        "composition",
        "Groups, sources and lengths",
        el("div", *legend, key, class_="legend"),
        panels(*drawn),
        units="share of the rows in percent",
        read=(
            "A marker right of the grey tick is a kind that the selection took more "
            "of than the pool holds. Quotas fix the groups; sources and lengths follow "
            "from the choice. In the picture of lengths the grey line is the pool."
            + sample
        ),
    )


def quotas(choice: Choice) -> str:
    """Of every group what there was, what was taken, and what it is short of."""
    head = ["Group", "Eligible", *(chip(look) for look in choice.looks), "Short"]
    names = list(choice.selector(choice.looks[0].name)["quotas"])
    rows, short = [], []
    for name in names:
        found = [choice.selector(look.name)["quotas"][name] for look in choice.looks]
        most = max(one["short"] for one in found)
        if most:
            short.append(name)
        taken = (f"{one['selected']:,}" for one in found)
        missing = f"{most:,}" if most else ABSENT
        rows.append([said(name), f"{found[0]['eligible']:,}", *taken, missing])
    told = (
        f"{listed(list(map(visible, short)))} could not give what an even split "
        "asks for; the others gave more."
        if short
        else "Every group gave what was asked of it."
    )
    return figure(
        "quotas",
        "Quotas",
        table(head, rows, class_="facts numbers"),
        units="rows of each group",
        read=f"{told} A group is short where it holds too few eligible rows.",
    )


def overlap(choice: Choice) -> str:
    """Rows that every two selections share, in percent of a selection."""
    found = choice.report["overlap"]
    names = [look.name for look in choice.looks]
    sizes = [choice.rows(name) for name in names]
    head = ["", *(chip(look) for look in choice.looks)]
    rows = []
    for i, look in enumerate(choice.looks):
        cells = []
        for j in range(len(names)):
            rows_in_both = found["rows"][i][j]
            share = rows_in_both / sizes[i] if sizes[i] else 0.0
            inside = el("b", f"{percent(share)} %") + el("small", f"{rows_in_both:,}")
            cells.append(
                el("span", ABSENT, class_="own")
                if i == j
                else el("span", inside, class_="both", style=f"--s:{share:.3f}")
            )
        rows.append([chip(look), *cells])
    chance = found["by_chance"] / sizes[0] if sizes and sizes[0] else 0.0
    return figure(
        "overlap",
        "Rows in two selections",
        table(head, rows, class_="facts numbers matrix"),
        units="share of the selection at the left that is also in the one above",
        read=(
            f"Two draws by chance under these quotas would share {percent(chance)} % "
            f"({found['by_chance']:,.0f} rows). More than that means that two "
            "selectors like the same rows, less that they avoid each other's."
        ),
    )


def _shares(counts: Mapping[str, int]) -> Shares:
    total = sum(counts.values())
    return {key: n / total for key, n in counts.items()} if total else {}


def _cut(
    pool: Shares, arms: Mapping[Look, Shares]
) -> tuple[Shares, dict[Look, Shares]]:
    """The most frequent kinds; the others as one, an empty name as "unknown"."""
    weight: dict[str, float] = {}
    for shares in (pool, *arms.values()):
        for key, share in shares.items():
            weight[key] = max(weight.get(key, 0.0), share)
    order = sorted(weight, key=lambda key: (-weight[key], key))
    kept = {key for key in order[:MOST] if weight[key] >= LEAST}
    if len(weight) - len(kept) < 2:
        kept = {*order}
    rest = len(weight) - len(kept)

    def cut(shares: Shares) -> Shares:
        found: Shares = {}
        for key, share in shares.items():
            name = (key or "unknown") if key in kept else f"{rest} others"
            found[name] = found.get(name, 0.0) + share
        return found

    return cut(pool), {look: cut(shares) for look, shares in arms.items()}


def _lengths(choice: Choice) -> str:
    """Curves over half octaves of characters."""
    pool = {int(k): v for k, v in _shares(choice.report["pool"]["lengths"]).items()}
    arms = {
        look: {
            int(k): v
            for k, v in _shares(choice.selector(look.name)["by_length"]).items()
        }
        for look in choice.looks
    }
    every = sorted({b for shares in (pool, *arms.values()) for b in shares})
    bins = list(range(every[0], every[-1] + 1))
    top = max(v for shares in (pool, *arms.values()) for v in shares.values())
    ticks = nice_ticks(0, top, 4)
    low, high = 2 ** (bins[0] / 2), 2 ** ((bins[-1] + 1) / 2)
    size = (400, 260)
    plot = frame((low, high), (0, ticks[-1]), size=size, log_x=True)
    at = [2 ** ((b + 0.5) / 2) for b in bins]
    marks = [10.0**k for k in range(0, 10) if low <= 10.0**k <= high]
    if len(marks) < 2:
        marks = [low, high]
    parts = [
        axes(
            plot,
            x_ticks=[(v, _short(v)) for v in marks],
            y_ticks=[t for t in share_ticks(ticks[-1]) if t[0] <= ticks[-1] + 1e-9],
            x_title="characters",
            y_title="% of rows",
        ),
        line(plot, at, [pool.get(b, 0.0) for b in bins], "curve poolline"),
    ]
    for look, shares in arms.items():
        ys = [shares.get(b, 0.0) for b in bins]
        curve = line(plot, at, ys, "curve thin", dash=look.dash)
        peak = max(range(len(ys)), key=ys.__getitem__)
        x, y = plot.x(at[peak]), plot.y(ys[peak])
        parts.append(
            el("g", curve, marker(x, y, look.marker, "mark after"), class_=look.css)
        )
    for b, x in zip(bins, at, strict=True):
        said_all = [f"pool: {percent(pool.get(b, 0.0))} %"]
        said_all += [f"{k.name}: {percent(v.get(b, 0.0))} %" for k, v in arms.items()]
        span = f"{2 ** (b / 2):,.0f} to {2 ** ((b + 1) / 2):,.0f} characters"
        parts.append(spot(plot.x(x), plot.y(0) - 90, "\n".join([span, *said_all])))
    return drawing(*size, "Lengths of conversations, pool and selections", *parts)


def _short(value: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:.0f}"
