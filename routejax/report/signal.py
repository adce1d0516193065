"""What RL has to work with: how many problems have mixed rewards before it starts."""

from __future__ import annotations

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import block_key, figure, not_run, panel, panels
from routejax.report.svg import bar, drawing, el, marker, words
from routejax.report.wording import CELL_TITLES, percent

CELLS = ("in_range", "unseen", "extrapolation")
GROUPS = {
    "all_fail": "all fail",
    "mixed": "mixed: a reward signal",
    "all_correct": "all correct",
}
_LEFT, _RIGHT, _ROW = 92, 394, 34


def reward_shares(inputs: Inputs) -> str:
    """Stacked shares of all-fail, mixed and all-correct problems before RL."""
    cells = inputs.cells(CELLS) or inputs.cells(["all"])
    has = [arm for arm in inputs.arms if inputs.checkpoints(arm.name, "sft")]
    if not has:
        return not_run(
            "signal",
            "Reward signal before RL",
            "no checkpoint before RL was evaluated.",
        )
    drawn = [panel(CELL_TITLES[cell], _bars(inputs, has, cell)) for cell in cells]
    keys = [block_key(css, said) for css, said in GROUPS.items()]
    return figure(
        "signal",
        "What RL has to work with",
        el("div", *keys, class_="legend"),
        panels(*drawn, across=3),
        units=(
            f"share of problems by the rewards of their {inputs.samples} samples "
            f"before RL, in percent, {inputs.over_seeds()}"
        ),
        read=(
            "RL compares the samples of one problem with each other. Where all fail or "
            "all succeed there is nothing to compare, so only mixed problems teach. "
            "These are the held-out problems; they stand for those that RL trains on."
        ),
    )


def mean_groups(inputs: Inputs, arm: str, cell: str) -> dict[str, float]:
    """Shares before RL, the mean over training seeds."""
    found = [m["cells"][cell]["groups"] for m in inputs.checkpoints(arm, "sft")]
    return {key: sum(one[key] for one in found) / len(found) for key in GROUPS}


def _bars(inputs: Inputs, arms: list[Look], cell: str) -> str:
    height = 8 + _ROW * len(arms)
    parts = []
    for row, arm in enumerate(arms):
        y = 6.0 + _ROW * row
        parts.append(marker(9, y + 11, arm.marker, f"mark after {arm.css}"))
        parts.append(words(20, y + 15, _short(arm.name), "name", anchor="start"))
        parts.append(_stack(mean_groups(inputs, arm.name, cell), arm.name, y))
    label = f"Reward groups before RL, {CELL_TITLES[cell]}"
    return drawing(400, height, label, *parts)


def _stack(shares: dict[str, float], name: str, y: float) -> str:
    x, parts = float(_LEFT), []
    for key, said in GROUPS.items():
        width = (_RIGHT - _LEFT) * shares[key]
        tip = f"{name}\n{said.partition(':')[0]}: {percent(shares[key])} %"
        parts.append(bar((x, y, width, 22), f"part {key}", tip=tip))
        if width > 30:
            at = x + width / 2
            parts.append(words(at, y + 15, percent(shares[key]), f"in {key}"))
        x += width
    return "".join(parts)


def _short(name: str) -> str:
    return name if len(name) <= 11 else f"{name[:10]}…"
