"""The objective per token, and the loss of a batch with its metrics."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from routejax.errors import UserError
from routejax.grpo.batches import Batch
from routejax.grpo.presets import Preset
from routejax.models import Params, Student
from routejax.scoring import score
from routejax.update import Loss

# For what the sampler computed otherwise than the trainer: nothing, or a truncated
# importance weight for each token.
CORRECTIONS = ("none", "token")

# Of a log-ratio before exp, whatever a preset allows: float32 overflows beyond 88.
LARGEST = 80.0


def k3(
    logp: Float[Array, "*shape"],
    ref_logp: Float[Array, "*shape"],
    *,
    log_limit: float = 20.0,
    limit: float = 10.0,
) -> Float[Array, "*shape"]:
    """Low-variance estimate of KL(π_θ ‖ π_ref) per token: expm1(d) − d, d = ref − logp.

    d is cut before exp, so that value and gradient are finite for any log-ratio; at
    `LARGEST` where `log_limit` is further. expm1 rounds at the size of d, where
    exp(d) − d − 1 rounds at that of 1 and loses small d.
    """
    d = jnp.clip(ref_logp - logp, -log_limit, min(log_limit, LARGEST))
    return jnp.clip(jnp.expm1(d) - d, -limit, limit)


def surrogate(
    logp: Float[Array, "*shape"],
    old_logp: Float[Array, "*shape"],
    advantage: Float[Array, "*shape"],
    preset: Preset,
) -> tuple[Float[Array, "*shape"], Bool[Array, "*shape"]]:
    """The clipped importance-weighted objective per token, and where clipping acted."""
    limit = preset.ratio_limit
    ratio = jnp.exp(jnp.clip(logp - old_logp, -limit, min(limit, LARGEST)))
    bounded = jnp.clip(ratio, 1 - preset.clip_low, 1 + preset.clip_high)
    value = jnp.minimum(ratio * advantage, bounded * advantage)
    clipped = bounded * advantage < ratio * advantage
    if preset.dual_clip < float("inf"):
        floor = jnp.maximum(value, preset.dual_clip * advantage)
        value = jnp.where(advantage < 0, floor, value)
    return value, clipped


def sampler_weight(
    old_logp: Float[Array, "*shape"], sampler_logp: Float[Array, "*shape"], cap: float
) -> Float[Array, "*shape"]:
    """min(exp(trainer − sampler), cap) per token; no gradient flows through it.

    The truncated importance weight of a token that the trainer finds more, or less,
    likely than the sampler did, both under the parameters that were sampled.
    """
    ratio = jnp.exp(old_logp - sampler_logp)
    return jax.lax.stop_gradient(jnp.minimum(ratio, cap))


@functools.cache
def loss(
    student: Student,
    preset: Preset,
    *,
    beta: float,
    temperature: float,
    sampler_correction: str = "none",
    sampler_cap: float = 2.0,
) -> Loss:
    """−J(θ) with its metrics; see `token_loss`.

    Args:
        beta: weight of the KL term.
        temperature: of the sampling; log-probabilities are taken at it.
        sampler_correction: one of `CORRECTIONS`.
        sampler_cap: largest weight of the correction.

    Raises:
        UserError: unknown correction.
    """
    if sampler_correction not in CORRECTIONS:
        raise UserError(
            f"grpo.sampler_correction must be one of {', '.join(CORRECTIONS)}, "
            f"got {sampler_correction!r}"
        )
    cap = sampler_cap if sampler_correction == "token" else None

    def objective(params: Params, batch: Batch) -> tuple[Array, dict[str, Array]]:
        scores = score(student, params, batch.rows, temperature)
        return token_loss(scores.logps, scores.entropy, batch, preset, beta, cap)

    return objective


def token_loss(
    logps: Float[Array, "B T"],
    entropy: Float[Array, "B T"],
    batch: Batch,
    preset: Preset,
    beta: float,
    sampler_cap: float | None = None,
) -> tuple[Float[Array, ""], dict[str, Array]]:
    """−J(θ) of log-probabilities. Masked tokens cannot reach value or gradient.

    Metrics are means over the tokens that are trained on, but for `_gap`, which is the
    largest, and `_tokens`, their number. How far sampler and trainer are apart is told
    of the first update only, where both have the same parameters; how far the policy
    has moved since, of later ones.
    """
    kept = batch.weights > 0

    def safe(x: Float[Array, "B T"]) -> Float[Array, "B T"]:
        return jnp.where(kept, x, 0.0)

    total = jnp.maximum(jnp.sum(kept), 1)

    def mean(x: Float[Array, "B T"]) -> Float[Array, ""]:
        return jnp.sum(safe(x)) / total

    logp, ref, sampler = map(safe, (logps, batch.ref_logps, batch.sampler_logps))
    before = batch.old_logps
    old = jax.lax.stop_gradient(logp) if before is None else safe(before)
    value, clipped = surrogate(logp, old, batch.advantages, preset)
    kl = k3(logp, ref, log_limit=preset.kl_log_limit, limit=preset.kl_limit)
    metrics = {
        "kl": mean(kl),
        "entropy": mean(entropy),
        "clip_share": jnp.sum(kept & clipped) / total,
        "trained_tokens": jnp.sum(kept),
    }
    if before is None:
        apart = jnp.abs(logp - sampler)
        metrics["logp_gap"] = jnp.max(apart)
        metrics["logp_gap_mean"] = mean(apart)
        metrics["sampler_kl"] = mean(k3(sampler, logp))
    else:
        metrics["policy_gap"] = jnp.max(jnp.abs(logp - old))
    if sampler_cap is not None:
        # Of the policy term alone: the KL is of the policy, whatever was sampled how.
        value = value * sampler_weight(old, sampler, sampler_cap)
        over = old - sampler > jnp.log(sampler_cap)
        metrics["sampler_capped"] = jnp.sum(kept & over) / total
    return -jnp.sum(batch.weights * (value - beta * kl)), metrics
