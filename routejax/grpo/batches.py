"""Samples of one step in rows, with all that the loss needs of every token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from routejax.errors import UserError
from routejax.grpo.presets import Preset
from routejax.packing import Example, Packed, pack
from routejax.scoring import Rows, rows


class Batch(NamedTuple):
    """Packed samples with everything the loss needs per token.

    Attributes:
        rows: what the student reads.
        weights: what each token counts in the step's mean; 0 outside responses.
        advantages: of the token's sample.
        ref_logps: under the reference.
        sampler_logps: as the sampler computed them.
        old_logps: under the parameters before the first update of the step. None in
            that update itself, which takes its own, so that every ratio is one.
    """

    rows: Rows
    weights: Float[Array, "B T"]
    advantages: Float[Array, "B T"]
    ref_logps: Float[Array, "B T"]
    sampler_logps: Float[Array, "B T"]
    old_logps: Float[Array, "B T"] | None = None


def token_weights(
    packed: Packed, *, samples: int, aggregation: str, tokens: int
) -> Float[np.ndarray, "B T"]:
    """What each token counts in the step's mean.

    Args:
        samples: all samples that the mean is over, packed here or not.
        tokens: all response tokens of those samples.

    Raises:
        UserError: unknown aggregation.
    """
    if aggregation == "token":
        return packed.response / max(1, tokens)
    if aggregation != "sequence":
        raise UserError(
            f"aggregation must be 'sequence' or 'token', got {aggregation!r}"
        )
    members = max(0, int(packed.example.max())) + 1
    length = np.bincount(packed.example[packed.response], minlength=members)
    share = 1 / (samples * np.maximum(length, 1))
    return np.where(packed.response, share[packed.example], 0.0)


def batch(
    examples: Sequence[Example],
    advantage: Float[np.ndarray, " n"],
    *,
    preset: Preset,
    samples: int,
    tokens: int,
    row_tokens: int,
    row_multiple: int,
) -> tuple[Batch, Packed]:
    """Samples of one step packed for the loss; log-probabilities are still zero.

    `samples` and `tokens` count what the mean is over, also what is not packed here:
    other parts of the step, or groups that are not trained on, so that leaving those
    out does not raise the weight of the others.
    """
    packed = pack(examples, row_tokens=row_tokens, row_multiple=row_multiple)
    weights = token_weights(
        packed, samples=samples, aggregation=preset.aggregation, tokens=tokens
    )
    signal = np.where(packed.response, np.append(advantage, 0.0)[packed.example], 0.0)
    zero = jnp.zeros(packed.tokens.shape)
    return (
        Batch(
            rows=rows(packed),
            weights=jnp.asarray(weights, jnp.float32),
            advantages=jnp.asarray(signal, jnp.float32),
            ref_logps=zero,
            sampler_logps=zero,
        ),
        packed,
    )
