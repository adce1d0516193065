"""A block of Llama: norms before, nothing on queries and keys.

Also SmolLM2 and every checkpoint of the same architecture without biases.
"""

from __future__ import annotations

from flax import nnx
from jaxtyping import Array, Float

from routejax.models.config import Config
from routejax.models.layers import Attention, GatedMLP, Held, KeyValues, RMSNorm, Scene


class Block(nnx.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    late_norm = False

    def __init__(self, config: Config, *, rngs: nnx.Rngs):
        self.attention_norm = RMSNorm(config.width, config.norm_eps)
        self.attention = Attention(config, rngs=rngs)
        self.mlp_norm = RMSNorm(config.width, config.norm_eps)
        self.mlp = GatedMLP(config, rngs=rngs)

    def __call__(
        self, x: Float[Array, "BT E"], scene: Scene, held: Held | None
    ) -> tuple[Float[Array, "BT E"], KeyValues]:
        out, pair = self.attention(self.attention_norm(x), scene, held)
        x = x + out
        return x + self.mlp(self.mlp_norm(x)), pair
