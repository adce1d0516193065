"""An evaluation as one table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from routejax.report.wording import ABSENT, percent

_NOTE = "percent ± half the 95 % bootstrap interval over questions"


def evaluation_table(found: Mapping[str, Any]) -> Table:
    """A row for each set, and one for their mean, of what `evaluation.scores` gives."""
    sets, mean = found["sets"], found["mean"]
    ks = sorted({k for one in sets.values() for k in one["passes"]})
    notes = [_NOTE]
    if mean:
        notes.append("mean: every set weighs the same, pass@k where all have k samples")
    table = Table(
        title=f"{found['name']}: {_who(found['student'])}",
        caption="\n".join(notes),
        caption_justify="left",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("", no_wrap=True)
    for heading in ("questions", "samples", "acc@1", *(f"pass@{k}" for k in ks)):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("cut off", justify="right", no_wrap=True)
    for name, one in sets.items():
        sizes = (f"{one['problems']:,}", str(one["samples"]))
        table.add_row(Text(name), *sizes, *_scores(one, ks), _cut(one["finish"]))
    if mean:
        sizes = (f"{mean['questions']:,}", "")
        row = (Text("mean", "bold"), *sizes, *_scores(mean, ks), "")
        table.add_row(*row, style="bold")
    return table


def _who(student: Mapping[str, Any]) -> str:
    if "arm" in student:
        phase = {"sft": "after SFT", "grpo": "after RL"}[student["phase"]]
        return f"{student['arm']}, seed {student['seed']}, {phase} ({student['run']})"
    return student.get("weights") or ", ".join(student["files"])


def _scores(one: Mapping[str, Any], ks: list[int]) -> list[str]:
    found = [one["acc1"], *(one["passk"].get(str(k)) for k in ks)]
    return [_value(interval) for interval in found]


def _value(interval: Mapping[str, Any] | None) -> str:
    if interval is None:
        return ABSENT
    half = (interval["upper"] - interval["lower"]) / 2
    return f"{percent(interval['mean'])} ±{percent(half)}"


def _cut(finish: Mapping[str, int]) -> str:
    known = finish.get("stop", 0) + finish.get("length", 0)
    return percent(finish.get("length", 0) / known) if known else ABSENT
