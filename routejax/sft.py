"""Supervised fine-tuning: negative log-likelihood of the response tokens only.

Every step takes the same number of examples, whatever their lengths, so that two
selections of equal size train for equally many steps on equally many examples. The EOS
that ends a response is part of it. Left out: masks inside a response.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from routejax.models import Params, Student
from routejax.packing import Example, pack
from routejax.scoring import Rows, rows, score
from routejax.update import Loss


class Batch(NamedTuple):
    """Packed examples; `weights` sum to one over the response tokens of the step."""

    rows: Rows
    weights: Float[Array, "B T"]


def batch(examples: Sequence[Example], *, row_tokens: int, row_multiple: int) -> Batch:
    """The examples of one step, every response token with the same weight."""
    packed = pack(examples, row_tokens=row_tokens, row_multiple=row_multiple)
    total = packed.response.sum()
    return Batch(rows(packed), jnp.asarray(packed.response / total, jnp.float32))


@functools.cache
def loss(student: Student) -> Loss:
    """Token-level negative log-likelihood, in nats (paper A.2, Training)."""

    def nll(params: Params, batch: Batch) -> tuple[Float[Array, ""], dict[str, Array]]:
        scores = score(student, params, batch.rows)
        # Where the weight is zero the score may be anything, also infinite.
        kept = jnp.where(batch.weights > 0, scores.logps, 0.0)
        return -jnp.sum(batch.weights * kept), {
            "response_tokens": jnp.sum(batch.weights > 0)
        }

    return nll
