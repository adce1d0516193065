"""The programs of a recipe as the compiler sees them, without a single weight.

Every array is a shape with its place on the mesh. A step is taken as large as its
settings allow: every row full, every response as long as it may be.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from routejax import grpo, models, sft, spread, update
from routejax.mesh import BATCH, Placement, batch_parts
from routejax.models import SIZES, Student
from routejax.sampler import Queue
from routejax.scoring import Rows
from routejax.stages.run import on_mesh


class Shape(NamedTuple):
    """Rows of one training step: all, those of a pass, and the tokens of each."""

    rows: int
    pass_rows: int
    row_tokens: int

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
    """The recipe's student on the mesh, with the vocabulary of its size.

    Raises:
        UserError: the mesh does not divide it.
    """
    settings = dict(config["student"])
    size = settings.get("size")
    local = size in (None, "local")
    words = config["tokenizer"]["size"] if local else SIZES[size].config.vocabulary
    known = {field.name for field in dataclasses.fields(models.Config)}
    known |= {field.name for field in dataclasses.fields(models.Execution)}
    kept = {k: v for k, v in settings.items() if k in known | {"size", "family"}}
    return on_mesh(models.create(vocabulary=words, **kept), mesh)


def sft_shape(config: Mapping[str, Any], mesh: Mesh) -> Shape:
    """As many rows as a step has examples: each may fill a row of its own."""
    return _shape(config["sft"], config["sft"]["batch_examples"], mesh)


def grpo_shape(config: Mapping[str, Any], mesh: Mesh) -> Shape:
    """One row per sample."""
    settings = config["grpo"]
    return _shape(settings, settings["prompts"] * settings["samples"], mesh)


def _shape(settings: Mapping[str, Any], rows: int, mesh: Mesh) -> Shape:
    """All rows are one pass where the recipe does not say how many a device takes."""
    parts = batch_parts(mesh)
    part = (settings["device_rows"] or -(-rows // parts)) * parts
    return Shape(-(-rows // part) * part, part, settings["row_tokens"])


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
        on_policy=True,
    )
    batch = grpo.Batch(rows, number, number, number, number)
    return _step(config["grpo"], mesh, student, loss, batch, shape)


def sample_program(config: Mapping[str, Any], mesh: Mesh, student: Student) -> Program:
    """All samples of a GRPO step: prompts are run once, then slots decode together."""
    decoding, settings = config["decoding"], config["grpo"]
    parts = batch_parts(mesh)
    requests = settings["prompts"] * settings["samples"]
    ours = -(-requests // parts)
    prompts = -(-ours // settings["samples"])
    rows = functools.partial(_array, mesh, PartitionSpec(BATCH))
    queue: dict[str, Any] = {
        "prompts": rows((parts * prompts, decoding["prompt_tokens"])),
        "prompt_lengths": rows((parts * prompts,)),
        "owner": rows((parts * ours,)),
        "keys": rows((parts * ours, 2), jnp.uint32),
    }
    static = {
        "slots": min(ours, -(-decoding["slots"] // parts)),
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
