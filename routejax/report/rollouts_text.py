"""Samples of RL in the terminal: a line per step, then a card per sample.

Text from the samples is no markup, and its control characters are visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from routejax.report.rollouts_view import GROUPS, READABLE, Sample, StepLine
from routejax.report.wording import decimal, percent, plural, signed, visible, whole

SHOWN = 12  # lines of the summary of one run
_CLIP = 1200  # characters of a response where several samples are shown
_END = 300  # of these, how many are the last ones
_MISSES = {"no_answer": "no answer", "unparsed": "answer of another form"}


def summary(lines: Sequence[StepLine]) -> RenderableType:
    """A table per run, a line per step; of many steps some, the first and the last."""
    return Group(
        *(_table(run, list(found)) for run, found in groupby(lines, lambda x: x.run))
    )


def cards(samples: Sequence[Sample]) -> RenderableType:
    """The samples below each other; a single one whole, long ones of several cut."""
    return Group(*(_card(sample, len(samples) > 1) for sample in samples))


def judged(sample: Sample) -> str:
    """What became of a sample, in words: "right", "wrong: 3, expected 5"."""
    if sample.solved:
        return "right"
    if sample.finish == "length":
        return "cut off"
    if sample.status == READABLE:
        expected = sample.expected
        told = "" if expected is None else f", expected {visible(expected)}"
        return f"wrong: {visible(sample.answer)}{told}"
    return _MISSES.get(sample.status, sample.status)


def _table(run: str, lines: Sequence[StepLine]) -> Table:
    shown = _spread(lines)
    left = len(lines) - len(shown)
    table = Table(
        title=Text(f"{run}: {plural(len(lines), 'step')} with samples", "bold"),
        caption=f"{plural(left, 'step')} between these not shown" if left else None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for name in ("step", "reward", "all\nfail", "mixed", "all\ncorrect"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("tokens\nmean", "tokens\nmost", "cut\noff", "not\nparsed", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in shown:
        shares = (one.all_fail, one.mixed, one.all_correct)
        table.add_row(
            str(one.step),
            decimal(one.reward, 3),
            *(f"{percent(share)} %" for share in shares),
            decimal(one.tokens),
            whole(one.longest),
            *(f"{percent(share)} %" for share in (one.truncated, one.unparsed)),
            whole(one.samples),
        )
    return table


def _spread(lines: Sequence[StepLine]) -> list[StepLine]:
    if len(lines) <= SHOWN:
        return [*lines]
    return [lines[i * (len(lines) - 1) // (SHOWN - 1)] for i in range(SHOWN)]


def _card(sample: Sample, clipped: bool) -> Panel:
    text = Text()
    text.append(judged(sample), "bold green" if sample.solved else "bold red")
    facts = [
        f"reward {decimal(sample.reward, 2)}",
        f"advantage {signed(sample.advantage, 2)}",
        plural(sample.tokens, "token"),
        f"ended by {sample.finish}",
        f"group {GROUPS.get(sample.group, sample.group)}",
        "trained on" if sample.trained else "not trained on",
    ]
    text.append(visible("".join(f" · {fact}" for fact in facts)) + "\n\n", "dim")
    text.append(visible(sample.prompt) + "\n\n", "cyan")
    response = visible(sample.response)
    if clipped and len(response) > _CLIP:
        cut = len(response) - _CLIP
        text.append(response[: _CLIP - _END])
        text.append(f"\n… {cut:,} characters, whole with --n=1 …\n", "dim")
        text.append(response[-_END:])
    else:
        text.append(response)
    where = (
        f"{sample.run} · step {sample.step} · {sample.env} {sample.difficulty} · "
        f"{sample.problem} · sample {sample.sample}"
    )
    return Panel(
        text,
        title=Text(visible(where)),
        title_align="left",
        box=box.ROUNDED,
        border_style="green" if sample.solved else "dim",
    )
