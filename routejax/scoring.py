"""Log-probabilities of packed tokens under a student, for any loss.

One shift in one place: entry t of the result is about token t given the tokens before
it in its own example. Left out: chunking over the vocabulary for long rows.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from routejax.models import Params, Student
from routejax.packing import Packed


class Rows(NamedTuple):
    """The arrays of a packed batch that the student reads."""

    tokens: Int[Array, "B T"]
    segments: Int[Array, "B T"]
    positions: Int[Array, "B T"]


class Scores(NamedTuple):
    """Per token; entry 0 of a row is zero."""

    logps: Float[Array, "B T"]  # log-probability of the token
    entropy: Float[Array, "B T"]  # of the distribution it was drawn from, nats


def rows(packed: Packed) -> Rows:
    return Rows(*map(jnp.asarray, (packed.tokens, packed.segments, packed.positions)))


def within_examples(segments: Int[Array, "B T"]) -> Bool[Array, "B T T"]:
    """Causal mask that also ends at example borders; padding sees nothing."""
    length = segments.shape[1]
    same = segments[:, :, None] == segments[:, None, :]
    return same & (segments > 0)[:, None, :] & jnp.tril(jnp.ones((length,) * 2, bool))


@functools.partial(jax.jit, static_argnames="student")
def score(
    student: Student,
    params: Params,
    batch: Rows,
    temperature: Float[Array, ""] | float = 1.0,
) -> Scores:
    """Scores of all tokens under softmax(logits / temperature), in float32."""
    mask = within_examples(batch.segments)
    hidden, _ = student.forward(params, batch.tokens, batch.positions, mask)
    logits = student.logits(params, hidden[:, :-1]) / temperature
    logp = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(logp, batch.tokens[:, 1:, None], -1)[..., 0]
    entropy = -jnp.sum(jnp.exp(logp) * logp, -1)
    first = ((0, 0), (1, 0))
    return Scores(jnp.pad(chosen, first), jnp.pad(entropy, first))
