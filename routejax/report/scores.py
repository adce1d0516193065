"""The main table: every arm before RL, after it, and what RL added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import swatch
from routejax.report.svg import el
from routejax.report.wording import (
    ABSENT,
    CELL_TITLES,
    STAGE_TITLES,
    escaped,
    percent,
    points,
    points_span,
    score_span,
)

CELLS = ("in_range", "seen", "unseen", "extrapolation")
STAGES = ("sft", "rl", "gain")


def main_table(inputs: Inputs) -> str:
    """Means with 95 % intervals under them; the best after RL is underlined."""
    cells = [cell for cell in inputs.cells(CELLS) if cell in CELL_TITLES]
    columns = [(outcome, cell) for outcome in ("acc1", "passN") for cell in cells]
    best = {column: _best(inputs, *column) for column in columns}
    bodies = [_body(inputs, arm, columns, best) for arm in inputs.arms]
    inside = el("table", _head(inputs, cells), *bodies, class_="scores")
    return el(
        "figure",
        el(
            "figcaption",
            el("b", "Scores before and after RL"),
            " ",
            el("span", "in percent; gains in points", class_="units"),
            class_="plain",
        ),
        el("div", inside, class_="scroll"),
        el(
            "p",
            el("b", "How to read this."),
            f" {escaped(_read(inputs))}",
            class_="read",
        ),
        id="scores",
    )


def _read(inputs: Inputs) -> str:
    how = "t over training seeds" if inputs.seeds() > 1 else "bootstrap over questions"
    trained = (inputs.results.get("evaluation") or {}).get("in_range")
    band = f"difficulty {trained[0]} to {trained[1]}" if trained else "as in training"
    best = " Underlined: best after RL." if inputs.arms[1:] else ""
    return (
        "acc@1 is the mean share of correct samples, "
        f"pass@{inputs.samples} the share of problems with at least one. Small numbers "
        f"are 95 % intervals ({how}). In range: {band}, any environment; "
        "extrapolation: beyond. Seen and unseen: environments with and without traces "
        f"in SFT, any difficulty.{best}"
    )


def _head(inputs: Inputs, cells: list[str]) -> str:
    names = {"acc1": "acc@1", "passN": f"pass@{inputs.samples}"}
    groups = [
        el("th", name, colspan=len(cells), scope="colgroup", class_=f"group {key}")
        for key, name in names.items()
    ]
    titles = [
        el("th", CELL_TITLES[cell], scope="col", class_=_edge(cell, cells))
        for _ in names
        for cell in cells
    ]
    corner = el("td", rowspan=2, class_="corner")
    return el("thead", el("tr", corner, *groups), el("tr", *titles))


def _body(
    inputs: Inputs,
    arm: Look,
    columns: list[tuple[str, str]],
    best: Mapping[tuple[str, str], float | None],
) -> str:
    rows = []
    cells = [cell for _, cell in columns]
    name = el("span", swatch(arm), escaped(arm.name))
    head = el("th", name, colspan=len(columns) + 1, scope="rowgroup")
    rows.append(el("tr", head, class_="name"))
    for stage in STAGES:
        values = [
            _value(
                inputs.interval(arm.name, cell, outcome, stage),
                stage,
                best[outcome, cell],
                _edge(cell, cells),
            )
            for outcome, cell in columns
        ]
        head = el("th", STAGE_TITLES[stage], scope="row", class_="stage")
        rows.append(el("tr", head, *values, class_=stage))
    return el("tbody", *rows, class_=arm.css)


def _value(
    interval: Mapping[str, Any] | None, stage: str, best: float | None, edge: str | None
) -> str:
    if not interval:
        return el("td", ABSENT, class_=edge)
    mean = interval["mean"]
    if stage == "gain":
        big, small = points(mean), points_span(interval)
    else:
        big, small = percent(mean), score_span(interval)
    top = stage == "rl" and best is not None and mean == best
    shown = el("b", big) if top else big
    return el("td", el("span", shown), el("small", small), class_=edge)


def _best(inputs: Inputs, outcome: str, cell: str) -> float | None:
    if len(inputs.arms) == 1:
        return None
    found = [inputs.interval(arm.name, cell, outcome, "rl") for arm in inputs.arms]
    return max((one["mean"] for one in found if one), default=None)


def _edge(cell: str, cells: list[str]) -> str | None:
    return "edge" if cell == cells[0] else None
