"""Group relative policy optimisation: advantages, the clipped surrogate, the KL term.

    J(θ) = mean over prompts of (1/G) Σ_g (1/|y_g|) Σ_t
           [ min(ρ Â, clip(ρ, 1−ε, 1+ε) Â) − β k3 ]                (paper A.2, Training)

The sums are one weighted sum over tokens, with weights fixed on the host, so splitting
a step into micro-batches changes neither loss nor gradient. Details that the paper
leaves open are a named preset. Left out: entropy bonuses, and KL in the reward.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from routejax.errors import UserError
from routejax.models import Params, Student
from routejax.packing import Example, Packed, pack
from routejax.scoring import Rows, rows, score
from routejax.update import Loss


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """Details of the objective that the paper leaves open.

    Attributes:
        ddof: of the standard deviation in the advantage.
        eps: added to that standard deviation.
        divide_by_std: False leaves rewards centred only.
        clip_low, clip_high: the ratio is clipped to [1 − low, 1 + high].
        ratio_limit: log-ratios are cut to ± this before exp; inf for none.
        dual_clip: for negative advantages the surrogate is at least this times Â.
        kl_log_limit: log-ratios of the KL term are cut to ± this before exp.
        kl_limit: k3 is cut to ± this.
        aggregation: "sequence" is the mean over tokens of each response, then over
            responses; "token" is one mean over all tokens of the step.
    """

    ddof: int = 1
    eps: float = 1e-6
    divide_by_std: bool = True
    clip_low: float = 0.2
    clip_high: float = 0.2
    ratio_limit: float = 20.0
    dual_clip: float = float("inf")
    kl_log_limit: float = 20.0
    kl_limit: float = 10.0
    aggregation: str = "sequence"


_FREE = float("inf")
PRESETS = {
    "paper": Preset(),
    "verl": Preset(dual_clip=3.0, aggregation="token"),
    "trl": Preset(
        eps=1e-4,
        ratio_limit=_FREE,
        kl_log_limit=_FREE,
        kl_limit=_FREE,
        aggregation="token",
    ),
    "open_instruct": Preset(
        ddof=0,
        eps=1e-8,
        divide_by_std=False,
        clip_high=0.272,
        ratio_limit=_FREE,
        kl_log_limit=40.0,
        kl_limit=_FREE,
        aggregation="token",
    ),
}


class Batch(NamedTuple):
    """Packed samples with everything the loss needs per token."""

    rows: Rows
    weights: Float[Array, "B T"]  # 0 outside responses
    advantages: Float[Array, "B T"]
    ref_logps: Float[Array, "B T"]
    old_logps: Float[Array, "B T"]


def advantages(
    rewards: Float[np.ndarray, "Q G"],
    *,
    ddof: int,
    eps: float,
    divide_by_std: bool = True,
) -> Float[np.ndarray, "Q G"]:
    """Rewards standardised within each prompt's group; exactly zero where all equal.

    (r − mean) / (std + eps) in float64. Equality is decided by max = min, because the
    mean of equal floats need not be that float.

    Raises:
        UserError: groups of one, or a reward that is not finite.
    """
    rewards = np.asarray(rewards, np.float64)
    if rewards.ndim != 2 or rewards.shape[1] < 2:
        raise UserError(
            "rewards must be [prompts, samples per prompt] with at least 2 samples, "
            f"got shape {rewards.shape}: a group of one has nothing to compare with"
        )
    if not np.isfinite(rewards).all():
        where = np.argwhere(~np.isfinite(rewards))[0]
        raise UserError(f"reward [prompt, sample] = {where.tolist()} is not finite")
    centred = rewards - rewards.mean(1, keepdims=True)
    if divide_by_std:
        centred = centred / (rewards.std(1, ddof=ddof, keepdims=True) + eps)
    return np.where(mixed(rewards)[:, None], centred, 0.0)


def mixed(rewards: Float[np.ndarray, "Q G"]) -> Bool[np.ndarray, " Q"]:
    """Groups whose rewards are not all equal: the only ones with an advantage."""
    return rewards.max(1) != rewards.min(1)


def k3(
    logp: Float[Array, "*shape"],
    ref_logp: Float[Array, "*shape"],
    *,
    log_limit: float = 20.0,
    limit: float = 10.0,
) -> Float[Array, "*shape"]:
    """Low-variance estimate of KL(π_θ ‖ π_ref) per token: expm1(d) − d, d = ref − logp.

    d is cut before exp, so that value and gradient are finite for any log-ratio. expm1
    rounds at the size of d, where exp(d) − d − 1 rounds at that of 1 and loses small d.
    """
    d = jnp.clip(ref_logp - logp, -log_limit, log_limit)
    return jnp.clip(jnp.expm1(d) - d, -limit, limit)


def surrogate(
    logp: Float[Array, "*shape"],
    old_logp: Float[Array, "*shape"],
    advantage: Float[Array, "*shape"],
    preset: Preset,
) -> tuple[Float[Array, "*shape"], Bool[Array, "*shape"]]:
    """The clipped importance-weighted objective per token, and where clipping acted."""
    limit = preset.ratio_limit
    ratio = jnp.exp(jnp.clip(logp - old_logp, -limit, limit))
    bounded = jnp.clip(ratio, 1 - preset.clip_low, 1 + preset.clip_high)
    value = jnp.minimum(ratio * advantage, bounded * advantage)
    clipped = bounded * advantage < ratio * advantage
    if preset.dual_clip < float("inf"):
        floor = jnp.maximum(value, preset.dual_clip * advantage)
        value = jnp.where(advantage < 0, floor, value)
    return value, clipped


def token_weights(
    packed: Packed, *, samples: int, aggregation: str, tokens: int
) -> Float[np.ndarray, "B T"]:
    """What each token counts in the step's mean.

    Args:
        samples: all samples of the step, Q·G, packed here or not.
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

    `samples` and `tokens` count the whole step, also groups that are not trained on,
    so leaving those out does not raise the weight of the others.
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
            old_logps=zero,
        ),
        packed,
    )


