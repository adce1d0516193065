"""The pieces decoder models share: normalisation, rotary positions, attention, MLP.

All are plain functions or small nnx modules in the dtype of their inputs, except that
normalisation statistics and attention scores are taken in float32.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int


class KeyValues(NamedTuple):
    """Keys and values of one layer, laid out so that one head's slots are contiguous.

    Keys are stored rotated, so a slot's place in the cache says nothing about the
    position of its token: slots may be written in any order.
    """

    keys: Float[Array, "B J S C"]
    values: Float[Array, "B J S C"]


class RMSNorm(nnx.Module):
    """x / sqrt(mean(x²) + eps) · scale over the last axis, statistics in float32."""

    def __init__(self, width: int, eps: float, *, rngs: nnx.Rngs):
        del rngs  # the scale starts at one
        self.scale = nnx.Param(jnp.ones(width))
        self.eps = eps

    def __call__(self, x: Float[Array, "*rows E"]) -> Float[Array, "*rows E"]:
        full = x.astype(jnp.float32)
        full = full * jax.lax.rsqrt(jnp.mean(full**2, -1, keepdims=True) + self.eps)
        return self.scale[...] * full.astype(x.dtype)


def rotary(
    x: Float[Array, "B H T C"], positions: Int[Array, "B T"], theta: float
) -> Float[Array, "B H T C"]:
    """`x` turned by its positions: pairs (i, i + C/2) rotate by position·theta^(-2i/C).

    The half-split convention of Llama checkpoints in the Hugging Face layout.
    """
    half = x.shape[-1] // 2
    frequency = theta ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = positions[:, None, :, None].astype(jnp.float32) * frequency
    cos, sin = jnp.cos(angle).astype(x.dtype), jnp.sin(angle).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def attention(
    queries: Float[Array, "B H T C"],
    keys: Float[Array, "B J S C"],
    values: Float[Array, "B J S C"],
    mask: Bool[Array, "B T S"],
) -> Float[Array, "B H T C"]:
    """Softmax attention; query head h reads key/value head h // (H/J).

    Where a query sees no slot at all the output is the mean of the values: finite, and
    never used, because such rows are padding.
    """
    batch, heads, length, width = queries.shape
    groups = keys.shape[1]
    shared = queries.reshape(batch, groups, heads // groups * length, width)
    scores = jnp.einsum("bjqc,bjsc->bjqs", shared, keys) * width**-0.5
    scores = scores.astype(jnp.float32)
    scores = scores.reshape(batch, groups, heads // groups, length, keys.shape[2])
    scores = jnp.where(mask[:, None, None], scores, -1e30)
    weights = jax.nn.softmax(scores, -1).astype(queries.dtype)
    weights = weights.reshape(batch, groups, heads // groups * length, -1)
    out = jnp.einsum("bjqs,bjsc->bjqc", weights, values)
    return out.reshape(batch, heads, length, width)


class Attention(nnx.Module):
    """Grouped-query self-attention with rotary positions and no biases."""

    def __init__(self, config, *, rngs: nnx.Rngs):
        self.config = config
        c = config
        wide, narrow = c.heads * c.head_width, c.kv_heads * c.head_width
        self.query = linear(c.width, wide, rngs=rngs)
        self.key = linear(c.width, narrow, rngs=rngs)
        self.value = linear(c.width, narrow, rngs=rngs)
        self.out = linear(wide, c.width, scale=(2 * c.layers) ** -0.5, rngs=rngs)

    def __call__(
        self,
        x: Float[Array, "BT E"],
        positions: Int[Array, "B T"],
        mask: Bool[Array, "B T S"],
        past: KeyValues | None,
        slot: Int[Array, ""] | int,
    ) -> tuple[Float[Array, "BT E"], KeyValues]:
        c = self.config

        def heads(y: Float[Array, "BT wide"], count: int) -> Float[Array, "B H T C"]:
            return y.reshape(*positions.shape, count, -1).transpose(0, 2, 1, 3)

        q = rotary(heads(self.query(x), c.heads), positions, c.rope_theta)
        k = rotary(heads(self.key(x), c.kv_heads), positions, c.rope_theta)
        v = heads(self.value(x), c.kv_heads)
        if past is not None:
            write = jax.lax.dynamic_update_slice_in_dim
            k = write(past.keys, k, slot, axis=2)
            v = write(past.values, v, slot, axis=2)
        out = attention(q, k, v, mask)
        merged = out.transpose(0, 2, 1, 3).reshape(x.shape[0], -1)
        return self.out(merged), KeyValues(k, v)


class GatedMLP(nnx.Module):
    """down(silu(gate(x)) · up(x)), no biases."""

    def __init__(self, config, *, rngs: nnx.Rngs):
        c = config
        self.gate = linear(c.width, c.mlp_width, rngs=rngs)
        self.up = linear(c.width, c.mlp_width, rngs=rngs)
        scale = (2 * c.layers) ** -0.5
        self.down = linear(c.mlp_width, c.width, scale=scale, rngs=rngs)

    def __call__(self, x: Float[Array, "*rows E"]) -> Float[Array, "*rows E"]:
        return self.down(jax.nn.silu(self.gate(x)) * self.up(x))


def linear(inputs: int, outputs: int, *, scale: float = 1.0, rngs: nnx.Rngs):
    """A bias-free linear map with standard deviation scale/sqrt(inputs) at the start.

    Maps that write into the residual stream pass scale = 1/sqrt(2·layers), so that the
    stream's variance does not grow with depth.
    """
    start = nnx.initializers.normal(scale * inputs**-0.5)
    return nnx.Linear(inputs, outputs, use_bias=False, kernel_init=start, rngs=rngs)
