"""One trace in the terminal: its steps, its tree in box characters, its differences.

In the tree every line of steps keeps its column, however long it is; an attempt that
was left stands one column further in, above what followed it. Edges keep their form: a
dashed line tries another way, a double line goes back. Long traces are folded: steps
that simply follow each other, and attempts of one step, share a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from routejax.report.trace_page import summary
from routejax.report.trace_page_glyphs import type_name
from routejax.report.trace_page_outline import Row, extent, outline
from routejax.report.trace_page_view import (
    Difference,
    TraceView,
    cue_span,
    differences,
)
from routejax.report.traces import kind_of
from routejax.report.wording import plural, signed, significant, visible

STYLES = {
    "setup": "bright_blue",
    "computation": "blue",
    "deduction": "magenta",
    "verification": "green",
    "backtracking": "red",
    "exploration": "yellow",
    "backward": "bright_magenta",
    "decomposition": "cyan",
    "commentary": "bright_black",
    "conclusion": "bold",
    "other": "",
}

# Edge: how it leaves a line for an attempt, and how it goes on in one.
TURNS = {"sequential": "├─", "exploration": "├╌", "backtracking": "╞═"}
ONWARD = {"": "┌ ", "sequential": "│ ", "exploration": "┆ ", "backtracking": "║ "}

KEY = "│ goes on   ┆ ├╌ another way   ║ ╞═ goes back   ├─ a check"

UNFOLDED = 40  # steps; a longer trace is drawn with straight runs folded
SHOWN = 10
_CUT = 1000  # characters of a step that any terminal could show


class Line(NamedTuple):
    """One line of the tree: steps `first` to `last`, drawn behind `branch`."""

    first: int
    last: int
    branch: str


def explained_text(view: TraceView) -> RenderableType:
    """The trace for a terminal of any width: head, steps, tree, differences.

    Text from the trace is no markup, its control characters are visible, and each step
    is one line cut at the edge.
    """
    rows = outline(view.steps)
    parts: list[RenderableType] = [_head(view), summary(extent(view.steps, rows))]
    if view.steps:
        parts += ["", steps_table(view), "", Text(KEY, "dim")]
        parts += tree_lines(view, rows)
    return Group(*parts, "", *_differences(view))


def steps_table(view: TraceView) -> Table:
    """One line per step: number, type, the cue or rule that gave the type, the text."""
    table = Table(box=None, pad_edge=False, show_header=False, expand=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=6)
    for i, step in enumerate(view.steps):
        table.add_row(
            f"{i + 1}",
            _typed(step.type),
            Text(visible(_why(step.rule, view.cue(i)))),
            _one_line(step.step, view.cue(i)),
        )
    return table


def tree_lines(view: TraceView, rows: Sequence[Row]) -> Iterator[Text]:
    """The tree, a line per step, or per run of steps in a long trace."""
    folded = len(rows) > UNFOLDED
    for line in tree_plan(view, rows, folded=folded):
        text = Text(line.branch, no_wrap=True, overflow="ellipsis")
        if line.first == line.last:
            step = view.steps[line.first]
            text.append(f"{line.first + 1} ", "dim").append_text(_typed(step.type))
            text.append("  ").append_text(_one_line(step.step, "", "dim"))
        else:
            text.append(f"{line.first + 1}–{line.last + 1}  ", "dim")
            kinds = [s.type for s in view.steps[line.first : line.last + 1]]
            text.append_text(_types(kinds))
        yield text


def tree_plan(view: TraceView, rows: Sequence[Row], *, folded: bool) -> list[Line]:
    """The lines of the tree in order; together they hold every step once."""
    lines: list[Line] = []
    steps = range(len(rows))
    for _, group in groupby(steps, lambda i: _sort(view, rows, i) if folded else i):
        run = list(group)
        one = len(run) == 1 or rows[run[0]].detour
        line = _branch(view, rows, run[0]) if one else "│ " * (rows[run[0]].lane + 1)
        lines.append(Line(run[0], run[-1], line))
    return lines


def _sort(view: TraceView, rows: Sequence[Row], i: int) -> tuple[object, ...]:
    """What steps must share to stand in one line."""
    row, edge = rows[i], view.steps[i].edge
    if row.detour:
        return (row.lane, edge, "left at once" if not row.children else i)
    if edge == "sequential":
        return (row.lane, "straight on")
    return (i,)


def _branch(view: TraceView, rows: Sequence[Row], i: int) -> str:
    row, step = rows[i], view.steps[i]
    if row.check:
        lasts = rows[step.parent].onward < 0 and _last_child(view, i)
        return "│ " * row.lane + ("└─ " if lasts else "├─ ")
    if row.detour:
        corner = "╮ " if row.children else "╴ "
        return "│ " * (row.lane - 1) + TURNS[step.edge] + corner
    return "│ " * row.lane + ONWARD[step.edge]


def _last_child(view: TraceView, i: int) -> bool:
    parent = view.steps[i].parent
    return i + 1 == len(view.steps) or view.steps[i + 1].parent != parent


def _types(kinds: Sequence[str]) -> Text:
    """Types in order where they are few, else their counts."""
    runs = [(kind, len(list(group))) for kind, group in groupby(kinds)]
    if len(runs) > 6:
        runs = Counter(kinds).most_common()
    parts = []
    for kind, count in runs:
        part = _typed(kind)
        if count > 1:
            part.append(f" ×{count:,}", "default")
        parts.append(part)
    return Text(", ").join(parts)


def _typed(kind: str) -> Text:
    return Text(visible(type_name(kind)), STYLES[kind_of(kind)])


def _why(rule: str, cue: str) -> str:
    return f"“{cue}”" if cue else rule


def _one_line(step: str, cue: str, style: str = "") -> Text:
    """The start of a step on one line, the cue underlined."""
    start = step[:_CUT]
    span = cue_span(start, cue)
    text = Text(style=style)
    for part, mark in _parts(start, span):
        # The bars keep a space at either end, which joins the part to its neighbours.
        text.append(" ".join(f"|{visible(part)}|".split())[1:-1], mark)
    return text


def _parts(text: str, span: tuple[int, int] | None) -> list[tuple[str, str]]:
    if not span:
        return [(text, "")]
    start, end = span
    return [(text[:start], ""), (text[start:end], "underline bold"), (text[end:], "")]


def _head(view: TraceView) -> Text:
    verified = {True: "verified", False: "not verified", None: "not known to be right"}
    facts = (
        f"group {view.group}",
        f"source {view.source or 'unknown'}",
        verified[view.verified],
        f"span {view.span}",
        f"family {view.family}, version {view.version}",
    )
    text = Text(visible(view.id), "bold")
    text.append("\n" + visible(" · ".join(facts)), "not bold")
    return text.append(
        f"\n{visible(view.standing)}" if view.standing else "", "not bold"
    )


def _differences(view: TraceView) -> list[RenderableType]:
    sides = differences(view, SHOWN)
    if sides is None:
        return ["No statistics of a pool, so no z-scores."]
    pool = "" if view.pool_rows is None else f" of {plural(view.pool_rows, 'trace')}"
    names = (f"Most above the mean of the pool{pool}", "Most below it")
    return [
        _feature_table(name, side)
        for name, side in zip(names, sides, strict=True)
        if side
    ]


def _feature_table(name: str, side: Sequence[Difference]) -> Table:
    table = Table(title=name, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("feature", overflow="fold")
    for column in ("here", "pool", "z"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("meaning", style="dim")
    for one in side:
        table.add_row(
            Text(visible(one.name)),
            significant(one.value),
            significant(one.mean),
            signed(one.z),
            Text(visible(one.meaning)),
        )
    return table
