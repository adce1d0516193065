"""What came out, in words and large numbers, before any figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routejax.metrics import CELL_NAMES
from routejax.report.inputs import Inputs, Look
from routejax.report.layout import swatch, whisker
from routejax.report.svg import el
from routejax.report.wording import (
    CELL_TITLES,
    escaped,
    listed,
    percent,
    plural,
    points,
    points_span,
    whole,
)

# More pairs than this, and those without the first arm are folded away.
_PAIRS = 6

CELLS = ("in_range", "seen", "unseen", "extrapolation")


def masthead(inputs: Inputs) -> str:
    """Kicker, headline, one sentence of setting."""
    config = inputs.results.get("config")
    kicker = f"routejax study · {config}" if config else "routejax study"
    return el(
        "header",
        el("p", escaped(kicker), class_="kicker"),
        el("h1", escaped(headline(inputs))),
        el("p", escaped(setting(inputs)), class_="standfirst"),
        class_="masthead",
    )


def headline(inputs: Inputs) -> str:
    """The result of the first pair of arms, or of the only arm, in one line."""
    cell = inputs.study["headline"]
    what = f"{CELL_NAMES[cell]} pass@{inputs.samples}"
    if len(inputs.arms) == 1:
        return _rise(inputs, cell, what)
    pair = first_pair(inputs)
    gap = pair["cells"][cell]["passN"]["rl"]
    a, b = pair["a"], pair["b"]
    if not gap:
        return f"{a} and {b} cannot be compared yet: RL was not run"
    once = "After the same RL" if len(pair["seeds"]) > 1 else "In one run of RL each"
    if not (gap["lower"] > 0 or gap["upper"] < 0):
        return f"{once}, no difference can be told between {a} and {b}"
    lead, trail = (a, b) if gap["mean"] > 0 else (b, a)
    size = percent(abs(gap["mean"]))
    return f"{once}, {lead} leads {trail} by {size} points of {what}"


def _rise(inputs: Inputs, cell: str, what: str) -> str:
    arm = inputs.arms[0].name
    before, after = (
        inputs.interval(arm, cell, "passN", stage) for stage in ("sft", "rl")
    )
    if not before or not after:
        return f"{arm}: not yet compared before and after RL"
    change = f"from {percent(before['mean'])} % to {percent(after['mean'])} %"
    return f"RL takes {arm} {change} of {what}"


def setting(inputs: Inputs) -> str:
    """What was compared, on what, and how often."""
    results = inputs.results
    names = [arm.name for arm in inputs.arms]
    pool = (results.get("pool") or {}).get("rows")
    what = "Selections" if len(names) > 1 else "One selection"
    parts = [f"{what} ({listed(names)})"]
    parts.append(f"from one pool of {pool:,} verified traces," if pool else "")
    size = (results.get("student") or {}).get("parameters")
    parts.append(f"fine-tuned into a student of {size:,} parameters" if size else "")
    run = any(inputs.checkpoints(name, "rl") for name in names)
    parts.append("and reinforced by one recipe." if run else "and not yet reinforced.")
    parts.append("Evaluated on")
    parts.append(plural(inputs.study["problems"], "problem"))
    parts.append(f"with {plural(inputs.samples, 'sample')} each,")
    parts.append(f"{plural(inputs.seeds(), 'training seed')} per arm.")
    return " ".join(part for part in parts if part)


def tiles(inputs: Inputs) -> str:
    """The headline numbers: gaps of the first pair, or scores of the only arm."""
    what = f"After RL, pass@{inputs.samples}"
    if len(inputs.arms) == 1:
        made = [_score_tile(inputs, cell) for cell in inputs.cells(CELLS)]
        said = f"{what} in percent"
    else:
        pair = first_pair(inputs)
        gaps = {
            cell: gap
            for cell in inputs.cells(CELLS)
            if (gap := pair["cells"][cell]["passN"]["rl"])
        }
        reach = _reach(list(gaps.values()))
        made = [_gap_tile(inputs, cell, gap, reach) for cell, gap in gaps.items()]
        made.append(_solved_tile(pair))
        said = f"{what} of {pair['a']} minus {pair['b']}, with 95 % intervals"
    if not any(made):
        return ""
    lead = el("p", escaped(said), class_="lead")
    return lead + el("div", *made, class_="tiles")


def verdicts(inputs: Inputs) -> str:
    """One sentence per pair of arms, with the interval drawn beside it."""
    pairs = inputs.study["pairs"]
    if not pairs:
        return el("p", "One arm only: there is nothing to compare it with.")
    looks = {arm.name: arm for arm in inputs.arms}
    gaps = [
        gap
        for pair in pairs.values()
        if (gap := pair["cells"][inputs.study["headline"]]["passN"]["rl"])
    ]
    reach = _reach(gaps)
    rows = [_verdict(inputs, pair, looks, reach) for pair in pairs.values()]
    shown = len(rows) if len(rows) <= _PAIRS else len(inputs.arms) - 1
    first = el("ul", *rows[:shown], class_="verdicts")
    if not rows[shown:]:
        return first
    said = f"{len(rows) - shown} more pairs, without {escaped(inputs.arms[0].name)}"
    more = el("summary", said), el("ul", *rows[shown:], class_="verdicts")
    return first + el("details", *more, class_="more")


def first_pair(inputs: Inputs) -> Mapping[str, Any]:
    return next(iter(inputs.study["pairs"].values()))


def _verdict(
    inputs: Inputs, pair: Mapping[str, Any], looks: Mapping[str, Look], reach: float
) -> str:
    gap = pair["cells"][inputs.study["headline"]]["passN"]["rl"]
    lead = looks[pair["a"] if not gap or gap["mean"] >= 0 else pair["b"]]
    told = gap and (gap["lower"] > 0 or gap["upper"] < 0)
    drawn = whisker(gap, reach, lead.css if told else "untold") if gap else ""
    marks = swatch(looks[pair["a"]]) + swatch(looks[pair["b"]])
    return el(
        "li",
        el("div", marks, class_="marks"),
        el("p", escaped(_sentence(pair))),
        drawn,
        class_="told" if told else "untold",
    )


def _sentence(pair: Mapping[str, Any]) -> str:
    said = pair["verdict"]
    said = f"{said[:1].upper()}{said[1:]}." if said.startswith("no ") else f"{said}."
    both = pair.get("two_level")
    if both:
        said += f" Resampling seeds and questions together: {points_span(both)}."
    alone = {arm: seeds for arm, seeds in pair["unpaired"].items() if seeds}
    for arm, seeds in alone.items():
        said += (
            f" Seeds of {arm} alone, left out here: {listed(list(map(str, seeds)))}."
        )
    return said


def _gap_tile(inputs: Inputs, cell: str, gap: Mapping[str, Any], reach: float) -> str:
    told = gap["lower"] > 0 or gap["upper"] < 0
    css = inputs.arms[0 if gap["mean"] >= 0 else 1].css if told else "untold"
    said = f"points, {points_span(gap)}"
    drawn = whisker(gap, reach, css)
    return _tile(CELL_TITLES[cell], points(gap["mean"]), said, drawn, css=css)


def _solved_tile(pair: Mapping[str, Any]) -> str:
    if not pair["overlap"]:
        return ""
    mean = pair["overlap"]["all"]["mean"]
    numbers = f"{whole(mean['only_a'])} : {whole(mean['only_b'])}"
    said = f"problems that only {pair['a']} : only {pair['b']} solves"
    return _tile("Solved sets", numbers, said, "", css="plain")


def _score_tile(inputs: Inputs, cell: str) -> str:
    arm = inputs.arms[0]
    after = inputs.interval(arm.name, cell, "passN", "rl")
    gain = inputs.interval(arm.name, cell, "passN", "gain")
    if not after:
        return ""
    said = f"%, {points(gain['mean'])} points by RL" if gain else "%"
    return _tile(CELL_TITLES[cell], percent(after["mean"]), said, "", css=arm.css)


def _tile(head: str, big: str, said: str, drawn: str, *, css: str) -> str:
    return el(
        "div",
        el("h3", escaped(head)),
        el("p", escaped(big), class_="big"),
        el("p", escaped(said), class_="unit"),
        drawn,
        class_=f"tile {css}",
    )


def _reach(gaps: list[Mapping[str, Any]]) -> float:
    # Half the width of the drawn lines; an interval of two seeds may reach beyond it.
    ends = [abs(gap[key]) for gap in gaps for key in ("lower", "upper")]
    means = [abs(gap["mean"]) for gap in gaps]
    return min(max(ends, default=1.0), 4 * max(means, default=1.0) + 0.02) or 1.0