@functools.cache
def loss(
    student: Student,
    preset: Preset,
    *,
    beta: float,
    temperature: float,
    on_policy: bool,
) -> Loss:
    """−J(θ) with its metrics.

    Args:
        beta: weight of the KL term.
        temperature: of the sampling; log-probabilities are taken at it.
        on_policy: the batch is used for one update only, so π_old is π_θ: the ratio is
            one with the right gradient. `old_logps` then only give `logp_gap`, the
            largest distance between sampler and trainer.
    """

    def objective(params: Params, batch: Batch) -> tuple[Array, dict[str, Array]]:
        scores = score(student, params, batch.rows, temperature)
        return token_loss(scores.logps, scores.entropy, batch, preset, beta, on_policy)

    return objective


def token_loss(
    logps: Float[Array, "B T"],
    entropy: Float[Array, "B T"],
    batch: Batch,
    preset: Preset,
    beta: float,
    on_policy: bool,
) -> tuple[Float[Array, ""], dict[str, Array]]:
    """−J(θ) of log-probabilities. Masked tokens cannot reach value or gradient."""
    kept = batch.weights > 0

    def safe(x: Float[Array, "B T"]) -> Float[Array, "B T"]:
        return jnp.where(kept, x, 0.0)

    logp, ref = safe(logps), safe(batch.ref_logps)
    old = jax.lax.stop_gradient(logp) if on_policy else safe(batch.old_logps)
    value, clipped = surrogate(logp, old, batch.advantages, preset)
    kl = k3(logp, ref, log_limit=preset.kl_log_limit, limit=preset.kl_limit)
    total = jnp.maximum(jnp.sum(kept), 1)
    metrics = {
        "kl": jnp.sum(safe(kl)) / total,
        "entropy": jnp.sum(safe(entropy)) / total,
        "clip_share": jnp.sum(kept & clipped) / total,
        "logp_gap": jnp.max(safe(jnp.abs(logps - batch.old_logps))),
        "trained_tokens": jnp.sum(kept),
    }
    return -jnp.sum(batch.weights * (value - beta * kl)), metrics
