"""Bytes per device: what stays, and by hand what comes and goes with each program.

What stays is exact, from the shapes and their places. What comes and goes is an
estimate of the largest arrays alive together; the compiler's own figure for the CPU
stands beside it in the plan, and is larger where the CPU computes bfloat16 in float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax

from routejax.mesh import WHOLE_VOCABULARY
from routejax.models import Config, Student
from routejax.stages import plan_counts as counts
from routejax.stages.plan_programs import Shape

_BYTES = {"float32": 4, "bfloat16": 2, None: 4}


class Coming(NamedTuple):
    """By hand, alive together at the worst moment of a program."""

    gradients: float = 0.0
    saved: float = 0.0  # inputs of layers, and one layer that is done again
    logits: float = 0.0
    weights: float = 0.0  # gathered from other devices
    cache: float = 0.0  # keys and values

    @property
    def total(self) -> float:
        return sum(self)


def sizes(config: Config, norms: int) -> counts.Sizes:
    """The student's numbers for `plan_counts`."""
    slides = {"full": None, "sliding": config.window}
    return counts.Sizes(
        vocabulary=config.vocabulary,
        width=config.width,
        layers=config.layers,
        heads=config.heads,
        kv_heads=config.kv_heads,
        head_width=config.head_width,
        mlp_width=config.mlp_width,
        tied=config.tied,
        windows=counts.windows(config.layers, [slides[k] for k in config.pattern]),
        norms=norms,
    )


def itemsize(student: Student) -> int:
    """Bytes of a number in the student's dtype of use."""
    return _BYTES[student.execution.dtype]


def per_device(tree: Any) -> int:
    """Bytes that one device holds of arrays that know their places."""
    return sum(
        math.prod(leaf.sharding.shard_shape(leaf.shape)) * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(tree)
    )


def norm_count(params: Any) -> int:
    """Parameters of all norms."""
    paths = jax.tree_util.tree_leaves_with_path(params)
    return sum(leaf.size for path, leaf in paths if path[-1].key == "scale")


def training(
    s: counts.Sizes, student: Student, shape: Shape, mesh: Mapping[str, int]
) -> Coming:
    """One pass, its gradient, and the sum of those before it where there are more."""
    shards, parts = counts.shares(mesh)
    tensor, size = mesh["tensor"], itemsize(student)
    rows = shape.pass_rows / parts
    number = counts.parameters(s)
    chunk = min(student.execution.logit_chunk, shape.row_tokens)
    layer = number.blocks / s.layers
    cut = 1 if student.family in WHOLE_VOCABULARY else tensor
    # Of a chunk: logits, their logarithm of the softmax, and its gradient.
    return Coming(
        gradients=4 * number.total / shards * (2 if shape.passes > 1 else 1),
        saved=counts.saved_bytes(
            s, rows, shape.row_tokens, tensor=tensor, itemsize=size
        ),
        logits=3 * 4 * rows * chunk * s.vocabulary / cut,
        weights=size * 2 * layer / tensor
        + counts.table_bytes(s, tensor=cut, itemsize=size),
    )


def sampling(
    s: counts.Sizes,
    student: Student,
    mesh: Mapping[str, int],
    *,
    slots: int,
    prompts: int,
    prompt_tokens: int,
    max_new: int,
) -> Coming:
    """All weights in the dtype of use, the caches of prompts and slots of one part."""
    tensor, size = mesh["tensor"], itemsize(student)
    length = prompt_tokens + max_new
    cached = counts.cache_bytes(s, slots, length, shards=tensor, itemsize=size)
    cached += counts.cache_bytes(
        s, prompts, prompt_tokens, shards=tensor, itemsize=size
    )
    inner = (2 * s.heads + 2 * s.kv_heads) * s.head_width + 3 * s.mlp_width
    tokens = prompts * prompt_tokens
    return Coming(
        saved=tokens * size * (3 * s.width + inner / tensor),
        logits=3 * 4 * slots * s.vocabulary,
        weights=size * counts.parameters(s).total / tensor,
        cache=cached,
    )
