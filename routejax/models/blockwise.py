"""Attention of a row to itself in blocks: memory linear in its length, in plain jax.

The softmax is carried along the blocks of keys (Rabe & Staats 2021; Dao et al. 2022):
maximum, sum and weighted values so far. The backward pass makes each block's weights
anew from the sum that was kept per query. Blocks nobody in them can see are not looked
at: those after the queries, those before the window, and those before the segment of
the first query (after that of the last key, backward), which a packed batch has many of
if its rows have their borders at like places.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Bool, Float, Int

BLOCK = 512  # columns

_FAR = -1e30  # the score of a pair that is not seen


class _Cut(NamedTuple):
    """A row in blocks, as the loops read it."""

    queries: Float[Array, "n B J G block C"]
    keys: Float[Array, "n B J block C"]
    values: Float[Array, "n B J block C"]
    segments: Int[Array, "n B block"]
    window: int | None

    @property
    def block(self) -> int:
        return self.segments.shape[-1]

    @property
    def scale(self) -> float:
        return self.queries.shape[-1] ** -0.5

    def seen(self, i: Array, j: Array) -> Bool[Array, "B 1 1 block block"]:
        """Which queries of block i see which keys of block j."""
        mine, theirs = self.segments[i], self.segments[j]
        columns = jnp.arange(self.block)
        apart = (i - j) * self.block + columns[:, None] - columns[None]
        near = apart >= 0
        if self.window is not None:
            near &= apart < self.window
        same = (mine[:, :, None] == theirs[:, None, :]) & (theirs > 0)[:, None, :]
        return (same & near)[:, None, None]

    def scores(self, i: Array, j: Array) -> Float[Array, "B J G block block"]:
        found = jnp.einsum(
            "bjgqc,bjkc->bjgqk",
            self.queries[i],
            self.keys[j],
            preferred_element_type=jnp.float32,
        )
        return found * self.scale


@functools.partial(jax.custom_vjp, nondiff_argnums=(4, 5))
def blockwise(
    queries: Float[Array, "B H T C"],
    keys: Float[Array, "B J T C"],
    values: Float[Array, "B J T C"],
    segments: Int[Array, "B T"],
    window: int | None,
    block: int = BLOCK,
) -> Float[Array, "B H T C"]:
    """What `places.pairwise` gives, without an array of pairs.

    Scores and sums are float32. The output of a query that sees nothing is zero.
    """
    return _forward(queries, keys, values, segments, window, block)[0]


def _forward(queries, keys, values, segments, window, block):
    length = queries.shape[2]
    block = min(block, length)
    cut = _cut(queries, keys, values, segments, window, block)
    first, _ = _borders(cut)

    def of_queries(_, i):
        shape = cut.queries.shape[1:]
        start = (
            jnp.full(shape[:-1], _FAR),
            jnp.zeros(shape[:-1]),
            jnp.zeros(shape),
        )
        step = functools.partial(_more_keys, cut, i)
        high, total, out = jax.lax.fori_loop(first[i], i + 1, step, start)
        empty = total == 0
        total = jnp.where(empty, 1.0, total)
        kept = jnp.where(empty, 0.0, high + jnp.log(total))
        return None, ((out / total[..., None]).astype(queries.dtype), kept)

    _, (out, kept) = jax.lax.scan(of_queries, None, jnp.arange(len(cut.queries)))
    out = checkpoint_name(_whole(out, length).reshape(queries.shape), "attention")
    kept = checkpoint_name(kept, "attention")
    return out, (queries, keys, values, segments, out, kept)


def _more_keys(cut: _Cut, i, j, state):
    """The softmax of query block i with key block j added."""
    high, total, out = state
    seen, scores = cut.seen(i, j), cut.scores(i, j)
    scores = jnp.where(seen, scores, _FAR)
    higher = jnp.maximum(high, scores.max(-1))
    weights = jnp.where(seen, jnp.exp(scores - higher[..., None]), 0.0)
    shrink = jnp.exp(high - higher)
    values = cut.values[j]
    added = jnp.einsum(
        "bjgqk,bjkc->bjgqc",
        weights.astype(values.dtype),
        values,
        preferred_element_type=jnp.float32,
    )
    total = total * shrink + weights.sum(-1)
    return higher, total, out * shrink[..., None] + added


def _backward(window, block, residuals, slope):
    queries, keys, values, segments, out, kept = residuals
    length = queries.shape[2]
    block = min(block, length)
    cut = _cut(queries, keys, values, segments, window, block)
    _, last = _borders(cut)
    slopes = _blocks(_grouped(slope, keys.shape[1]), block)
    inner = jnp.sum(slope.astype(jnp.float32) * out.astype(jnp.float32), -1)
    inner = _blocks(_grouped(inner[..., None], keys.shape[1]), block)[..., 0]

    def of_keys(query_slope, j):
        zero = jnp.zeros(cut.keys.shape[1:])
        step = functools.partial(_more_queries, cut, slopes, inner, kept, j)
        start = (query_slope, zero, zero)
        query_slope, key_slope, value_slope = jax.lax.fori_loop(
            j, last[j] + 1, step, start
        )
        return query_slope, (key_slope, value_slope)

    query_slope, pair = jax.lax.scan(
        of_keys, jnp.zeros(cut.queries.shape), jnp.arange(len(cut.keys))
    )
    found = (
        _whole(query_slope, length).reshape(queries.shape),
        *(_whole(part, length) for part in pair),
    )
    dtypes = (queries.dtype, keys.dtype, values.dtype)
    cast = (x.astype(dtype) for x, dtype in zip(found, dtypes, strict=True))
    return (*cast, None)


def _more_queries(cut: _Cut, slopes, inner, kept, j, i, state):
    """Slopes with what query block i owes to key block j added."""
    query_slope, key_slope, value_slope = state
    scores = cut.scores(i, j) - kept[i][..., None]
    weights = jnp.where(cut.seen(i, j), jnp.exp(scores), 0.0)
    full = functools.partial(jnp.einsum, preferred_element_type=jnp.float32)
    rounded = weights.astype(slopes.dtype)
    value_slope += full("bjgqk,bjgqc->bjkc", rounded, slopes[i])
    of_weights = full("bjgqc,bjkc->bjgqk", slopes[i], cut.values[j])
    of_scores = weights * (of_weights - inner[i][..., None]) * cut.scale
    of_scores = of_scores.astype(slopes.dtype)
    key_slope += full("bjgqk,bjgqc->bjkc", of_scores, cut.queries[i])
    added = full("bjgqk,bjkc->bjgqc", of_scores, cut.keys[j])
    return query_slope.at[i].add(added), key_slope, value_slope


blockwise.defvjp(_forward, _backward)


def _borders(cut: _Cut) -> tuple[Int[Array, " n"], Int[Array, " n"]]:
    """First block of keys that queries of a block see; last block that sees its keys.

    Over all rows of the batch, since they are worked on together.
    """
    count, block = len(cut.segments), cut.block
    flat = jnp.moveaxis(cut.segments, 0, 1).reshape(cut.segments.shape[1], -1)
    new = jnp.pad(flat[:, 1:] != flat[:, :-1], ((0, 0), (1, 1)), constant_values=True)
    columns = jnp.arange(flat.shape[1])
    begin = jax.lax.cummax(jnp.where(new[:, :-1], columns, 0), axis=1)
    end = jnp.where(new[:, 1:], columns, columns[-1])
    end = jax.lax.cummin(end, axis=1, reverse=True)
    first = begin[:, ::block].min(0) // block
    last = end[:, block - 1 :: block].max(0) // block
    if cut.window is not None:
        number = jnp.arange(count)
        first = jnp.maximum(first, (number * block - cut.window + 1) // block)
        farthest = ((number + 1) * block - 1 + cut.window - 1) // block
        last = jnp.minimum(last, farthest)
    return jnp.maximum(first, 0), jnp.minimum(last, count - 1)


def _cut(queries, keys, values, segments, window, block) -> _Cut:
    queries = _grouped(queries, keys.shape[1])
    return _Cut(
        _blocks(queries, block),
        _blocks(keys, block),
        _blocks(values, block),
        _blocks(segments[..., None], block)[..., 0],
        window,
    )


def _grouped(x: Float[Array, "B H T C"], groups: int) -> Float[Array, "B J G T C"]:
    return x.reshape(x.shape[0], groups, -1, *x.shape[2:])


def _blocks(x: Array, block: int) -> Array:
    """[... T C] as [n ... block C], zeros after the end."""
    length = x.shape[-2]
    count = -(-length // block)
    pad = [(0, 0)] * (x.ndim - 2) + [(0, count * block - length), (0, 0)]
    x = jnp.pad(x, pad)
    x = x.reshape(*x.shape[:-2], count, block, x.shape[-1])
    return jnp.moveaxis(x, -3, 0)


def _whole(x: Array, length: int) -> Array:
    """The reverse of `_blocks`."""
    x = jnp.moveaxis(x, 0, -3)
    return x.reshape(*x.shape[:-3], -1, x.shape[-1])[..., :length, :]
