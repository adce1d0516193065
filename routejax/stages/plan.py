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

from routejax.mesh import batch_parts, entered
from routejax.models import Student
from routejax.models.attention import SHORT
from routejax.models.blockwise import BLOCK
from routejax.stages import plan_counts as counts
from routejax.stages import plan_memory, plan_notes, plan_programs
from routejax.stages.plan_chips import Load
from routejax.stages.plan_collectives import Collective, collectives, unknown_loops
from routejax.stages.plan_flops import Counted, count_flops
from routejax.stages.plan_programs import Program, Shape, Slots
from routejax.stages.plan_recipe import parts_of, require_ranges, sft_steps
from routejax.stages.plan_record import Part, Plan, Work


class Ways(NamedTuple):
    """What is found out about a program beside its memory by hand."""

    compiled: bool
    counted: bool


def make_plan(
    config: Mapping[str, Any],
    mesh: Mesh,
    *,
    parts: Iterable[str] | None = None,
    compiled: bool = True,
    counted: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> Plan:
    """The plan of a recipe on a mesh of pretend devices.

    Args:
        parts: those to look at; None means all that the recipe has.
        compiled: asks the compiler for temporaries and traffic.
        counted: counts operations; without it only memory is known.
        say: told of every part that is begun.

    Raises:
        UserError: the mesh does not divide the student, a part that the recipe has not,
            or a field that is out of its range.
    """
    parts = parts_of(config, parts)
    require_ranges(config)
    student = plan_programs.student_of(config, mesh)
    params = jax.eval_shape(lambda: student.init(0))
    s = plan_memory.sizes(student.config, plan_memory.norm_count(params))
    made, ways = {}, Ways(compiled, counted)
    for part in parts:
        say(f"{part}: tracing" + (" and compiling" if compiled else ""))
        with entered(mesh):
            made[part] = _MAKERS[part](config, mesh, student, s, ways)
    itemsize = plan_memory.itemsize(student)
    said = plan_notes.vocabulary(student, s, itemsize) if {*parts} - {"sample"} else ""
    return Plan(
        recipe=config["name"],
        student=student,
        parameters=counts.parameters(s).total,
        mesh=dict(mesh.shape),
        parts=made,
        notes=(said,) if said else (),
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
    part = _training(program, mesh, student, s, shape, ways, {})
    said = plan_notes.padding("sft", config, shape, batch_parts(mesh))
    return dataclasses.replace(
        part,
        loads=(Load(counts.training(s, *shape.whole).total / mesh.size),),
        steps=sft_steps(config),
        notes=(said,) if said else (),
    )


def _grpo(
    config: Mapping[str, Any],
    mesh: Mesh,
    student: Student,
    s: counts.Sizes,
    ways: Ways,
) -> Part:
    """A step of the recipe also scores its rows: the reference, the old policy."""
    shape, settings = plan_programs.grpo_shape(config, mesh), config["grpo"]
    program = plan_programs.grpo_program(config, mesh, student, shape)
    reference = plan_memory.per_device(program.args[2].params)
    held = {"reference": float(reference)}
    part = _training(program, mesh, student, s, shape, ways, held)
    once = counts.forward(s, *shape.whole).total / mesh.size
    said = plan_notes.padding("grpo", config, shape, batch_parts(mesh))
    return dataclasses.replace(
        part,
        loads=(
            Load(3 * once, times=settings["updates"]),
            Load(once, times=1 + (settings["updates"] > 1)),
        ),
        steps=settings["stop_at"] or settings["steps"],
        notes=(said,) if said else (),
    )


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
    once = counts.training(s, *shape.whole).total
    again = counts.done_again(
        s,
        *shape.whole,
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
        flops=counted.flops if ways.counted else None,
        work={"step": Work(once + again.total, once * shape.filled / shape.rows)},
        open_loops=open_loops + counted.open_loops,
        traffic=traffic,
        compile_s=seconds,
        shape=shape,
        loads=(),
        step_tokens=shape.filled * shape.row_tokens,
        steps=0,
        notes=(),
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
    one, settings = plan_memory.per_device(params), config["grpo"]
    ours = plan_programs.slots(config, mesh)
    width, new = queue.prompts.shape[1], program.static["max_new"]
    temporary, traffic, open_loops, seconds = _compile(program, ways.compiled)
    tensor, itemsize = mesh.shape["tensor"], plan_memory.itemsize(student)
    cache = counts.cache_bytes(
        s, ours.slots, width + new, shards=tensor, itemsize=itemsize
    )
    work = _sampled(s, settings, ours, width, new)
    each = Load(
        work["decoding"].flops / mesh.size / (ours.waves * new),
        itemsize * counts.parameters(s).multiplied / tensor + cache,
        ours.waves * new,
    )
    notes = plan_notes.sampling(config, ours, cache / ours.slots)
    return Part(
        resident={
            "parameters": one,
            "optimiser": one * (2 if settings["optimiser"]["name"] == "adamw" else 1),
            "reference": one,
            "queue": plan_memory.per_device(queue),
        },
        coming=plan_memory.sampling(
            s,
            student,
            mesh.shape,
            slots=ours.slots,
            prompts=ours.prompts,
            prompt_tokens=width,
            max_new=new,
        ),
        temporary=temporary,
        flops=None,
        work=work,
        open_loops=open_loops,
        traffic=traffic,
        compile_s=seconds,
        shape=None,
        loads=(Load(work["prefill"].flops / mesh.size), each),
        step_tokens=settings["prompts"] * settings["samples"] * new,
        steps=(settings["stop_at"] or settings["steps"]) * (1 + settings["refill"]),
        notes=(*notes, *filter(None, [plan_notes.window(s, width + new, cache)])),
    )


def _sampled(
    s: counts.Sizes, settings: Mapping[str, Any], ours: Slots, width: int, new: int
) -> dict[str, Work]:
    """Every prompt once on each part that has a sample of it, then all responses."""
    prompts, samples = settings["prompts"], settings["prompts"] * settings["samples"]
    computed = ours.parts * ours.slots * ours.waves  # idle slots are computed too
    done = counts.decoding(s, computed, width, new, whole_cache=True)
    needed = counts.decoding(s, samples, width, new, whole_cache=False)
    return {
        "prefill": Work(
            counts.prefill(s, ours.parts * ours.prompts, width).total,
            counts.prefill(s, prompts, width).total,
        ),
        "decoding": Work(done.total, needed.total),
    }


_MAKERS = {"sft": _sft, "grpo": _grpo, "sample": _sample}


def _compile(
    program: Program, wanted: bool
) -> tuple[float | None, dict[str, Collective], int, float | None]:
    """Temporary bytes, traffic, loops of unknown length, seconds."""
    if not wanted:
        return None, {}, 0, None
    began = time.monotonic()
    made = program.function.lower(*program.args, **program.static).compile()
    text = made.as_text()
    found = made.memory_analysis()
    fresh = found.output_size_in_bytes - found.alias_size_in_bytes
    temporary = float(found.temp_size_in_bytes + max(0, fresh))
    spent = time.monotonic() - began
    return temporary, collectives(text), unknown_loops(text), spent
