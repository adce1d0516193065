"""Named sizes: the local student and published checkpoints.

Counts of parameters are asserted in the tests against sums worked by hand.
"""

from __future__ import annotations

from typing import NamedTuple

from routejax.models.config import Config, Yarn

SLIDING = ("sliding", "sliding", "sliding", "full")  # OLMo 3: one layer in four is full


class Size(NamedTuple):
    """A family's name and its sizes."""

    family: str
    config: Config


def _qwen3(width: int, layers: int, heads: int, mlp_width: int, *, tied: bool) -> Size:
    """Qwen3 base models: eight key/value heads of 128 whatever the width."""
    config = Config(
        vocabulary=151_936,
        width=width,
        layers=layers,
        heads=heads,
        kv_heads=8,
        head_width=128,
        mlp_width=mlp_width,
        rope_theta=1_000_000.0,
        norm_eps=1e-6,
        tied=tied,
        max_positions=32_768,
    )
    return Size("qwen3", config)


SIZES = {
    # Trained from scratch in minutes on two cores; its vocabulary is the tokenizer's.
    "local": Size(
        "llama",
        Config(
            vocabulary=448,
            width=96,
            layers=3,
            heads=4,
            kv_heads=2,
            head_width=24,
            mlp_width=256,
            tied=False,
            max_positions=256,
        ),
    ),
    "smollm2-135m": Size(
        "llama",
        Config(
            vocabulary=49_152,
            width=576,
            layers=30,
            heads=9,
            kv_heads=3,
            head_width=64,
            mlp_width=1536,
            rope_theta=100_000.0,
            norm_eps=1e-5,
            max_positions=8192,
        ),
    ),
    "qwen3-0.6b": _qwen3(1024, 28, 16, 3072, tied=True),
    "qwen3-1.7b": _qwen3(2048, 28, 16, 6144, tied=True),
    "qwen3-4b": _qwen3(2560, 36, 32, 9728, tied=True),
    "qwen3-8b": _qwen3(4096, 36, 32, 12_288, tied=False),
    "qwen3-14b": _qwen3(5120, 40, 40, 17_408, tied=False),
    "olmo3-7b": Size(
        "olmo3",
        Config(
            vocabulary=100_278,
            width=4096,
            layers=32,
            heads=32,
            kv_heads=32,
            head_width=128,
            mlp_width=11_008,
            rope_theta=500_000.0,
            norm_eps=1e-6,
            tied=False,
            window=4096,
            layer_types=SLIDING,
            rope_scaling=Yarn(factor=8.0, original_positions=8192),
            max_positions=65_536,
        ),
    ),
}
