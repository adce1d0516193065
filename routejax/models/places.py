"""Who sees whom, and attention by the whole array of pairs.

A query sees a key of its own segment whose position is not after its own and, in a
sliding layer, less than `window` before it. Segment 0 is padding and sees nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from routejax.errors import UserError


class Places(NamedTuple):
    """Which example every column belongs to, and where in it the column stands.

    Along a row a segment's columns are neighbours and its positions rise by one from
    column to column. Only the slots of a cache may stand in any order.

    Both are whole numbers of one shape, so name them where you build one:
    `Places(segments=…, positions=…)`. Swapped they give wrong logits; `forward` refuses
    them where it sees their values, which under `jax.jit` it does not.
    """

    segments: Int[Array, "B T"]  # 0 is padding
    positions: Int[Array, "B T"]


def require_not_swapped(places: Places) -> None:
    """Refuses segments that count along a row while the positions stand still.

    Columns of two examples may have one position only where both are the first of
    theirs. Values that are traced, or lie on other processes, are not looked at.

    Raises:
        UserError: so it is somewhere.
    """
    for part in places:
        traced = isinstance(part, Tracer)
        if traced or (isinstance(part, jax.Array) and not part.is_fully_addressable):
            return
    segments, positions = map(np.asarray, places)
    counts = np.diff(segments, axis=1) == 1
    stands = (np.diff(positions, axis=1) == 0) & (positions[:, 1:] > 0)
    if (counts & stands).any():
        raise UserError(
            "the places of a forward pass have segments that rise from column to "
            "column and positions that stand still; they look swapped. Write "
            "Places(segments=…, positions=…)"
        )


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
