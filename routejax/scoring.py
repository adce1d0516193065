"""Log-probabilities of packed tokens under a student, for any loss.

One shift in one place: entry t of the result is about token t given the tokens before
it in its own example. Logits exist for a few hundred columns at a time, forward and
backward, so that no [B T V] array is made of long rows.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from routejax.models import Params, Places, Student
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


@functools.partial(jax.jit, static_argnames="student")
def score(
    student: Student,
    params: Params,
    batch: Rows,
    temperature: Float[Array, ""] | float = 1.0,
) -> Scores:
    """Scores of all tokens under softmax(logits / temperature), in float32.

    Rows longer than `student.execution.logit_chunk` are scored in chunks of it.
    """
    places = Places(batch.segments, batch.positions)
    hidden, _ = student.forward(params, batch.tokens, places)
    length, chunk = batch.tokens.shape[1], student.execution.logit_chunk
    if length <= chunk:
        found = _of(student, params, hidden[:, :-1], batch.tokens[:, 1:], temperature)
    else:
        # The last column predicts nothing; with it rows of whole chunks stay whole.
        after = jnp.pad(batch.tokens[:, 1:], ((0, 0), (0, 1)))
        head = {name: params[name] for name in params if name in ("embedding", "head")}
        found = student.execution.by_rows(
            functools.partial(_in_chunks, student, chunk),
            (head, jnp.asarray(temperature, jnp.float32)),
            hidden,
            after,
        )
        found = Scores(*(part[:, : length - 1] for part in found))
    return Scores(*(jnp.pad(part, ((0, 0), (1, 0))) for part in found))


def _of(
    student: Student,
    params: Params,
    hidden: Float[Array, "B t E"],
    after: Int[Array, "B t"],
    temperature: Float[Array, ""] | float,
) -> Scores:
    """Scores of the tokens that come after these hidden states."""
    logits = student.logits(params, hidden) / temperature
    axes = ("batch", "length", "vocabulary")
    logp = jax.nn.log_softmax(student.execution.placed(logits, axes))
    chosen = jnp.take_along_axis(logp, after[..., None], -1)[..., 0]
    return Scores(chosen, -jnp.sum(jnp.exp(logp) * logp, -1))


def _in_chunks(
    student: Student,
    chunk: int,
    whole: tuple[Params, Float[Array, ""]],
    hidden: Float[Array, "B T E"],
    after: Int[Array, "B T"],
) -> Scores:
    """The same over chunks of columns; the backward pass makes each one's logits anew.

    Columns are cut, not rows, so that rows may stay spread over devices.
    """
    head, temperature = whole
    batch, length = after.shape
    count = -(-length // chunk)
    beyond = count * chunk - length

    def cut(x: Array) -> Array:
        x = jnp.pad(x, ((0, 0), (0, beyond), *((0, 0),) * (x.ndim - 2)))
        return jnp.moveaxis(x.reshape(batch, count, chunk, *x.shape[2:]), 1, 0)

    @jax.checkpoint
    def one(params: Params, hidden: Array, after: Array) -> Scores:
        return _of(student, params, hidden, after, temperature)

    found = jax.lax.map(lambda pair: one(head, *pair), (cut(hidden), cut(after)))
    return Scores(*(jnp.moveaxis(x, 0, 1).reshape(batch, -1) for x in found))
