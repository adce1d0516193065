"""What a plan holds; `plan` fills it, `plan_table` and `plan_time` read it."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from routejax.models import Student
from routejax.stages.plan_chips import Load
from routejax.stages.plan_collectives import Collective
from routejax.stages.plan_memory import Coming
from routejax.stages.plan_programs import Shape


class Work(NamedTuple):
    """Operations of all devices by formula: done, and those that the model needs."""

    flops: float
    model: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """One program; bytes are per device, operations of all devices together.

    Attributes:
        resident: held before and after it: parameters, optimiser state, reference.
        coming: by hand, what it adds.
        temporary: what the compiled program adds, None where nothing was compiled.
        flops: counted in the program, every row full of one example; None where not.
        work: the same by formula, of each of its phases.
        open_loops: loops of unknown length.
        loads: of one device in one step of the recipe, which may run more programs.
        step_tokens: of such a step, without padding.
        steps: of the recipe, one arm and one seed.
        notes: what a reader should know, a line each.
    """

    resident: dict[str, float]
    coming: Coming
    temporary: float | None
    flops: float | None
    work: dict[str, Work]
    open_loops: int
    traffic: dict[str, Collective]
    compile_s: float | None
    shape: Shape | None
    loads: tuple[Load, ...]
    step_tokens: int
    steps: int
    notes: tuple[str, ...]

    @property
    def by_hand(self) -> float:
        return sum(work.flops for work in self.work.values())

    @property
    def model_flops(self) -> float:
        return sum(work.model for work in self.work.values())

    @property
    def hand_bytes(self) -> float:
        return sum(self.resident.values()) + self.coming.total

    @property
    def compiled_bytes(self) -> float | None:
        held = sum(self.resident.values())
        return None if self.temporary is None else held + self.temporary


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    recipe: str
    student: Student
    parameters: int
    mesh: dict[str, int]
    parts: dict[str, Part]
    notes: tuple[str, ...]
