"""The whole report as one HTML page that needs nothing else: no network, no fonts.

Left out: figures as separate files; print the page, or save a drawing from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from routejax.report import (
    attempts,
    difficulty,
    headline,
    heatmap,
    plane,
    recipe,
    scores,
    selection,
    signal,
    solved,
    traces,
    training,
)
from routejax.report.document import document
from routejax.report.inputs import Inputs, read_inputs
from routejax.report.svg import el
from routejax.report.wording import escaped

# anchor: (title, what stands in the section)
SECTIONS: dict[str, tuple[str, tuple[Callable[[Inputs], str], ...]]] = {
    "result": ("Result", (headline.verdicts, scores.main_table)),
    "coverage": (
        "Coverage",
        (attempts.attempts, difficulty.by_difficulty, solved.solved_sets),
    ),
    "environments-section": ("Environments", (heatmap.environments,)),
    "training-section": (
        "Training",
        (signal.reward_shares, training.training_curves),
    ),
    "selection": (
        "Selection",
        (plane.space, selection.spread, selection.composition),
    ),
    "traces-section": ("Traces", (traces.example_traces,)),
    "method": ("Method", (recipe.recipe, recipe.provenance, recipe.times)),
}


def render(
    results: Mapping[str, Any],
    curves: Mapping[str, Any],
    plane: Mapping[str, Any],
    examples: Mapping[str, Any],
) -> str:
    """One self-contained HTML page about a study.

    Args:
        results: what the study wrote: `schema` 1, `study` (from `summarise_study`),
            `arms` with `seeds` and `selection`, and as far as known `pool`, `student`,
            `evaluation`, `recipe`, `selection_overlap`, `times`.
        curves: arm -> seed -> `sft` and `grpo` -> `step` and series of equal length.
        plane: `x`, `y`, `env` of pool rows and `arms` -> indices of selected ones.
        examples: arm -> traces with `prompt`, `response`, `env`, `difficulty`,
            `strategy`, `steps` (`text`, `type`).

    Returns:
        HTML text; the same input gives the same bytes. Every text from outside is
        escaped. A part whose input is empty says "Not run" and why.

    Raises:
        UserError: if `results` has another schema or no study.
    """
    inputs = read_inputs(results, curves, plane, examples)
    sections = [
        el("section", el("h2", name), *(part(inputs) for part in parts), id=anchor)
        for anchor, (name, parts) in SECTIONS.items()
    ]
    links = [el("a", name, href=f"#{key}") for key, (name, _) in SECTIONS.items()]
    return document(
        escaped(headline.headline(inputs)),
        headline.masthead(inputs),
        headline.tiles(inputs),
        el("nav", *links, aria_label="Sections"),
        *sections,
        _footer(inputs),
    )


def _footer(inputs: Inputs) -> str:
    version = inputs.results.get("routejax")
    made = f"Made by routejax {version}" if version else "Made by routejax"
    config = inputs.results.get("config")
    said = f"{made} from {config}." if config else f"{made}."
    how = (
        "Intervals are 95 %. With two training seeds or more they are Student's t "
        "over seeds, paired by seed for differences; with one they resample questions, "
        "which says nothing about another training run."
    )
    return el("footer", el("p", escaped(said)), el("p", how))
