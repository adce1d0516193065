"""A rough time of a step and of the recipe, on every kind of accelerator.

An estimate, for deciding what to rent: operations at a share of the peak, decoding also
at that share of the memory's bandwidth. Left out are networks, compiling, evaluations,
checkpoints, and responses that end before their limit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from routejax.stages import plan_chips as chips
from routejax.stages.plan_record import Part, Plan

SHARE = 0.4


class Estimate(NamedTuple):
    """`hours` are those of one device times the devices, over all steps."""

    step_s: float
    tokens_per_s: float
    device_hours: float


def estimates(plan: Plan, share: float) -> dict[str, dict[str, Estimate]]:
    """By chip, then by part; one arm and one seed of the recipe."""
    return {
        name: {part: _of(made, chip, plan, share) for part, made in plan.parts.items()}
        for name, chip in chips.CHIPS.items()
    }


def _of(part: Part, chip: chips.Chip, plan: Plan, share: float) -> Estimate:
    step = chips.seconds(chip, part.loads, share)
    hours = part.steps * step * math.prod(plan.mesh.values()) / 3600
    return Estimate(step, part.step_tokens / step, hours)
