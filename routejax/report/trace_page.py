"""One trace on one HTML page that needs nothing else: no network, no fonts.

    header       where the trace comes from, its size
    steps, tree  the text coloured by step type beside the drawn tree
    features     where its fingerprint differs most from the pool

Left out: comparing two traces.
"""

from __future__ import annotations

from routejax.report.document import document
from routejax.report.svg import el
from routejax.report.trace_page_features import feature_section
from routejax.report.trace_page_outline import Extent, Row, extent, outline
from routejax.report.trace_page_steps import legend, step_list, strip
from routejax.report.trace_page_tree import edge_legend, overview, tree
from routejax.report.trace_page_view import TraceView
from routejax.report.wording import listed, plural, said

_HOW = (
    "Every step is one row of the tree, from top to bottom. The heavy line is the way "
    "from the first step to where the reasoning ended; what leaves it to the right was "
    "tried and left, and a check is a small leaf beside what it checks. The number at "
    "the right is the depth of the step in the tree; the narrow picture beside it is "
    "the whole tree over its depth. Point at a step or a "
    "node to find the other; click to keep it, and to see its way from the root; the "
    "arrow keys go on from there. Point at a type to bring its steps forward."
)


def explained_page(view: TraceView) -> str:
    """One self-contained HTML page about a trace; the same view gives the same bytes.

    Every text from outside is escaped, its control characters made visible. A trace
    without steps and a view without a pool say so in words.
    """
    rows = outline(view.steps)
    size = extent(view.steps, rows)
    return document(
        f"Trace {said(view.id)}",
        _masthead(view, size),
        _tiles(size),
        _walk(view, rows),
        feature_section(view),
        own="trace_page",
        class_="wide",
    )


def summary(size: Extent) -> str:
    """The route in two sentences."""
    if not size.steps:
        return "It has no steps."
    turns = [
        f"sets out another way {_times(size.explored)}" if size.explored else "",
        f"turns back {_times(size.returned)}" if size.returned else "",
        f"stops to check {_times(size.checks)}" if size.checks else "",
    ]
    taken = listed([turn for turn in turns if turn]) or "leads straight to its end"
    return (
        f"{plural(size.steps, 'step')} of {plural(size.types, 'type')}, in a tree of "
        f"depth {size.depth:,} with {size.leaves:,} "
        f"{'leaf' if size.leaves == 1 else 'leaves'}. The route {taken}."
    )


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _masthead(view: TraceView, size: Extent) -> str:
    verified = {True: "yes", False: "no", None: "unknown"}[view.verified]
    pool = "not known" if view.pool_mean is None else "known"
    if view.pool_mean is not None and view.pool_rows is not None:
        pool = plural(view.pool_rows, "trace")
    facts = {
        "Group": view.group,
        "Source": view.source or "unknown",
        "Verified": verified,
        "Reasoning span": view.span,
        "Fingerprint": f"{view.family}, version {view.version}",
        "Compared with": f"pool: {pool}",
    } | ({"Selection": view.standing} if view.standing else {})
    listing = [
        el("div", el("dt", name), el("dd", said(value)))
        for name, value in facts.items()
    ]
    return el(
        "header",
        el("p", "One trace, explained", class_="kicker"),
        el("h1", said(view.id), class_="long" if len(view.id) > 40 else None),
        el("p", summary(size), class_="standfirst"),
        el("dl", *listing, class_="origin"),
        _prompt(view.prompt),
        class_="masthead",
    )


def _prompt(prompt: str) -> str:
    if not prompt.strip():
        return el("p", "The prompt is empty.", class_="note")
    head = el("summary", f"Prompt, {plural(len(prompt), 'character')}")
    text = el("p", said(prompt), class_="prompt", dir="auto")
    return el("details", head, text, class_="more asked")


def _tiles(size: Extent) -> str:
    tiles = (
        ("Steps", size.steps, ""),
        ("Depth", size.depth, "edges to the deepest"),
        ("Leaves", size.leaves, "steps nothing follows from"),
        ("Another way", size.explored, "exploration edges"),
        ("Back", size.returned, "backtracking edges"),
        ("Checks", size.checks, "small leaves"),
    )
    drawn = [
        el(
            "div",
            el("h3", name),
            el("div", f"{value:,}", class_="big"),
            el("div", unit, class_="unit"),
            class_="tile",
        )
        for name, value, unit in tiles
    ]
    return el("div", *drawn, class_="tiles")


def _walk(view: TraceView, rows: list[Row]) -> str:
    if not view.steps:
        absent = el("p", "The reasoning holds no step to draw.", class_="absent")
        return el("section", el("h2", "Steps and tree"), absent, id="walk")
    panes = el(
        "div",
        el(
            "div",
            step_list(view, rows),
            class_="pane",
            id="texts",
            tabindex=0,
            role="region",
            aria_label="Steps",
        ),
        el(
            "div",
            el(
                "div",
                el("div", "step", el("span", "depth"), class_="over"),
                tree(view.steps, rows),
                class_="pane",
                id="drawn",
            ),
            el(
                "div",
                overview(view.steps, rows),
                el("i", class_="window"),
                id="overview",
            ),
            class_="beside",
        ),
        class_="walk",
    )
    return el(
        "section",
        el("h2", "Steps and tree"),
        legend(view),
        edge_legend(view.steps, rows),
        strip(view),
        panes,
        el("p", el("b", "How to read this."), f" {_HOW}", class_="read"),
        id="walk",
    )
