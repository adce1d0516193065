"""A Llama-like decoder: pre-norm, grouped-query attention, SwiGLU, rotary positions.

Left out: biases, attention windows and scaled rotary frequencies.
"""

from __future__ import annotations

import dataclasses

from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from routejax.models.layers import Attention, GatedMLP, KeyValues, RMSNorm


@dataclasses.dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """Sizes of one model; the letters are those of `routejax.__init__`."""

    vocabulary: int  # V
    width: int  # E
    layers: int  # L
    heads: int  # H
    kv_heads: int  # J
    head_width: int  # C
    mlp_width: int
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-6
    tied: bool = True  # the output matrix is the embedding's transpose


class Block(nnx.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, config: LlamaConfig, *, rngs: nnx.Rngs):
        self.attention_norm = RMSNorm(config.width, config.norm_eps, rngs=rngs)
        self.attention = Attention(config, rngs=rngs)
        self.mlp_norm = RMSNorm(config.width, config.norm_eps, rngs=rngs)
        self.mlp = GatedMLP(config, rngs=rngs)

    def __call__(self, x, positions, mask, past, slot):
        out, present = self.attention(
            self.attention_norm(x), positions, mask, past, slot
        )
        x = x + out
        return x + self.mlp(self.mlp_norm(x)), present


class Llama(nnx.Module):
    """Tokens to final hidden states, and hidden states to logits."""

    def __init__(self, config: LlamaConfig, *, rngs: nnx.Rngs):
        self.config = config
        start = nnx.initializers.normal(config.width**-0.5)
        self.embedding = nnx.Param(
            start(rngs.params(), (config.vocabulary, config.width))
        )
        self.blocks = nnx.List([Block(config, rngs=rngs) for _ in range(config.layers)])
        self.norm = RMSNorm(config.width, config.norm_eps, rngs=rngs)
        if not config.tied:
            self.head = nnx.Param(
                start(rngs.params(), (config.vocabulary, config.width))
            )

    def __call__(
        self,
        tokens: Int[Array, "B T"],
        positions: Int[Array, "B T"],
        mask: Bool[Array, "B T S"],
        past: tuple[KeyValues, ...] | None = None,
        slot: Int[Array, ""] | int = 0,
    ) -> tuple[Float[Array, "B T E"], tuple[KeyValues, ...]]:
        """Final hidden states, and each layer's keys and values.

        With `past`, this call's keys and values are written into it at `slot` and
        `mask` says which of its S slots each token sees; without, S = T.
        """
        # Rows are flat inside: one matrix product over all tokens is twice as fast in
        # the backward pass on CPU as a product over two batch axes.
        x = self.embedding[...][tokens.reshape(-1)]
        present = []
        for i, block in enumerate(self.blocks):
            x, pair = block(x, positions, mask, past[i] if past else None, slot)
            present.append(pair)
        return self.norm(x).reshape(*tokens.shape, -1), tuple(present)

    def logits(self, hidden: Float[Array, "*rows E"]) -> Float[Array, "*rows V"]:
        head = self.embedding if self.config.tied else self.head
        flat = hidden.reshape(-1, hidden.shape[-1]) @ head[...].T
        return flat.reshape(*hidden.shape[:-1], -1)
