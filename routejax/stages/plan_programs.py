"""The programs of a recipe as the compiler sees them, without a single weight.

Every array is a shape with its place on the mesh. A step is taken as large as its
settings allow: every row full, every response as long as it may be.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from routejax import grpo, models, sft, spread, update
from routejax.errors import UserError
from routejax.mesh import BATCH, Placement, batch_parts
from routejax.models import SIZES, Student
from routejax.sampler import Queue
from routejax.scoring import Rows
from routejax.stages import published
from routejax.stages.run import on_mesh


class Shape(NamedTuple):
    """Rows of one training step: all, those of a pass, and the tokens of each.

    `filled` are the rows that examples can fill; the others are padding.
    """

    rows: int
    pass_rows: int
    row_tokens: int
    filled: int

    @property
    def whole(self) -> tuple[int, int]:
        return self.rows, self.row_tokens

    @property
    def passes(self) -> int:
        return self.rows // self.pass_rows


class Program(NamedTuple):
    """Something to compile: a jitted function and shapes for its arguments."""

    function: Any
    args: tuple[Any, ...]
    static: dict[str, Any]
    traced: Callable[..., Any]  # the same of the arguments alone, to count operations


def student_of(config: Mapping[str, Any], mesh: Mesh) -> Student:
    """The recipe's student on the mesh, with the sizes of its checkpoint if it has one.

    Raises:
        UserError: the mesh does not divide it, or nothing says how large it is.
    """
    settings = dict(config["student"])
    if settings.get("weights"):
        return on_mesh(published.student(settings), mesh)
    size = settings.get("size")
    if not size and not settings.get("family"):
        raise UserError(
            f"config.student.size must be one of {', '.join(SIZES)} where no "
            f"config.student.weights says what is planned for, got {size!r}"
        )
    settings["size"] = size or None
    local = size in (None, "", "local")
    words = config["tokenizer"]["size"] if local else SIZES[size].config.vocabulary
    known = {field.name for field in dataclasses.fields(models.Config)}
    known |= {field.name for field in dataclasses.fields(models.Execution)}
    kept = {k: v for k, v in settings.items() if k in known | {"size", "family"}}
    return on_mesh(models.create(vocabulary=words, **kept), mesh)


def sft_shape(config: Mapping[str, Any], mesh: Mesh) -> Shape:
    """As many rows as a step has examples: each may fill a row of its own."""
    return _shape(config["sft"], config["sft"]["batch_examples"], mesh)


def grpo_shape(config: Mapping[str, Any], mesh: Mesh) -> Shape:
    """One row per sample, those of refilled prompts too."""
    settings = config["grpo"]
    rows = settings["prompts"] * settings["samples"] * (1 + settings["refill"])
    return _shape(settings, rows, mesh)


def _shape(settings: Mapping[str, Any], filled: int, mesh: Mesh) -> Shape:
    """All rows are one pass where the recipe does not say how many a device takes."""
    parts, each = batch_parts(mesh), settings["device_rows"]
    multiple = math.lcm(settings["row_multiple"], parts * (each or 1))
    rows = -(-filled // multiple) * multiple
    return Shape(rows, each * parts if each else rows, settings["row_tokens"], filled)


class Slots(NamedTuple):
    """How the samples of a step lie on the parts that rows are divided into."""

    parts: int
    requests: int  # of one part
    prompts: int  # of one part
    slots: int  # of one part, decoded together

    @property
    def waves(self) -> int:
        """Responses one after the other in a slot, where all are equally long."""
        return -(-self.requests // self.slots)


def slots(config: Mapping[str, Any], mesh: Mesh) -> Slots:
    """Those of one batch of prompts, as `spread` divides it."""
    settings, parts = config["grpo"], batch_parts(mesh)
    requests = -(-settings["prompts"] * settings["samples"] // parts)
    together = min(requests, -(-config["decoding"]["slots"] // parts))
    return Slots(parts, requests, -(-requests // settings["samples"]), together)


def sft_program(
    config: Mapping[str, Any], mesh: Mesh, student: Student, shape: Shape
) -> Program:
    rows = _rows(mesh, shape)
    batch = sft.Batch(rows, _like(rows.tokens, jnp.float32))
    return _step(config["sft"], mesh, student, sft.loss(student), batch, shape)


def grpo_program(
    config: Mapping[str, Any], mesh: Mesh, student: Student, shape: Shape
) -> Program:
    rows = _rows(mesh, shape)
    number = _like(rows.tokens, jnp.float32)
    loss = grpo.loss(
        student,
        grpo.PRESETS[config["grpo"]["preset"]],
        beta=config["grpo"]["beta"],
        temperature=config["grpo"]["temperature"],
    )
    batch = grpo.Batch(rows, number, number, number, number)
    if config["grpo"]["updates"] > 1:
        batch = batch._replace(old_logps=number)
    return _step(config["grpo"], mesh, student, loss, batch, shape)


def sample_program(config: Mapping[str, Any], mesh: Mesh, student: Student) -> Program:
    """All samples of a GRPO step: prompts are run once, then slots decode together."""
    decoding, ours = config["decoding"], slots(config, mesh)
    parts = ours.parts
    rows = functools.partial(_array, mesh, PartitionSpec(BATCH))
    queue: dict[str, Any] = {
        "prompts": rows((parts * ours.prompts, decoding["prompt_tokens"])),
        "prompt_lengths": rows((parts * ours.prompts,)),
        "owner": rows((parts * ours.requests,)),
        "keys": rows((parts * ours.requests, 2), jnp.uint32),
    }
    static = {
        "slots": ours.slots,
        "max_new": decoding["max_new_tokens"],
        "stop_ids": (0,),
        "refill_at": max(1, decoding["refill_at"] // parts),
        "temperature": 1.0,
    }
    params = _params(mesh, student)
    function = spread.sampled
    args = (mesh, student, params, Queue(**queue))
    traced = functools.partial(function, mesh, student, **static)
    return Program(function, args, static, traced)


def _step(
    settings: Mapping[str, Any],
    mesh: Mesh,
    student: Student,
    loss: update.Loss,
    batch: Any,
    shape: Shape,
) -> Program:
    rule = update.optimiser(steps=100, **settings["optimiser"])
    place = Placement(mesh, student.family)
    fresh = jax.eval_shape(lambda: update.start(student.init(0), rule))
    static = {"place": place, "pass_rows": shape.pass_rows}
    return Program(
        update.train_step,
        (loss, rule, place.abstract(fresh), batch),
        static,
        functools.partial(update.train_step, loss, rule, **static),
    )


def _params(mesh: Mesh, student: Student) -> Any:
    place = Placement(mesh, student.family)
    return place.abstract(jax.eval_shape(lambda: student.init(0)))


def _rows(mesh: Mesh, shape: Shape) -> Rows:
    size = (shape.rows, shape.row_tokens)
    one: Any = _array(mesh, PartitionSpec(BATCH), size)
    return Rows(one, one, one)


def _array(
    mesh: Mesh, spec: PartitionSpec, shape: tuple[int, ...], dtype: Any = jnp.int32
) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))


def _like(array: Any, dtype: Any) -> Any:
    return jax.ShapeDtypeStruct(array.shape, dtype, sharding=array.sharding)
