"""Ragged responses as a batch, its loss and slope, and the same loss in plain loops."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from routejax import grpo
from routejax.grpo import PRESETS
from routejax.packing import Example

# Room for a prompt of one token and five of response; always the same array shapes.
ROWS, ROW_TOKENS = 12, 8
PAPER = PRESETS["paper"]


def packed_batch(
    logps,
    advantage,
    preset,
    *,
    old=None,
    ref=None,
    sampler=None,
    samples=None,
    tokens=None,
    junk=0.0,
):
    """A batch of ragged responses, log-probabilities [B T], and how to go back.

    Places outside responses hold `junk`, in all log-probabilities alike.
    """
    examples = [Example([1], [2] * len(row)) for row in logps]
    batch, packed = grpo.batch(
        examples,
        np.asarray(advantage, np.float64),
        preset=preset,
        samples=samples or len(examples),
        tokens=tokens or sum(map(len, logps)),
        row_tokens=ROW_TOKENS,
        row_multiple=ROWS,
    )

    def place(ragged):
        out = np.full(packed.tokens.shape, junk, np.float32)
        for index, row in enumerate(ragged):
            out[packed.response & (packed.example == index)] = row
        return jnp.asarray(out)

    def ragged(table):
        return [
            np.asarray(table)[packed.response & (packed.example == index)]
            for index in range(len(logps))
        ]

    batch = batch._replace(
        ref_logps=place(logps if ref is None else ref),
        sampler_logps=place(sampler or old or logps),
        old_logps=place(logps if old is None else old),
    )
    return batch, place(logps), ragged


def loss_and_slope(batch, logps, preset, beta, on_policy=False, cap=None):
    """`on_policy`: as in the first update, which takes its own log-probabilities."""
    if on_policy:
        batch = batch._replace(old_logps=None)

    def loss(x):
        return grpo.token_loss(x, jnp.ones_like(x), batch, preset, beta, cap)

    (value, metrics), slope = jax.value_and_grad(loss, has_aux=True)(logps)
    return float(value), slope, {k: float(v) for k, v in metrics.items()}


def plain_loss(logps, old, ref, advantage, preset, beta, samples):
    """The objective of the paper with a preset's details, one token at a time."""
    tokens = sum(map(len, logps))
    loss = 0.0
    for row, row_old, row_ref, a in zip(logps, old, ref, advantage, strict=True):
        total = 0.0
        for lp, lp_old, lp_ref in zip(row, row_old, row_ref, strict=True):
            limit = preset.ratio_limit
            ratio = np.exp(min(max(lp - lp_old, -limit), limit))
            bounded = min(max(ratio, 1 - preset.clip_low), 1 + preset.clip_high)
            value = min(ratio * a, bounded * a)
            if a < 0:
                value = max(value, preset.dual_clip * a)
            d = min(max(lp_ref - lp, -preset.kl_log_limit), preset.kl_log_limit)
            kl = min(np.exp(d) - d - 1, preset.kl_limit)
            total += value - beta * kl
        if preset.aggregation == "sequence":
            loss -= total / max(len(row), 1) / samples
        else:
            loss -= total / tokens
    return loss


def standardised(rewards, preset=PAPER):
    return grpo.advantages(
        np.array([rewards], float),
        ddof=preset.ddof,
        eps=preset.eps,
        divide_by_std=preset.divide_by_std,
    )[0]


@functools.cache
def unigram(name, cap=None, beta=0.2):
    """The loss of a student whose next token does not depend on the last."""

    def loss(params, batch):
        logp = jax.nn.log_softmax(params["logits"])
        entropy = -jnp.sum(jnp.exp(logp) * logp) * jnp.ones(batch.rows.tokens.shape)
        logps = logp[batch.rows.tokens]
        return grpo.token_loss(logps, entropy, batch, PRESETS[name], beta, cap)

    return loss
