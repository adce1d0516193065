"""Samples of RL as one HTML page that needs nothing else: no network, no fonts.

    header    which runs and steps, and how many of their samples the page has
    steps     outcomes and rewards over the steps; a step that is clicked is shown
    samples   the samples of each prompt side by side, under filters

The samples lie in the page as data and are drawn by its script, a few groups at a time.
Left out: samples beyond the bound of the page, which says how to see them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from routejax.report.document import document
from routejax.report.rollouts_steps import step_panels
from routejax.report.rollouts_text import judged
from routejax.report.rollouts_view import GROUPS, Sample, StepLine
from routejax.report.svg import el
from routejax.report.wording import plural, said, visible

_ORDERS = {
    "newest": "newest step first",
    "oldest": "oldest step first",
    "longest": "longest first",
    "shortest": "shortest first",
    "reward": "highest reward first",
    "unlikely": "least likely tokens first",
}
_KEYS = {
    "j  k": "next, previous group",
    "[  ]": "earlier, later step",
    "/": "search",
    "s": "log-probabilities on, off",
    "o": "long texts of the group",
    "Esc": "clear all filters",
}


class Shown(NamedTuple):
    """What a page shows: whole groups of samples in order, and what all steps came to.

    `of` is how many samples there are to choose from, `workdir` the folder of the run.
    """

    samples: Sequence[Sample]
    lines: Sequence[StepLine]
    of: int
    workdir: str


def rollouts_page(shown: Shown) -> str:
    """One self-contained HTML page; the same samples give the same bytes.

    Every text from outside is escaped, its control characters made visible.
    """
    return document(
        f"Rollouts {said(shown.workdir)}",
        _masthead(shown),
        el("section", el("h2", "Steps"), step_panels(shown.lines), id="steps"),
        el("section", el("h2", "Samples"), *_browser(shown), id="samples"),
        own="rollouts_page",
        class_="rollouts",
        data=data(shown.samples),
    )


def data(samples: Sequence[Sample]) -> dict[str, Any]:
    """The groups for the script.

    A response is given by its pieces where they spell it, `spelt` of them; log-
    probabilities are whole hundredths of a nat.
    """
    pieces: dict[str, int] = {}
    groups = []
    for key, found in groupby(samples, lambda s: (s.run, s.step, s.problem)):
        own = list(found)
        first = own[0]
        groups.append(
            {
                "run": visible(first.run),
                "step": first.step,
                "problem": visible(key[2]),
                "env": visible(first.env),
                "difficulty": first.difficulty,
                "prompt": visible(first.prompt),
                "outcome": first.group,
                "trained": first.trained,
                "samples": [_sample(sample, pieces) for sample in own],
            }
        )
    return {"groups": groups, "pieces": [*map(visible, pieces)]}


def _sample(sample: Sample, pieces: dict[str, int]) -> dict[str, Any]:
    ids = [pieces.setdefault(piece, len(pieces)) for piece in sample.pieces]
    spelt = _spelt(sample)
    return {
        "sample": sample.sample,
        "judged": judged(sample),
        "solved": sample.solved,
        "reward": round(sample.reward, 4),
        "advantage": round(sample.advantage, 4),
        "tokens": sample.tokens,
        "cut": sample.finish == "length",
        "status": sample.status,
        "pieces": ids,
        "logps": [round(100 * float(value)) for value in sample.logps],
        **({"text": visible(sample.response)} if spelt is None else {"spelt": spelt}),
    }


def _spelt(sample: Sample) -> int | None:
    """How many pieces are the response, or nothing: the last may be an end."""
    count = len(sample.pieces)
    for kept in (count, count - 1):
        if "".join(sample.pieces[: max(0, kept)]) == sample.response:
            return kept
    return None


def _masthead(shown: Shown) -> str:
    runs = [*dict.fromkeys(line.run for line in shown.lines)]
    steps = sorted({line.step for line in shown.lines})
    which = (
        f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
    )
    what = runs[0] if len(runs) == 1 else plural(len(runs), "run")
    return el(
        "header",
        el("p", f"routejax rollouts · {said(shown.workdir)}", class_="kicker"),
        el("h1", f"Samples of {said(what)}, {which}"),
        el("p", _bound(shown), class_="standfirst"),
        class_="masthead",
    )


def _bound(shown: Shown) -> str:
    has = len(shown.samples)
    if has == shown.of:
        return f"All {plural(has, 'sample')} that were asked for are on this page."
    steps = len({(sample.run, sample.step) for sample in shown.samples})
    command = f"python -m routejax.rollouts {shlex.quote(shown.workdir)} --step=N"
    return (
        f"This page has {has:,} of {plural(shown.of, 'sample')}, from "
        f"{plural(steps, 'step')}. For others: {el('code', said(command))}, or "
        f"{el('code', '--filter')}, {el('code', '--problem')}, {el('code', '--arm')}."
    )


def _browser(shown: Shown) -> list[str]:
    runs = dict.fromkeys(visible(sample.run) for sample in shown.samples)
    steps = sorted({sample.step for sample in shown.samples})
    envs = sorted({visible(sample.env) for sample in shown.samples})
    choices = el(
        "div",
        _select("run", "Run", runs, "all runs"),
        el(
            "span",
            el("button", "‹", type="button", id="earlier", aria_label="Earlier step"),
            _select("step", "Step", dict.fromkeys(map(str, steps)), "all steps"),
            el("button", "›", type="button", id="later", aria_label="Later step"),
            class_="steps-of",
        ),
        _select("env", "Environment", dict.fromkeys(envs), "all environments"),
        _select("order", "Order", _ORDERS),
        el(
            "input",
            type="search",
            id="search",
            placeholder="Search prompts and responses",
            aria_label="Search prompts and responses",
        ).removesuffix("</input>"),
        class_="choices",
    )
    toggles = el(
        "div",
        *(_toggle("outcome", key, words) for key, words in GROUPS.items()),
        _toggle("ending", "cut", "cut off"),
        _toggle("ending", "unparsed", "not parsed"),
        _toggle("shade", "on", "log-probabilities"),
        el("span", id="count", role="status"),
        class_="toggles",
    )
    script = el("p", "The samples are drawn by a script, which is off.")
    return [
        el("div", choices, toggles, id="bar"),
        el("noscript", script),
        _scale(),
        el("div", id="groups"),
        el("button", "More", type="button", id="more"),
        _keys(),
    ]


def _select(name: str, label: str, options: dict, every: str = "") -> str:
    listed = [el("option", every, value="")] if every else []
    for value, words in options.items():
        listed.append(el("option", said(words or value), value=value))
    return el("select", *listed, id=name, aria_label=label)


def _toggle(kind: str, value: str, words: str) -> str:
    mark = el("i", class_=f"block {value}") if kind == "outcome" else ""
    return el(
        "button",
        mark,
        words,
        type="button",
        class_="toggle",
        data_kind=kind,
        data_value=value,
        aria_pressed="false",
    )


def _scale() -> str:
    marks = [
        el("span", words, class_="token", style=f"--s: {strength}")
        for words, strength in (("1", 0), ("37 %", 0.25), ("14 %", 0.5), ("2 %", 1))
    ]
    return el(
        "p",
        "Probability of each token under the policy that sampled it: ",
        *marks,
        " or less. Point at one for its number.",
        id="scale",
    )


def _keys() -> str:
    rows = [el("div", el("dt", key), el("dd", words)) for key, words in _KEYS.items()]
    return el("dl", *rows, class_="keys", aria_label="Keys")
