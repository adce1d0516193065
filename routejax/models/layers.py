"""The pieces decoder blocks share: normalisation, attention with its maps, the MLP.

Small nnx modules in the dtype of their inputs, except that statistics of norms and
attention scores are taken in float32. None has a bias.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from routejax.models.attention import attend
from routejax.models.config import Config
from routejax.models.execution import Execution
from routejax.models.places import Places
from routejax.models.rotary import Turn, turned


class KeyValues(NamedTuple):
    """Keys and values of one layer, laid out so that one head's slots are contiguous.

    Each is as its product in decoding reads it: the scores of a query are sums over C,
    its output is a sum over S. With both alike, that product takes twice the time of
    two cores. Keys are stored turned, so a slot's place in the cache says nothing about
    the position of its token: slots may be written in any order.
    """

    keys: Float[Array, "*layers B J C S"]
    values: Float[Array, "*layers B J S C"]


class Held(NamedTuple):
    """The past as one layer sees it: its cache, and where this call's columns go."""

    pair: KeyValues
    places: Places  # of all S slots, this call's columns included
    slot: Int[Array, ""] | int  # first slot this call writes
    layer: Int[Array, ""] | int | None = None  # row of `pair` if it holds all layers

    def write(self, new: KeyValues) -> tuple[KeyValues, KeyValues]:
        """The cache with this call's columns, and this layer's part of it."""
        column, row = (0, 0, 0, self.slot), (0, 0, self.slot, 0)
        keys, values = new
        if self.layer is None:
            whole = KeyValues(
                _put(self.pair.keys, keys, column), _put(self.pair.values, values, row)
            )
            return whole, whole
        whole = KeyValues(
            _put(self.pair.keys, keys[None], (self.layer, *column)),
            _put(self.pair.values, values[None], (self.layer, *row)),
        )
        pick = partial(jax.lax.dynamic_index_in_dim, index=self.layer, keepdims=False)
        return whole, KeyValues(*map(pick, whole))


def _put(old: Array, new: Array, at: tuple[Any, ...]) -> Array:
    return jax.lax.dynamic_update_slice(old, new.astype(old.dtype), at)


class Scene(NamedTuple):
    """What all layers of one type share in one call."""

    places: Places
    turn: Turn
    window: int | None
    execution: Execution


def normalise(
    x: Float[Array, "*rows E"], scale: Float[Array, " E"], eps: float, *, late: bool
) -> Float[Array, "*rows E"]:
    """x / sqrt(mean(x²) + eps) · scale over the last axis, statistics in float32.

    `late` rounds to the dtype of `x` after the scale, else before it, which differs in
    bfloat16 only.
    """
    full = x.astype(jnp.float32)
    full = full * jax.lax.rsqrt(jnp.mean(full**2, -1, keepdims=True) + eps)
    return (scale * full).astype(x.dtype) if late else scale * full.astype(x.dtype)


class RMSNorm(nnx.Module):
    """`normalise` with a scale of its own, one at the start."""

    def __init__(self, width: int, eps: float, *, late: bool = False):
        self.scale = nnx.Param(jnp.ones(width))
        self.eps = eps
        self.late = late

    def __call__(self, x: Float[Array, "*rows E"]) -> Float[Array, "*rows E"]:
        return normalise(x, self.scale[...], self.eps, late=self.late)


class Attention(nnx.Module):
    """Grouped-query self-attention with rotary positions.

    Args:
        norms: of queries and keys before they are turned: "none", "head" (one scale for
            every head, statistics per head) or "projection" (over all heads at once).
        late: passed to those norms, and whether the turn is taken in float32.
    """

    def __init__(
        self,
        config: Config,
        *,
        norms: str = "none",
        late: bool = False,
        rngs: nnx.Rngs,
    ):
        c = config
        wide, narrow = c.heads * c.head_width, c.kv_heads * c.head_width
        self.query = linear(c.width, wide, rngs=rngs)
        self.key = linear(c.width, narrow, rngs=rngs)
        self.value = linear(c.width, narrow, rngs=rngs)
        self.out = linear(wide, c.width, scale=(2 * c.layers) ** -0.5, rngs=rngs)
        widths = {"head": (c.head_width, c.head_width), "projection": (wide, narrow)}
        if norms != "none":
            self.query_norm = RMSNorm(widths[norms][0], c.norm_eps, late=late)
            self.key_norm = RMSNorm(widths[norms][1], c.norm_eps, late=late)
        self.config, self.norms, self.late = config, norms, late

    def __call__(
        self, x: Float[Array, "BT E"], scene: Scene, held: Held | None
    ) -> tuple[Float[Array, "BT E"], KeyValues]:
        c = self.config
        q, k = self.query(x), self.key(x)
        if self.norms == "projection":
            q, k = self.query_norm(q), self.key_norm(k)
        q = self._heads(q, c.heads, scene)
        k = self._heads(k, c.kv_heads, scene)
        v = self._heads(self.value(x), c.kv_heads, scene)
        if self.norms == "head":
            q, k = self.query_norm(q), self.key_norm(k)
        q, k = (turned(y, scene.turn, full=self.late) for y in (q, k))
        whole = KeyValues(k.swapaxes(-1, -2), v)
        if held is not None:
            whole, pair = held.write(whole)
            k, v = pair.keys.swapaxes(-1, -2), pair.values
        out = attend(
            q,
            k.astype(q.dtype),
            v.astype(q.dtype),
            scene.places,
            None if held is None else held.places,
            window=scene.window,
            implementation=scene.execution.attention,
            constrain=scene.execution.constrain,
        )
        merged = out.transpose(0, 2, 1, 3).reshape(x.shape[0], -1)
        return self.out(merged), whole

    def _heads(
        self, y: Float[Array, "BT wide"], count: int, scene: Scene
    ) -> Float[Array, "B heads T C"]:
        shape = (*scene.places.segments.shape, count, self.config.head_width)
        split = y.reshape(shape).transpose(0, 2, 1, 3)
        return scene.execution.placed(split, ("batch", "heads", "length", "head"))


class GatedMLP(nnx.Module):
    """down(silu(gate(x)) · up(x))."""

    def __init__(self, config: Config, *, rngs: nnx.Rngs):
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
