"""One optimisation step: a loss, its gradient, clipping, AdamW. The only user of optax.

The step is one pure function for supervised and reinforcement learning alike: it knows
a loss `(params, batch) → (scalar, metrics)` and nothing else. Parameters and Adam state
are float32 masters, because at learning rates near 1e-6 bfloat16 weights lose updates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from routejax.errors import UserError
from routejax.models import Params

Loss = Callable[[Params, Any], tuple[Float[Array, ""], dict[str, Array]]]


class TrainState(NamedTuple):
    """All that a step changes; saved and restored as one."""

    params: Params
    optimiser: optax.OptState
    step: Int[Array, ""]  # finished steps


@functools.cache
def adamw(
    *,
    steps: int,
    learning_rate: float,
    warmup_share: float,
    final_share: float,
    b1: float,
    b2: float,
    eps: float,
    weight_decay: float,
    clip_norm: float,
) -> optax.GradientTransformation:
    """AdamW after clipping the global norm, with a linear warm-up.

    Args:
        steps: length of the schedule.
        warmup_share: part of `steps` over which the rate rises from 0.
        final_share: last rate as a share of the peak; it falls linearly after warm-up.
            1 keeps it constant.
        clip_norm: gradients with a larger global norm are scaled down to it.
    """
    warmup = round(warmup_share * steps)
    rate = optax.join_schedules(
        [
            optax.linear_schedule(learning_rate / (warmup + 1), learning_rate, warmup),
            optax.linear_schedule(
                learning_rate, learning_rate * final_share, max(1, steps - warmup)
            ),
        ],
        [warmup],
    )
    return optax.chain(
        optax.clip_by_global_norm(clip_norm),
        optax.adamw(rate, b1=b1, b2=b2, eps=eps, weight_decay=weight_decay),
    )


def start(params: Params, optimiser: optax.GradientTransformation) -> TrainState:
    """The state before the first step; `params` are copied, never aliased."""
    own = jax.tree.map(jnp.copy, params)
    return TrainState(own, optimiser.init(own), jnp.zeros((), jnp.int32))


@functools.partial(
    jax.jit, static_argnames=("loss", "optimiser"), donate_argnames="state"
)
def train_step(
    loss: Loss, optimiser: optax.GradientTransformation, state: TrainState, batch: Any
) -> tuple[TrainState, dict[str, Array]]:
    """The state after one step, and the loss's metrics with `loss` and `grad_norm`."""
    (value, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(
        state.params, batch
    )
    updates, opt_state = optimiser.update(gradient, state.optimiser, state.params)
    params = optax.apply_updates(state.params, updates)
    metrics = metrics | {"loss": value, "grad_norm": optax.global_norm(gradient)}
    return TrainState(params, opt_state, state.step + 1), metrics


def require_finite(step: int, metrics: dict[str, float]) -> None:
    """Refuses to go on from a step whose loss or gradient is not finite.

    Raises:
        UserError: naming the step and the metrics.
    """
    for name in ("loss", "grad_norm"):
        value = metrics[name]
        if not abs(value) < float("inf"):
            raise UserError(
                f"{name} is {value} at step {step}: the run stops before it is saved. "
                "Lower the learning rate; the last checkpoint is intact. "
                f"Metrics of the step: {metrics}"
            )
