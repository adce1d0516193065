"""Rewards of the samples of each prompt, compared with one another."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Shaped

from routejax.errors import UserError


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


def mixed(values: Shaped[np.ndarray, "Q G"]) -> Bool[np.ndarray, " Q"]:
    """Groups whose values, rewards or outcomes, are not all equal."""
    return values.max(1) != values.min(1)
