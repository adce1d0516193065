"""One token for each row of logits: which ids may be drawn, and which one is.

The logits are divided by the temperature; then top-k, top-p and min-p each narrow what
the one before it left, in the order of transformers. (vLLM takes min-p first, which
makes a top-p after it take no more ids than here.) Each of the three keeps the
likeliest ids of a row, so each is a floor on its logits and the highest floor decides:
ids that tie are kept or left out together, whatever their order in the vocabulary.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from routejax.errors import UserError


class Truncation(NamedTuple):
    """Which ids may be drawn. Hashable, so that what is off costs nothing.

    Attributes:
        top_k: ids no less likely than the k-th likeliest; 0 keeps all.
        top_p: above 0: ids for which all likelier ids together have less than this of
            what `top_k` left. So the id that reaches it is kept; 1 keeps all.
        min_p: ids at least this times as likely as the likeliest; 0 keeps all.
    """

    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0


FULL = Truncation()  # every id may be drawn, each with its own probability


def require_possible(truncation: Truncation) -> None:
    """Raises UserError for a number outside its range."""
    top_k, top_p, min_p = truncation
    if not (top_k >= 0 and 0 < top_p <= 1 and 0 <= min_p <= 1):
        raise UserError(
            "top_k must be at least 0, top_p above 0 and at most 1, min_p in 0..1, "
            f"got {top_k}, {top_p} and {min_p}; 0, 1 and 0 leave every id"
        )


def draw(
    logits: Float[Array, "rows V"],
    keys: UInt32[Array, "rows 2"],
    ages: Int[Array, " rows"],
    temperature: Float[Array, ""] | float,
    truncation: Truncation = FULL,
) -> tuple[Int[Array, " rows"], Float[Array, " rows"]]:
    """An id per row and its log-probability.

    The log-probability is that of all ids at the temperature, also where few of them
    may be drawn. A row's randomness is its raw key folded with its age.

    Args:
        temperature: 0 takes the likeliest id, of equal ones the first; its
            log-probability is then that at temperature 1.
    """
    greedy = jnp.asarray(temperature) == 0
    logp = jax.nn.log_softmax(logits / jnp.where(greedy, 1.0, temperature))
    token = jax.lax.cond(
        greedy,
        lambda: jnp.argmax(logits, -1).astype(jnp.int32),
        lambda: _by_chance(logp, keys, ages, truncation),
    )
    return token, jnp.take_along_axis(logp, token[:, None], -1)[:, 0]


def kept(logp: Float[Array, "rows V"], truncation: Truncation) -> Bool[Array, "rows V"]:
    """The ids that may be drawn."""
    top_k, top_p, min_p = truncation
    floor = jnp.full((len(logp), 1), -jnp.inf)
    if 0 < top_k < logp.shape[-1] or top_p < 1:
        ranked = jnp.sort(logp, axis=-1, descending=True)
        if 0 < top_k < logp.shape[-1]:
            floor = ranked[:, top_k - 1 : top_k]
        chance = jax.nn.softmax(jnp.where(ranked >= floor, ranked, -jnp.inf))
        likelier = jnp.cumsum(chance, -1) - chance
        inside = jnp.where(likelier < top_p, ranked, jnp.inf)
        floor = jnp.maximum(floor, jnp.min(inside, -1, keepdims=True))
    if min_p > 0:
        highest = jnp.max(logp, -1, keepdims=True)
        floor = jnp.maximum(floor, highest + jnp.log(min_p))
    return logp >= floor


def _by_chance(
    logp: Float[Array, "rows V"],
    keys: UInt32[Array, "rows 2"],
    ages: Int[Array, " rows"],
    truncation: Truncation,
) -> Int[Array, " rows"]:
    """By inverting the cumulative distribution: one uniform number a row.

    Sums of a prefix are made in blocks and may fall by a rounding from one id to the
    next, so an id without a chance is passed over by name.
    """
    chance = jnp.exp(logp)
    if truncation != FULL:
        chance = jnp.where(kept(logp, truncation), chance, 0.0)
    total = jnp.where(chance > 0, jnp.cumsum(chance, -1), 0.0)
    fold = jax.vmap(lambda k, a: jax.random.fold_in(jax.random.wrap_key_data(k), a))
    uniform = jax.vmap(functools.partial(jax.random.uniform, dtype=logp.dtype))
    target = uniform(fold(keys, ages)) * jnp.max(total, -1)
    ids = jnp.arange(logp.shape[-1], dtype=jnp.int32)
    beyond = jnp.where(total > target[:, None], ids, ids[-1])
    return jnp.min(beyond, -1)
