"""Why rows were chosen: the first of every selection, and how to ask about others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routejax.report.choice_inputs import Choice
from routejax.report.inputs import Look
from routejax.report.layout import figure, swatch, table
from routejax.report.svg import el
from routejax.report.wording import ABSENT, plural, said, significant

FIRST = 12
_LONG = 28  # characters of an id that a table shows


def first_rows(choice: Choice) -> str:
    """The first rows of each selector: cluster, rank, distance, neighbour, route."""
    tables = [_table(choice, look) for look in choice.looks]
    return figure(
        "first",
        "The first rows of every selection",
        *tables,
        units=f"{FIRST} rows at most, groups taking turns, in the order picked",
        read=(
            "A distance is what the row was picked by: what it is taken to stands "
            "above its column. The nearest other row is the one most like it that the "
            "same selector chose; if it is near, the selection holds the route twice. "
            "A route opens the drawn steps of the row."
        ),
    )


def other_rows(choice: Choice) -> str:
    """The commands for rows that are not in the page."""
    commands = choice.report["commands"]
    parts = [
        el("p", "Why any row of the pool was chosen, or was not:"),
        el("pre", el("code", said(f"{commands['why']}ID")), class_="command"),
    ]
    if choice.report["grammar"]:
        parts += [
            el("p", "The route of any row, as a page of its own:"),
            el("pre", el("code", said(f"{commands['route']}ID")), class_="command"),
        ]
    else:
        family = said(choice.report["family"])
        parts.append(
            el("p", f"The family {family} reads no steps in the text: no routes.")
        )
    return el("div", *parts, class_="commands")


def _table(choice: Choice, look: Look) -> str:
    one = choice.selector(look.name)
    rows = one["rows"][:FIRST]
    clustered = any(row["cluster"] is not None for row in rows)
    measured = one["measured"]
    head = ["Row", "Group", *(["Cluster"] if clustered else []), "Pick"]
    if measured:
        head.append(el("div", f"Distance to {said(measured)}", class_="to"))
    head.append("Nearest other chosen row")
    drawn = any(row["route"] for row in rows)
    if drawn:
        head.append("")
    cells = [_row(row, clustered, bool(measured), drawn) for row in rows]
    summary = el(
        "summary", swatch(look), el("b", said(look.name)), " ", said(one["sentence"])
    )
    return el(
        "details",
        summary,
        table(head, cells, class_="facts numbers why"),
        class_=f"picks {look.css}",
        open="" if look.index == 0 else None,
    )


def _row(
    row: Mapping[str, Any], clustered: bool, measured: bool, drawn: bool
) -> list[str]:
    cells = [short_id(row["id"]), said(row["group"])]
    if clustered:
        cells.append(_cluster(row))
    cells.append(f"{row['rank'] + 1:,}")
    if measured:
        cells.append(significant(row["distance"]))
    near = ABSENT
    if row["near"] is not None:
        gap = el("small", f" at {significant(row['near_distance'])}")
        near = short_id(row["near"]) + gap
    cells.append(near)
    if drawn:
        link = ABSENT
        if row["route"]:
            link = el("a", "route", href=row["route"])
        cells.append(link)
    return cells


def _cluster(row: Mapping[str, Any]) -> str:
    if row["cluster"] is None:
        return ABSENT
    size = row["cluster_rows"]
    if size is None:
        return f"{row['cluster']:,}"
    held = f" {row['cluster_chosen']:,} of {plural(size, 'row')}"
    return f"{row['cluster']:,}" + el("small", held)


def short_id(name: str) -> str:
    """An id as code; the middle of a long one is left out, the whole is its tip."""
    if len(name) <= _LONG:
        return el("code", said(name))
    half = (_LONG - 1) // 2
    return el("code", said(f"{name[:half]}…{name[-half:]}"), data_tip=name)
