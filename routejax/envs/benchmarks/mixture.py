"""Prompts of several sources in one file, such as Dolci-RL: each row names its own.

The source, a word in column `dataset`, decides the verifier. An unknown source is an
error; a source that only another model could judge is left out, with its count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from routejax.envs.benchmarks.known import ANSWER, PROMPT, Read, boxed, user_turn
from routejax.envs.benchmarks.question import Cells, text
from routejax.errors import UserError

SOURCE = ("dataset", "data_source", "verifier", "source")
UNVERIFIED = "unverified"  # kind of a row that no program can judge
SOURCES = {
    **dict.fromkeys(("math", "gsm8k", "omega", "orz", "deepscaler"), "math"),
    **dict.fromkeys(("mcq", "choice", "gpqa"), "choice"),
    **dict.fromkeys(("ifeval", "ifeval_old", "instruction_following"), "ifeval"),
    "ifbench": "ifbench",
    "code": "code_functions",
    "code_stdio": "code_stdio",
    **dict.fromkeys(("general", "general-quality", "general-quality_ref"), UNVERIFIED),
}
_USER = "user:"  # what some rows have before their prompt


def mixture(sources: Mapping[str, str]) -> Callable[[Cells], Read]:
    """The reader of rows whose kind their source names in the table."""

    def read(cells: Cells) -> Read:
        source = text(cells.first(SOURCE, "data source")).strip().lower()
        if source not in sources:
            raise UserError(
                f"{cells.where}: the data source must be one of {', '.join(sources)}; "
                f"got {source!r}. Name its kind: sources={{{source!r}: 'math'}}"
            )
        kind = sources[source]
        prompt = user_turn(cells)
        if prompt.lower().startswith(_USER):
            prompt = prompt[len(_USER) :].strip()
        gold = text(cells.first(ANSWER, "answer"))
        meta = cells.others((*PROMPT, *ANSWER)) | {"data_source": source}
        if kind == "math":
            return Read(boxed(prompt), gold, meta, kind)
        if kind == "choice":
            return Read(prompt, gold, meta, kind)
        return Read(prompt, None, meta | {"ground_truth": _parsed(gold)}, kind)

    return read


def _parsed(gold: str) -> Any:
    """Tests and instructions are JSON in a text."""
    try:
        return json.loads(gold)
    except (ValueError, RecursionError):
        return gold
