"""Who sees whom, and attention by the whole array of pairs.

A query sees a key of its own segment whose position is not after its own and, in a
sliding layer, less than `window` before it. Segment 0 is padding and sees nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Places(NamedTuple):
    """Which example every column belongs to, and where in it the column stands.

    Along a row a segment's columns are neighbours and its positions rise by one from
    column to column. Only the slots of a cache may stand in any order.
    """

    segments: Int[Array, "B T"]  # 0 is padding
    positions: Int[Array, "B T"]


def sight(
    queries: Places, keys: Places, window: int | None = None
) -> Bool[Array, "B T S"]:
    """Who sees whom, as an array: for short rows and for decoding."""
    distance = queries.positions[:, :, None] - keys.positions[:, None, :]
    same = queries.segments[:, :, None] == keys.segments[:, None, :]
    seen = same & (keys.segments > 0)[:, None, :] & (distance >= 0)
    return seen if window is None else seen & (distance < window)


def pairwise(
    queries: Float[Array, "B H T C"],
    keys: Float[Array, "B J S C"],
    values: Float[Array, "B J S C"],
    mask: Bool[Array, "B T S"],
) -> Float[Array, "B H T C"]:
    """Softmax attention; query head h reads key/value head h // (H/J).

    Scores and softmax are float32. Where a query sees nothing the output is the mean of
    the values.
    """
    batch, heads, length, width = queries.shape
    groups = keys.shape[1]
    shared = queries.reshape(batch, groups, heads // groups * length, width)
    scores = jnp.einsum(
        "bjqc,bjsc->bjqs", shared, keys, preferred_element_type=jnp.float32
    )
    scores = (scores * width**-0.5).reshape(batch, groups, heads // groups, length, -1)
    scores = jnp.where(mask[:, None, None], scores, -1e30)
    weights = jax.nn.softmax(scores, -1).astype(queries.dtype)
    weights = weights.reshape(batch, groups, heads // groups * length, -1)
    out = jnp.einsum("bjqs,bjsc->bjqc", weights, values)
    return out.reshape(batch, heads, length, width)
