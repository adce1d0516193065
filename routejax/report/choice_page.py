"""What was chosen from a pool, as one HTML page that needs nothing else.

    header     the selections in one sentence, and how far each lies from its pool
    sections   spread, maps with the why of every dot, what tells two selections apart,
               composition, overlap

The page is a function of `report.json` (`stages.select_report`). Left out: rows that
are not among those in that file; the page says how to ask about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from routejax.report import choice_makeup, choice_map, choice_spread, choice_why
from routejax.report.choice_inputs import Choice, read_choice
from routejax.report.document import document
from routejax.report.layout import chip
from routejax.report.svg import el
from routejax.report.wording import listed, plural, said, significant

# anchor: (title, what stands in the section)
SECTIONS: dict[str, tuple[str, tuple[Callable[[Choice], str], ...]]] = {
    "spread": (
        "Spread",
        (choice_spread.distances, choice_spread.reach, choice_spread.within_prompts),
    ),
    "maps": ("Maps", (choice_map.maps,)),
    "why": ("Why these rows", (choice_why.first_rows, choice_why.other_rows)),
    "apart": ("What tells them apart", (choice_spread.features,)),
    "made-of": ("What they are made of", (choice_makeup.composition,)),
    "shared": ("Rows in common", (choice_makeup.quotas, choice_makeup.overlap)),
}


def choice_page(report: Mapping[str, Any]) -> str:
    """One self-contained HTML page; the same report gives the same bytes.

    Every text from outside is escaped, its control characters made visible. What a
    report lacks is said in words.

    Raises:
        UserError: a report of another schema.
    """
    choice = read_choice(report)
    sections = [
        el("section", el("h2", name), *(part(choice) for part in parts), id=anchor)
        for anchor, (name, parts) in SECTIONS.items()
    ]
    links = [el("a", name, href=f"#{key}") for key, (name, _) in SECTIONS.items()]
    return document(
        f"Selection {said(choice.config)}",
        _masthead(choice),
        _tiles(choice),
        el("nav", *links, aria_label="Sections"),
        *sections,
        _footer(choice),
        own="choice",
        class_="choice",
        data=choice_map.data(choice),
    )


def headline(choice: Choice) -> str:
    """How the compared selections differ in their routes, or what was chosen."""
    pair, ratio = choice.report["compared"], choice.report["ratio"]
    found = (ratio or {}).get("topology_distance")
    if pair and found:
        return (
            f"Solutions of one prompt lie {significant(found, 3)} times as far apart "
            f"in {pair[0]} as in {pair[1]}"
        )
    rows = plural(choice.rows(choice.looks[0].name), "row")
    return f"{rows} chosen by {listed([look.name for look in choice.looks])}"


def _masthead(choice: Choice) -> str:
    pool = choice.report["pool"]
    sizes = {choice.rows(look.name) for look in choice.looks}
    each = " each" if len(choice.looks) > 1 else ""
    rows = plural(min(sizes), "row") + each
    names = listed([look.name for look in choice.looks])
    setting = (
        f"{names}: {rows} of {plural(pool['eligible'], 'eligible trace')}, "
        f"{pool['solutions']:,} in the pool, under the same quotas of "
        f"{plural(len(pool['groups']), 'group')}. Distances are those of "
        f"{said(choice.report['family'])} fingerprints of the routes."
    )
    return el(
        "header",
        el("p", f"routejax selection · {said(choice.config)}", class_="kicker"),
        el("h1", headline(choice)),
        el("p", setting, class_="standfirst"),
        class_="masthead",
    )


def _tiles(choice: Choice) -> str:
    tiles = []
    for look in choice.looks:
        facts = choice.geometry(look.name)
        radius = significant(facts["covering_radius"])
        tiles.append(
            el(
                "div",
                el("h3", chip(look)),
                el("div", significant(facts["vendi"]), class_="big"),
                el("div", "distinct rows in effect (Vendi)", class_="unit"),
                el("div", f"covering radius {radius}", class_="unit"),
                class_=f"tile {look.css}",
            )
        )
    return el("div", *tiles, class_="tiles")


def _footer(choice: Choice) -> str:
    version = said(choice.report["routejax"])
    listing = [
        el("li", said(look.name), " ", el("code", said(choice.sha256(look.name))))
        for look in choice.looks
    ]
    return el(
        "footer",
        el("p", f"Made by routejax {version}. SHA-256 of the sorted ids:"),
        el("ul", *listing, class_="hashes"),
    )
