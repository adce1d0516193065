"""What a recipe needs of a mesh: memory per device, operations, traffic.

Programs are compiled for pretend CPU devices in the mesh's shape, so every cut and
every collective is real and no weight exists. The CPU's figures are not another
machine's: see `plan_memory` and `plan_collectives` for what differs.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
from jax.sharding import Mesh

from routejax.errors import UserError
from routejax.mesh import batch_parts, entered
from routejax.models import Student
from routejax.models.attention import SHORT
from routejax.models.blockwise import BLOCK
from routejax.stages import plan_counts as counts
from routejax.stages import plan_memory, plan_programs
from routejax.stages.plan_collectives import Collective, collectives, unknown_loops
from routejax.stages.plan_flops import Counted, count_flops
from routejax.stages.plan_programs import Program, Shape

PARTS = ("sft", "grpo", "sample")


class Ways(NamedTuple):
    """What is found out about a program beside its memory by hand."""

    compiled: bool
    counted: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """One program; bytes are per device, operations of all devices together.

    Attributes:
        resident: held before and after it: parameters, optimiser state, reference.
        coming: by hand, what it adds.
        temporary: what the compiled program adds, None where nothing was compiled.
        flops: counted in the program, every row full of one example.
        by_hand: the same by formula.
        model_flops: without what is done a second time.
        open_loops: loops of unknown length.
    """

    resident: dict[str, float]
    coming: plan_memory.Coming
    temporary: float | None
    flops: float
    by_hand: float
    model_flops: float
    open_loops: int
    traffic: dict[str, Collective]
    compile_s: float
    shape: Shape | None

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


def make_plan(
    config: Mapping[str, Any],
    mesh: Mesh,
    *,
    parts: Iterable[str] = PARTS,
    compiled: bool = True,
    counted: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> Plan:
    """The plan of a recipe on a mesh of pretend devices.

    Args:
        compiled: asks the compiler for temporaries and traffic.
        counted: counts operations; without it only memory is known.
        say: told of every part that is begun.

    Raises:
        UserError: the mesh does not divide the student, or a part that there is not.
    """
    if unknown := [part for part in parts if part not in PARTS]:
        raise UserError(f"parts must be some of {', '.join(PARTS)}, got {unknown[0]!r}")
    student = plan_programs.student_of(config, mesh)
    params = jax.eval_shape(lambda: student.init(0))
    s = plan_memory.sizes(student.config, plan_memory.norm_count(params))
    made, ways = {}, Ways(compiled, counted)
    for part in parts:
        say(f"{part}: tracing" + (" and compiling" if compiled else ""))
        with entered(mesh):
            made[part] = _MAKERS[part](config, mesh, student, s, ways)
    return Plan(
        recipe=config["name"],
        student=student,
        parameters=counts.parameters(s).total,
        mesh=dict(mesh.shape),
        parts=made,
    )


def _sft(
    config: Mapping[str, Any],
    mesh: Mesh,
    student: Student,
    s: counts.Sizes,
    ways: Ways,
) -> Part:
    shape = plan_programs.sft_shape(config, mesh)
    program = plan_programs.sft_program(config, mesh, student, shape)
    return _training(program, mesh, student, s, shape, ways, {})


def _grpo(
    config: Mapping[str, Any],
    mesh: Mesh,
    student: Student,
    s: counts.Sizes,
    ways: Ways,
) -> Part:
    shape = plan_programs.grpo_shape(config, mesh)
    program = plan_programs.grpo_program(config, mesh, student, shape)
    reference = plan_memory.per_device(program.args[2].params)
    held = {"reference": float(reference)}
    return _training(program, mesh, student, s, shape, ways, held)


def _training(
    program: Program,
    mesh: Mesh,
    student: Student,
    s: counts.Sizes,
    shape: Shape,
    ways: Ways,
    held: dict[str, float],
) -> Part:
    state, batch = program.args[2:]
    trips, blocks = _trips(student, s, shape.row_tokens)
    counted = Counted(0.0, 0)
    if ways.counted:
        counted = count_flops(program.traced, state, batch, trips=trips)
    whole = (shape.rows, shape.row_tokens)
    model = counts.training(s, *whole).total
    again = counts.done_again(
        s,
        *whole,
        blocks=student.execution.remat == "full",
        last_map=student.family == "olmo3",
        head=shape.row_tokens > student.execution.logit_chunk,
        scores=blocks,
    )
    temporary, traffic, open_loops, seconds = _compile(program, ways.compiled)
    return Part(
        resident={
            "parameters": plan_memory.per_device(state.params),
            "optimiser": plan_memory.per_device(state.optimiser),
            **held,
            "batch": plan_memory.per_device(batch),
        },
        coming=plan_memory.training(s, student, shape, mesh.shape),
        temporary=temporary,
        flops=counted.flops,
        by_hand=model + again.total,
        model_flops=model,
        open_loops=open_loops + counted.open_loops,
        traffic=traffic,
        compile_s=seconds,
        shape=shape,
    )


def _trips(student: Student, s: counts.Sizes, length: int) -> tuple[float, bool]:
    """Key blocks per query block in a full row, averaged over layers; whether in use.

    These are the only loops of a training step that end by a condition: they leave out
    blocks of other examples.
    """
    way = student.execution.attention
    if way != "blockwise" and (way != "auto" or length <= SHORT):
        return 1.0, False
    block = min(BLOCK, length)
    seen = sum(counts.block_pairs(length, window, block) for window in s.windows)
    return seen / s.layers / math.ceil(length / block), True


def _sample(
    config: Mapping[str, Any],
    mesh: Mesh,
    student: Student,
    s: counts.Sizes,
    ways: Ways,
) -> Part:
    """Beside the training state and the reference, which stay where they are."""
    program = plan_programs.sample_program(config, mesh, student)
    params, queue = program.args[2:]
    one, parts = plan_memory.per_device(params), batch_parts(mesh)
    rule = config["grpo"]["optimiser"]["name"]
    prompts, width = queue.prompts.shape
    slots, new = program.static["slots"], program.static["max_new"]
    by_hand = counts.forward(s, prompts, width).weights
    by_hand -= (
        2.0
        * (counts.parameters(s).multiplied - counts.parameters(s).blocks)
        * (prompts * (width - 1))
    )
    temporary, traffic, open_loops, seconds = _compile(program, ways.compiled)
    return Part(
        resident={
            "parameters": one,
            "optimiser": one * (2 if rule == "adamw" else 1),
            "reference": one,
            "queue": plan_memory.per_device(queue),
        },
        coming=plan_memory.sampling(
            s,
            student,
            mesh.shape,
            slots=slots,
            prompts=prompts // parts,
            prompt_tokens=width,
            max_new=new,
        ),
        temporary=temporary,
        flops=by_hand,
        by_hand=by_hand,
        model_flops=by_hand,
        open_loops=open_loops,
        traffic=traffic,
        compile_s=seconds,
        shape=None,
    )


_MAKERS = {"sft": _sft, "grpo": _grpo, "sample": _sample}


def _compile(
    program: Program, wanted: bool
) -> tuple[float | None, dict[str, Collective], int, float]:
    """Temporary bytes, traffic, loops of unknown length, seconds."""
    if not wanted:
        return None, {}, 0, 0.0
    began = time.monotonic()
    made = program.function.lower(*program.args, **program.static).compile()
    text = made.as_text()
    found = made.memory_analysis()
    fresh = found.output_size_in_bytes - found.alias_size_in_bytes
    temporary = float(found.temp_size_in_bytes + max(0, fresh))
    spent = time.monotonic() - began
    return temporary, collectives(text), unknown_loops(text), spent
