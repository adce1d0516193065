"""Students: tokens to logits, as pure functions over a plain tree of parameters.

A flax nnx module describes each architecture; it is split once into its structure and
a nested dict of arrays, and from then on everything is ordinary jax.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from routejax.errors import UserError
from routejax.models.layers import KeyValues
from routejax.models.llama import Llama, LlamaConfig

MODELS = {"llama": (Llama, LlamaConfig)}

Params = dict[str, Any]

_MOST_LAYERS = 100

__all__ = ["MODELS", "KeyValues", "Params", "Student", "create"]


@dataclasses.dataclass(frozen=True)
class Student:
    """An architecture without its weights; hashable, so it can be a static argument."""

    family: str
    config: LlamaConfig

    def init(self, seed: int) -> Params:
        """Fresh float32 parameters, a function of the architecture and `seed` only."""
        return _fresh(self, jax.random.key(seed))

    def forward(
        self,
        params: Params,
        tokens: Int[Array, "B T"],
        positions: Int[Array, "B T"],
        mask: Bool[Array, "B T S"],
        past: tuple[KeyValues, ...] | None = None,
        slot: Int[Array, ""] | int = 0,
    ) -> tuple[Float[Array, "B T E"], tuple[KeyValues, ...]]:
        """Final hidden states and each layer's keys and values; see `Llama`."""
        return self._merge(params)(tokens, positions, mask, past, slot)

    def logits(
        self, params: Params, hidden: Float[Array, "*rows E"]
    ) -> Float[Array, "*rows V"]:
        """Unnormalised log-probabilities of the next token, float32."""
        return self._merge(params).logits(hidden).astype(jnp.float32)

    def empty_cache(
        self, batch: int, slots: int, dtype: Any = jnp.float32
    ) -> tuple[KeyValues, ...]:
        shape = (batch, self.config.kv_heads, slots, self.config.head_width)
        zeros = KeyValues(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype))
        return (zeros,) * self.config.layers

    def _build(self, rngs: nnx.Rngs) -> Any:
        return MODELS[self.family][0](self.config, rngs=rngs)

    def _merge(self, params: Params) -> Any:
        structure, state = _abstract(self)
        leaves = jax.tree.leaves(params)  # sorted keys, the order of `_plain`
        return nnx.merge(structure, jax.tree.unflatten(state, leaves))


@functools.partial(jax.jit, static_argnames="student")
def _fresh(student: Student, key: Array) -> Params:
    return _plain(nnx.split(student._build(nnx.Rngs(key)), nnx.Param)[1])


@functools.cache
def _abstract(student: Student) -> tuple[Any, Any]:
    """The module's structure, and the tree definition of its parameters."""
    module = nnx.eval_shape(lambda: student._build(nnx.Rngs(0)))
    structure, state = nnx.split(module, nnx.Param)
    names = jax.tree.structure(_plain(state))
    assert names.num_leaves == len(jax.tree.leaves(state))
    return structure, jax.tree.structure(state)


def _plain(state: Any) -> Params:
    """A nested dict with string keys whose leaves are in the order of `state`'s."""

    def stringify(tree: Any) -> Any:
        if isinstance(tree, dict):
            # Two digits keep `_MOST_LAYERS` layers in numeric order when sorted.
            return {
                f"{k:02d}" if isinstance(k, int) else k: stringify(v)
                for k, v in tree.items()
            }
        return tree

    return stringify(nnx.to_pure_dict(state))


def create(family: str, **sizes: Any) -> Student:
    """The student of a family with the given sizes.

    Raises:
        UserError: unknown family, heads that do not divide, heads of odd width, or
            more layers than names.
    """
    if family not in MODELS:
        raise UserError(
            f"student.family must be one of {sorted(MODELS)}, got {family!r}"
        )
    config = MODELS[family][1](**sizes)
    if config.heads % config.kv_heads:
        raise UserError(
            "student.heads must be a multiple of student.kv_heads, "
            f"got {config.heads} and {config.kv_heads}"
        )
    if config.head_width % 2:
        raise UserError(
            "student.head_width must be even, got "
            f"{config.head_width}: rotary positions turn pairs"
        )
    if not 1 <= config.layers <= _MOST_LAYERS:
        raise UserError(
            f"student.layers must be 1..{_MOST_LAYERS}, got {config.layers}"
        )
    return Student(family, config)


def count(params: Params) -> int:
    """Number of parameters."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))
