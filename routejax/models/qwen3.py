"""A block of Qwen3: as Llama's, with queries and keys normalised head by head.

The norm over C comes after the split into heads and before the turn; its scale is one
vector for all heads. The heads' width is a size of its own, not E/H.
"""

from __future__ import annotations

from flax import nnx

from routejax.models import llama
from routejax.models.config import Config
from routejax.models.layers import Attention


class Block(llama.Block):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, config: Config, *, rngs: nnx.Rngs):
        super().__init__(config, rngs=rngs)
        self.attention = Attention(config, norms="head", rngs=rngs)
