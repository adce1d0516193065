"""The result as one table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from routejax.report.inputs import Inputs, read_inputs
from routejax.report.wording import (
    ABSENT,
    CELL_TITLES,
    percent,
    plural,
    points,
)

COLOURS = ("magenta", "yellow", "cyan", "blue", "red", "white")
STYLES = {"sft": "dim", "rl": "bold", "gain": ""}
STAGES = {"sft": "after SFT", "rl": "after RL", "gain": "gain"}
_NOTE = "percent ± half the 95 % interval; the gain of RL in points"

COLUMNS = (
    ("acc1", "in_range"),
    ("passN", "in_range"),
    ("passN", "seen"),
    ("passN", "unseen"),
    ("passN", "extrapolation"),
)


def study_table(results: Mapping[str, Any]) -> Table:
    """Scores of every arm after SFT and after RL, and a verdict per pair below.

    Numbers are percent, gains points; ± is half the width of the 95 % interval.

    Raises:
        UserError: if `results` has another schema or no study.
    """
    inputs = read_inputs(results, {}, {}, {})
    said = [pair["verdict"] for pair in inputs.study["pairs"].values()]
    table = Table(
        title=_title(inputs),
        caption="\n".join([_NOTE, *said]),
        caption_justify="left",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("", no_wrap=True)
    for outcome, cell in COLUMNS:
        name = "acc@1" if outcome == "acc1" else f"pass@{inputs.samples}"
        heading = f"{name}\n{CELL_TITLES[cell].lower()}"
        table.add_column(heading, justify="right", no_wrap=True)
    for arm in inputs.arms:
        # Text, not markup: a name with square brackets stays as it is.
        table.add_row(Text(arm.name, f"bold {COLOURS[arm.index]}"))
        for stage, style in STYLES.items():
            table.add_row(*_row(inputs, arm.name, stage, style))
    return table


def _row(inputs: Inputs, arm: str, stage: str, style: str) -> list[Text]:
    values = [
        _value(inputs.interval(arm, cell, outcome, stage), stage)
        for outcome, cell in COLUMNS
    ]
    return [Text(text, style) for text in (f"  {STAGES[stage]}", *values)]


def _value(interval: Mapping[str, Any] | None, stage: str) -> str:
    if not interval:
        return ABSENT
    mean = interval["mean"]
    half = (interval["upper"] - interval["lower"]) / 2
    return f"{points(mean) if stage == 'gain' else percent(mean)} ±{percent(half)}"


def _title(inputs: Inputs) -> str:
    config = inputs.results.get("config") or "study"
    return (
        f"{config}: {plural(inputs.study['problems'], 'problem')}, "
        f"{plural(inputs.samples, 'sample')} each, "
        f"{plural(inputs.seeds(), 'seed')} per arm"
    )
