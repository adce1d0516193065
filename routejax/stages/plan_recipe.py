"""What a recipe lets itself be planned for: its parts, its ranges, its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from routejax.errors import UserError
from routejax.stages.checks import RULES, flat, misfits, require_rules, rules_for
from routejax.stages.finetune import OWN_RULES

# Blocks of a config that each program is made from.
PARTS = {"sft": ("sft",), "grpo": ("grpo",), "sample": ("grpo", "decoding")}


def parts_of(
    config: Mapping[str, Any], asked: Iterable[str] | None = None
) -> tuple[str, ...]:
    """The parts that the recipe has; of them those asked for, if that is said.

    Raises:
        UserError: a part that there is not, none, or a recipe that trains no student.
    """
    blocks = ("student", "mesh")
    has = [part for part, own in PARTS.items() if {*blocks, *own} <= {*config}]
    if not has:
        raise UserError(
            f"the recipe {config['name']} trains no student, so there is nothing to "
            "plan; configs/rlve.py and configs/smollm2.py do"
        )
    asked = has if asked is None else tuple(asked)
    unknown = [part for part in asked if part not in has]
    if unknown or not asked:
        raise UserError(
            f"--parts must be some of {', '.join(has)}, which the recipe "
            f"{config['name']} has, got {unknown[0] if unknown else ''!r}"
        )
    return tuple(part for part in has if part in asked)


def require_ranges(config: Mapping[str, Any]) -> None:
    """Refuses fields that no run would take; what a recipe `needs` may be missing.

    Raises:
        UserError: every such field.
    """
    values, study = flat(config), "traces" not in config
    whole = study and "rows.paths" in values
    rules = rules_for(values) if whole else RULES if study else {**RULES, **OWN_RULES}
    require_rules(values, {f: rule for f, rule in rules.items() if f in values})
    if study and {*RULES} <= {*values} and (wrong := [*misfits(values)]):
        raise UserError("; ".join(wrong))


def sft_steps(config: Mapping[str, Any]) -> int:
    """Of one arm: all its rows, as often as there are epochs, or fewer as asked.

    Rows that were chosen before are counted only where the recipe says how many.
    """
    settings = config["sft"]
    chosen = config["selection"]["n"] if "selection" in config else None
    if "rows" in config and config["rows"]["paths"]:
        chosen = config["rows"]["n"] or chosen
    rows = config["traces"]["train"] if chosen is None else chosen
    steps = -(-rows * settings["epochs"] // settings["batch_examples"])
    return min(steps, settings.get("steps") or steps)
