"""A block of OLMo 3: norms after attention and MLP, none before.

Queries and keys are normalised over the whole projection before the split into heads.
Three layers in four slide; only the full ones have their rotary frequencies stretched
(the table of `rotary.frequencies`). Norms round after the scale and the turn is taken
in float32.
"""

from __future__ import annotations

from flax import nnx
from jaxtyping import Array, Float

from routejax.models.config import Config
from routejax.models.layers import Attention, GatedMLP, Held, KeyValues, RMSNorm, Scene


class Block(nnx.Module):
    """x + norm(attention(x)), then x + norm(mlp(x))."""

    late_norm = True

    def __init__(self, config: Config, *, rngs: nnx.Rngs):
        self.attention = Attention(config, norms="projection", late=True, rngs=rngs)
        self.attention_norm = RMSNorm(config.width, config.norm_eps, late=True)
        self.mlp = GatedMLP(config, rngs=rngs)
        self.mlp_norm = RMSNorm(config.width, config.norm_eps, late=True)

    def __call__(
        self, x: Float[Array, "BT E"], scene: Scene, held: Held | None
    ) -> tuple[Float[Array, "BT E"], KeyValues]:
        out, pair = self.attention(x, scene, held)
        x = x + self.attention_norm(out)
        return x + self.mlp_norm(self.mlp(x)), pair
