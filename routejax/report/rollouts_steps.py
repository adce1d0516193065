"""How outcomes and rewards go over the steps of RL, drawn for the page of samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from routejax.report.rollouts_view import GROUPS, StepLine
from routejax.report.svg import (
    Frame,
    axes,
    bar,
    drawing,
    el,
    frame,
    line,
    marker,
    share_ticks,
)
from routejax.report.wording import decimal, percent, said, visible, whole

_MOST_TICKS = 8


def step_panels(lines: Sequence[StepLine]) -> str:
    """One drawing per run: shares of prompts by outcome, and the reward over them."""
    drawn = [
        _panel(run, list(found)) for run, found in groupby(lines, lambda one: one.run)
    ]
    keys = [
        el("span", el("i", class_=f"block {css}"), words, class_="key")
        for css, words in GROUPS.items()
    ]
    mean = el("span", el("i", class_="block reward"), "mean reward", class_="key")
    return "".join(
        [
            el("div", *keys, mean, class_="legend"),
            el("div", *drawn, class_="panels across2"),
            el(
                "p",
                el("b", "How to read this."),
                " Each column is a step: the shares of its prompts of which all, some "
                "or none of the samples are right. Only mixed groups have an advantage "
                "to learn from. Click a column to see its samples.",
                class_="read",
            ),
        ]
    )


def _panel(run: str, lines: Sequence[StepLine]) -> str:
    first, last = lines[0], lines[-1]
    note = (
        f"reward {decimal(first.reward, 3)} → {decimal(last.reward, 3)} · "
        f"tokens {decimal(first.tokens)} → {decimal(last.tokens)} · cut off "
        f"{percent(first.truncated)} → {percent(last.truncated)} %"
    )
    return el(
        "div",
        el("h4", said(run)),
        _drawing(run, lines),
        el("p", note, class_="note"),
        class_="panel",
    )


def _drawing(run: str, lines: Sequence[StepLine]) -> str:
    count = len(lines)
    plot = frame((0, count), (0, 1), size=(480, 210), left=34, right=6)
    every = -(-count // _MOST_TICKS)
    ticks = [(i + 0.5, str(one.step)) for i, one in enumerate(lines) if i % every == 0]
    middles = [i + 0.5 for i in range(count)]
    rewards = [min(1.0, max(0.0, one.reward)) for one in lines]
    spots = [
        marker(plot.x(x), plot.y(y), "circle", "mark reward", radius=3)
        for x, y in zip(middles, rewards, strict=True)
    ]
    return drawing(
        plot.width,
        plot.height,
        f"Outcomes and rewards by step, {visible(run)}",
        *(_column(plot, i, one) for i, one in enumerate(lines)),
        axes(
            plot,
            x_ticks=ticks,
            y_ticks=share_ticks(1.0),
            x_title="step",
            y_title="prompts, %",
        ),
        line(plot, middles, rewards, "curve reward"),
        *(spots if count <= 2 * _MOST_TICKS else []),
        *(_hit(plot, i, one) for i, one in enumerate(lines)),
    )


def _column(plot: Frame, place: int, one: StepLine) -> str:
    """From below: all correct, mixed, all fail."""
    gap = 0.08 if plot.x.high <= 60 else 0
    left, right = plot.x(place + gap), plot.x(place + 1 - gap)
    parts, low = [], 0.0
    for css in ("all_correct", "mixed", "all_fail"):
        high = low + getattr(one, css)
        box = (left, plot.y(high), right - left, plot.y(low) - plot.y(high))
        parts.append(bar(box, css))
        low = high
    return "".join(parts)


def _hit(plot: Frame, place: int, one: StepLine) -> str:
    """An unseen column over the whole height, which knows its step."""
    shares = [
        f"{words} {percent(getattr(one, css))} %" for css, words in GROUPS.items()
    ]
    tip = "\n".join(
        [
            f"{visible(one.run)}, step {one.step}",
            f"reward {decimal(one.reward, 3)}",
            ", ".join(shares),
            f"tokens {decimal(one.tokens)} (most {whole(one.longest)})",
            f"cut off {percent(one.truncated)} %, not parsed {percent(one.unparsed)} %",
        ]
    )
    left, right = plot.x(place), plot.x(place + 1)
    return el(
        "rect",
        x=left,
        y=plot.y(1),
        width=right - left,
        height=plot.y(0) - plot.y(1),
        class_="hit column",
        data_tip=tip,
        data_run=visible(one.run),
        data_step=one.step,
    )
