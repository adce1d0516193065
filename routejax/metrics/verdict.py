"""One plain sentence about one pair of arms: whether a difference can be told."""

from collections.abc import Mapping
from typing import Any

import numpy as np

CELL_NAMES = {
    "all": "overall",
    "in_range": "in-range",
    "extrapolation": "extrapolation",
    "seen": "seen-environment",
    "unseen": "unseen-environment",
    "seen_in_range": "seen, in-range",
    "unseen_in_range": "unseen, in-range",
    "seen_extrapolation": "seen, extrapolation",
    "unseen_extrapolation": "unseen, extrapolation",
}


def headline_cell(masks: Mapping[str, np.ndarray]) -> str:
    """The cell a study is judged by: in-range, or all questions if there is none."""
    return "in_range" if masks["in_range"].any() else "all"


def verdict(
    a: str,
    b: str,
    cell: str,
    gap: Mapping[str, Any] | None,
    *,
    samples: int,
    seeds: int,
) -> str:
    """Who leads in pass@N after RL, by how much, and whether the interval excludes 0.

    Args:
        a, b: names of the arms.
        cell: a key of `CELL_NAMES`.
        gap: intervals of a minus b in this cell, None without questions.
        samples: N, answers sampled per question.
        seeds: training seeds that both arms have; with one, the interval is over
            questions and the sentence says that training was not repeated.
    """
    what = f"{CELL_NAMES[cell]} pass@{samples}"
    found = gap and gap["passN"]["rl"]
    if not found:
        return f"{what} of {a} and {b} cannot be compared: not run"
    mean, low, high = (100 * found[key] for key in ("mean", "lower", "upper"))
    if found["lower"] > 0 or found["upper"] < 0:
        lead, trail = (a, b) if mean > 0 else (b, a)
        low, high = (low, high) if mean > 0 else (-high, -low)
        said = f"{lead} leads {trail} by {_signed(abs(mean))} points of {what}"
        return f"{said} (95 % interval {_span(low, high)}, {_basis(found, seeds)})"
    said = f"no difference can be told between {a} and {b} in {what}"
    size = f"{_signed(mean)} points, 95 % interval {_span(low, high)}"
    return f"{said} ({size}, {_basis(found, seeds)})"


def _basis(found: Mapping[str, Any], seeds: int) -> str:
    if seeds > 1:
        return f"{seeds} seeds"
    return f"{found['n']} questions, 1 seed: training was not repeated"


def _signed(points: float) -> str:
    return f"{'−' if round(points, 1) < 0 else '+'}{abs(points):.1f}"


def _span(low: float, high: float) -> str:
    return f"{_plain(low)} to {_plain(high)}"


def _plain(points: float) -> str:
    return f"{'−' if round(points, 1) < 0 else ''}{abs(points):.1f}"
