"""Sampling in one jitted loop on the device: shared prefill, and slots that refill.

Each prompt is run once and its keys and values are shared by all its requests. A fixed
number of slots decode together; when enough of them have finished, waiting requests
take their places, so the shapes never change and few steps are spent on rows that are
done. All slots write the same cache column in one step (a ring), which is a contiguous
update; a mask of each row's own age says which columns are its own.

A request's randomness is its own key folded with the token's number, so a sample does
not depend on which requests it was batched with.

Log-probabilities are those of the full distribution at the temperature, so where `draw`
leaves ids out they are not of the distribution that was drawn from: training, whose
log-probabilities must be the sampler's, draws from all ids.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, UInt32

from routejax.draw import FULL, Truncation, draw, require_possible
from routejax.errors import UserError
from routejax.models import Pairs, Params, Past, Places, Student


class Samples(NamedTuple):
    """One row per request, in request order.

    `lengths` counts the sampled tokens, the stop token included; a row that reached
    the limit without one has `lengths == R` and no stop token. Beyond its length a row
    is zero. `logps` are of the sampled ids at the sampling temperature.
    """

    tokens: Int[Array, "N R"]
    logps: Float[Array, "N R"]
    lengths: Int[Array, " N"]
    steps: Int[Array, ""]  # decoding steps the loop took, for throughput figures


class Queue(NamedTuple):
    """What to sample: padded prompts, and requests that point to them."""

    prompts: Int[Array, "Q P"]  # right-padded
    prompt_lengths: Int[Array, " Q"]
    owner: Int[Array, " N"]  # prompt of each request
    keys: UInt32[Array, "N 2"]  # raw key of each request


class _Prefill(NamedTuple):
    cache: Pairs  # of P slots for each of the Q prompts
    logits: Float[Array, "Q V"]  # after each prompt's last token


class _Loop(NamedTuple):
    cache: Pairs  # of P + R slots for each row
    logits: Float[Array, "slots V"]
    request: Int[Array, " slots"]  # N where the slot is idle
    age: Int[Array, " slots"]  # tokens its request has so far
    waiting: Int[Array, ""]  # first request that has not started
    step: Int[Array, ""]
    out: Samples


def request_keys(
    seed: int,
    step: int,
    prompts: Integer[np.ndarray, " N"],
    samples: Integer[np.ndarray, " N"],
) -> UInt32[Array, "N 2"]:
    """Raw keys that are a function of (run seed, step, prompt number, sample index)."""
    return _keys(np.uint32(seed), np.uint32(step), jnp.asarray(prompts), samples)


@jax.jit
def _keys(seed, step, prompts, samples):
    base = jax.random.fold_in(jax.random.key(seed), step)
    fold = jax.vmap(lambda p, s: jax.random.fold_in(jax.random.fold_in(base, p), s))
    return jax.random.key_data(fold(prompts, samples))


STATIC = ("student", "slots", "max_new", "stop_ids", "refill_at", "truncation")


@functools.partial(jax.jit, static_argnames=STATIC)
def sample(
    student: Student,
    params: Params,
    queue: Queue,
    *,
    slots: int,
    max_new: int,
    stop_ids: tuple[int, ...],
    temperature: Float[Array, ""] | float,
    refill_at: int,
    truncation: Truncation = FULL,
) -> Samples:
    """Responses of at most `max_new` tokens to all requests of the queue.

    Args:
        slots: rows decoded together.
        stop_ids: any of these ends a response, and is part of it.
        temperature: divides the logits; 0 takes the likeliest id.
        refill_at: idle slots that trigger taking in new requests.
        truncation: ids that may be drawn.

    Raises:
        UserError: a size below one (with `refill_at` 0 no token would ever be drawn),
            or a truncation outside its range.
    """
    require_possible(truncation)
    if min(slots, max_new, refill_at) < 1:
        raise UserError(
            "slots, max_new and refill_at must be at least 1, "
            f"got {slots}, {max_new} and {refill_at}"
        )
    params = student.ready(params)
    ready = _prefill(student, params, queue)
    state = _start(student, queue, slots, max_new)
    total = queue.owner.shape[0]

    def choose(logits: Array, keys: Array, ages: Array):
        return draw(logits, keys, ages, temperature, truncation)

    step = functools.partial(_decode, student, params, queue, stop_ids, choose)

    def working(s: _Loop):
        return jnp.any(s.request < total)

    def decode_until_refill(s: _Loop):
        s = _refill(s, queue, ready)

        def go_on(s: _Loop):
            idle = jnp.sum(s.request == total)
            due = (s.waiting < total) & (idle >= refill_at)
            return working(s) & ~due

        return jax.lax.while_loop(go_on, step, s)

    def unfinished(s: _Loop):
        return working(s) | (s.waiting < total)

    state = jax.lax.while_loop(unfinished, decode_until_refill, state)
    return state.out._replace(steps=state.step)


def _prefill(student: Student, params: Params, queue: Queue) -> _Prefill:
    count, width = queue.prompts.shape
    positions = jnp.broadcast_to(jnp.arange(width), (count, width))
    inside = positions < queue.prompt_lengths[:, None]
    places = Places(inside.astype(jnp.int32), positions)
    hidden, cache = student.forward(params, queue.prompts, places, keep=True)
    assert cache is not None
    last = jnp.take_along_axis(
        hidden, (queue.prompt_lengths - 1)[:, None, None], axis=1
    )[:, 0]
    return _Prefill(cache, student.logits(params, last))


def _start(student: Student, queue: Queue, slots: int, max_new: int) -> _Loop:
    total, width = queue.owner.shape[0], queue.prompts.shape[1]
    zero = jnp.zeros((), jnp.int32)
    return _Loop(
        cache=student.empty_cache(slots, width + max_new),
        logits=jnp.zeros((slots, student.config.vocabulary)),
        request=jnp.full(slots, total, jnp.int32),
        age=jnp.zeros(slots, jnp.int32),
        waiting=zero,
        step=zero,
        out=Samples(
            tokens=jnp.zeros((total, max_new), jnp.int32),
            logps=jnp.zeros((total, max_new)),
            lengths=jnp.zeros(total, jnp.int32),
            steps=zero,
        ),
    )


def _refill(s: _Loop, queue: Queue, ready: _Prefill) -> _Loop:
    """Idle slots take the next waiting requests, in slot order."""
    total = queue.owner.shape[0]
    idle = s.request == total
    candidate = s.waiting + jnp.cumsum(idle) - 1
    taken = idle & (candidate < total)
    owner = queue.owner[jnp.where(taken, candidate, 0)]

    def load(mine: Float[Array, "*mine"], prompts: Float[Array, "*prompts"]):
        new = jnp.take(prompts, owner, axis=-4)
        columns = tuple(map(slice, new.shape))  # of the prompt, whichever axis has them
        new = jnp.where(taken[:, None, None, None], new, mine[columns])
        return mine.at[columns].set(new)

    return s._replace(
        cache=jax.tree.map(load, s.cache, ready.cache),
        logits=jnp.where(taken[:, None], ready.logits[owner], s.logits),
        request=jnp.where(taken, candidate, s.request),
        age=jnp.where(taken, 0, s.age),
        waiting=s.waiting + jnp.sum(taken),
    )


def _decode(
    student: Student,
    params: Params,
    queue: Queue,
    stop_ids: tuple[int, ...],
    choose: Callable[..., tuple[Array, Array]],
    s: _Loop,
) -> _Loop:
    """One token for every busy slot."""
    total, max_new = s.out.tokens.shape
    width = queue.prompts.shape[1]
    busy = s.request < total
    request = jnp.minimum(s.request, total - 1)
    token, logp = choose(s.logits, queue.keys[request], s.age)

    ended = busy & (jnp.isin(token, jnp.array(stop_ids)) | (s.age + 1 == max_new))
    out = Samples(
        tokens=s.out.tokens.at[s.request, s.age].set(token, mode="drop"),
        logps=s.out.logps.at[s.request, s.age].set(logp, mode="drop"),
        lengths=s.out.lengths.at[jnp.where(ended, s.request, total)].set(
            s.age + 1, mode="drop"
        ),
        steps=s.out.steps,
    )
    column = s.step % max_new
    prompt_length = queue.prompt_lengths[queue.owner[request]]
    since = (column - jnp.arange(max_new)) % max_new  # steps since a column was written
    here = (prompt_length + s.age)[:, None]
    slots = Places(
        segments=jnp.concatenate(
            [
                jnp.arange(width) < prompt_length[:, None],
                since[None] <= s.age[:, None],
            ],
            axis=1,
        ).astype(jnp.int32),
        positions=jnp.concatenate(
            [
                jnp.broadcast_to(jnp.arange(width), (len(token), width)),
                here - since[None],
            ],
            axis=1,
        ),
    )
    hidden, cache = student.forward(
        params,
        token[:, None],
        Places(jnp.ones_like(here), here),
        Past(s.cache, slots, width + column),
    )
    assert cache is not None
    return _Loop(
        cache=cache,
        logits=student.logits(params, hidden[:, 0]),
        request=jnp.where(ended, total, s.request),
        age=s.age + busy,
        waiting=s.waiting,
        step=s.step + 1,
        out=out,
    )
