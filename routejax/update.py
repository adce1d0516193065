"""One optimisation step: a loss, its gradient, clipping, a rule; the door to optax.

The step is one pure function for supervised and reinforcement learning alike: it knows
a loss `(params, batch) → (scalar, metrics)` and nothing else. Parameters and Adam state
are float32 masters, because at learning rates near 1e-6 bfloat16 weights lose updates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jaxtyping import Array, Float, Int

from routejax.errors import UserError
from routejax.models import Params

Optimiser = optax.GradientTransformation
Loss = Callable[[Params, Any], tuple[Float[Array, ""], dict[str, Array]]]


class TrainState(NamedTuple):
    """All that a step changes; saved and restored as one."""

    params: Params
    optimiser: optax.OptState
    step: Int[Array, ""]  # finished steps


@functools.cache
def optimiser(
    *,
    name: str,
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
    """A rule of `OPTIMISERS` after clipping the global norm, with a linear warm-up.

    The same arguments give the same object, so that a compiled step is found again.

    Args:
        steps: length of the schedule.
        warmup_share: part of `steps` over which the rate rises.
        final_share: after warm-up the rate falls linearly to this share of the peak,
            which it would reach one step after the last. 1 keeps it constant.
        clip_norm: gradients with a larger global norm are scaled down to it.

    Raises:
        UserError: unknown name.
    """
    if name not in OPTIMISERS:
        raise UserError(
            f"optimiser.name must be one of {', '.join(OPTIMISERS)}, got {name!r}"
        )
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
    rule = OPTIMISERS[name](rate, b1=b1, b2=b2, eps=eps, weight_decay=weight_decay)
    return optax.chain(optax.clip_by_global_norm(clip_norm), rule)


def _muon(
    rate: optax.Schedule, *, b1: float, b2: float, eps: float, weight_decay: float
) -> optax.GradientTransformation:
    """Muon for matrices, Adam at a fifth of its rate for everything else."""
    return optax.contrib.muon(
        rate,
        eps=eps,
        weight_decay=weight_decay,
        adam_b1=b1,
        adam_b2=b2,
        adam_learning_rate=lambda step: rate(step) / 5,
    )


# Muon (Jordan 2024, orthogonalised momentum) is for students trained from scratch in
# minutes: it reaches the same loss in about half the steps. The paper's recipes: adamw.
OPTIMISERS = {"adamw": optax.adamw, "muon": _muon}


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
    params: Any = optax.apply_updates(state.params, updates)
    metrics = metrics | {"loss": value, "grad_norm": optax.tree.norm(gradient)}
    return TrainState(params, opt_state, state.step + 1), metrics


def require_sane(
    step: int, metrics: Mapping[str, float], limits: Mapping[str, float]
) -> None:
    """Refuses to go on from a step that cannot be trusted.

    Raises:
        UserError: loss or gradient is not finite, or a metric is over its limit.
    """
    for name in ("loss", "grad_norm"):
        if not abs(metrics[name]) < float("inf"):
            raise UserError(
                f"{name} is {metrics[name]} at step {step}: the run stops before it is "
                "saved. Lower the learning rate; the last checkpoint is intact. "
                f"Metrics of the step: {dict(metrics)}"
            )
    for name, limit in limits.items():
        if not metrics[name] <= limit:
            raise UserError(
                f"{name} is {metrics[name]:.4g} at step {step}, its limit is {limit}: "
                "the run stops before the step is saved. For logp_gap this means that "
                "the policy that was sampled is not the one that is trained"
            )
