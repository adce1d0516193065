"""Rotary positions: frequencies per layer type, and the turn itself.

The half-split convention of checkpoints in the Hugging Face layout: pairs (i, i + C/2)
turn together. Frequencies are worked out in float64 when a model is traced and rounded
once; angles are float32 whatever the dtype of the model.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from routejax.models.config import Config, Llama3, Yarn


class Turn(NamedTuple):
    """Cosine and sine of every token's angles, scaled where the layer type says so."""

    cos: Float[Array, "B T half"]
    sin: Float[Array, "B T half"]


def table(config: Config, layer_type: str, positions: Int[Array, "B T"]) -> Turn:
    """The turns of all layers of one type, in float32."""
    frequency, factor = frequencies(config, layer_type)
    angle = positions[..., None].astype(jnp.float32) * frequency.astype(np.float32)
    return Turn(jnp.cos(angle) * factor, jnp.sin(angle) * factor)


def turned(
    x: Float[Array, "B H T C"], turn: Turn, *, full: bool = False
) -> Float[Array, "B H T C"]:
    """`x` with its pairs turned, in its own dtype.

    `full` turns in float32 and rounds once; otherwise cosine and sine are rounded to
    the dtype of `x` first. In float32 both are the same.
    """
    dtype = jnp.float32 if full else x.dtype
    cos, sin = (part[:, None].astype(dtype) for part in turn)
    a, b = jnp.split(x.astype(dtype), 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)


def frequencies(
    config: Config, layer_type: str
) -> tuple[Float[np.ndarray, " half"], float]:
    """Radians per position of each pair, and what multiplies cosine and sine.

    Pair i turns by theta^(-2i/C) unless the layer is full and the config has a scaling.
    """
    half = config.head_width // 2
    plain = config.rope_theta ** (-np.arange(half) / half)
    scaling = config.rope_scaling if layer_type == "full" else None
    if isinstance(scaling, Yarn):
        return _yarn(plain, scaling, config)
    if isinstance(scaling, Llama3):
        return _llama3(plain, scaling), 1.0
    return plain, 1.0


def _yarn(
    plain: Float[np.ndarray, " half"], yarn: Yarn, config: Config
) -> tuple[Float[np.ndarray, " half"], float]:
    """Fast pairs as they are, slow ones `factor` times slower, a ramp between.

    A pair is fast if it turns more than `beta_fast` times within the original length
    and slow below `beta_slow` times; the borders are whole pairs.
    """
    half = len(plain)

    def pair(turns: float) -> float:
        """Number, not yet whole, of the pair that turns so often."""
        wavelength = yarn.original_positions / (turns * 2 * math.pi)
        return half * math.log(wavelength) / math.log(config.rope_theta)

    first = max(math.floor(pair(yarn.beta_fast)), 0)
    last = min(math.ceil(pair(yarn.beta_slow)), 2 * half - 1)
    slow = np.clip((np.arange(half) - first) / ((last - first) or 1e-3), 0, 1)
    factor = yarn.attention_factor
    if factor is None:
        factor = 0.1 * math.log(yarn.factor) + 1 if yarn.factor > 1 else 1.0
    return plain * (1 - slow) + plain / yarn.factor * slow, factor


def _llama3(
    plain: Float[np.ndarray, " half"], scaling: Llama3
) -> Float[np.ndarray, " half"]:
    """Pairs are slow below `low_freq_factor` turns, fast above `high_freq_factor`."""
    turns = scaling.original_positions * plain / (2 * math.pi)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    fast = np.clip((turns - low) / (high - low), 0, 1)
    return plain * fast + plain / scaling.factor * (1 - fast)
