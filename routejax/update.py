"""One optimisation step: a loss, its gradient, clipping, a rule; the door to optax.

The step is one pure function for supervised and reinforcement learning alike: it knows
a loss `(params, batch) → (scalar, metrics)` and nothing else. Parameters and Adam state
are float32 masters, because at learning rates near 1e-6 bfloat16 weights lose updates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jaxtyping import Array, Float, Int

from routejax.errors import UserError
from routejax.models import Params

_MANY = 1_000_003  # odd, so no place of a leaf loses a bit

Optimiser = optax.GradientTransformation
Loss = Callable[[Params, Any], tuple[Float[Array, ""], dict[str, Array]]]
Place = Callable[[Any], Any]  # holds the leaves of a tree to their devices, inside jit


class TrainState(NamedTuple):
    """All that a step changes; saved and restored as one."""

    params: Params
    optimiser: optax.OptState
    step: Int[Array, ""]  # finished updates


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
    """Muon for matrices, Adam at a fifth of its rate for everything else.

    A leaf of three axes is a stack of matrices, one per layer, each taken by itself.
    """
    matrices: Any = _matrices
    return optax.contrib.muon(
        rate,
        eps=eps,
        weight_decay=weight_decay,
        adam_b1=b1,
        adam_b2=b2,
        adam_learning_rate=lambda step: rate(step) / 5,
        muon_weight_dimension_numbers=matrices,
    )


def _matrices(params: Params) -> Any:
    """The axes of every leaf's matrices; None for the scales of norms and vectors."""

    def axes(path: tuple[Any, ...], leaf: Array) -> Any:
        if path[-1].key == "scale" or leaf.ndim < 2:
            return None
        return optax.contrib.MuonDimensionNumbers(leaf.ndim - 2, leaf.ndim - 1)

    return jax.tree.map_with_path(axes, params)


# Muon (Jordan 2024, orthogonalised momentum) is for students trained from scratch in
# minutes: it reaches the same loss in about half the steps. The paper's recipes: adamw.
OPTIMISERS = {"adamw": optax.adamw, "muon": _muon}


def start(
    params: Params,
    optimiser: optax.GradientTransformation,
    place: Place | None = None,
) -> TrainState:
    """The state before the first step; `params` are copied, never aliased.

    With `place`, the optimiser's state is made on its devices, never whole on one.
    """
    own = jax.tree.map(jnp.copy, params)
    if place is None:
        return TrainState(own, optimiser.init(own), jnp.zeros((), jnp.int32))
    return _placed_start(own, optimiser, place)


@functools.partial(
    jax.jit, static_argnames=("optimiser", "place"), donate_argnames="own"
)
def _placed_start(
    own: Params, optimiser: optax.GradientTransformation, place: Place
) -> TrainState:
    return place(TrainState(own, optimiser.init(own), jnp.zeros((), jnp.int32)))


@functools.partial(
    jax.jit,
    static_argnames=("loss", "optimiser", "place", "pass_rows"),
    donate_argnames="state",
)
def train_step(
    loss: Loss,
    optimiser: optax.GradientTransformation,
    state: TrainState,
    batch: Any,
    *,
    place: Place | None = None,
    pass_rows: int | None = None,
) -> tuple[TrainState, dict[str, Array]]:
    """The state after one step, and the loss's metrics with `loss` and `grad_norm`.

    Args:
        place: holds gradients and the new state to their devices; see `mesh`.
        pass_rows: rows of one forward and backward pass, a divisor of the batch's. The
            weights of a batch are fixed for the whole step, so passes only add up.
    """
    hold = place or (lambda tree: tree)
    gradient, metrics = _gradient(loss, state.params, batch, hold, pass_rows)
    updates, opt_state = optimiser.update(gradient, state.optimiser, state.params)
    params: Any = optax.apply_updates(state.params, updates)
    metrics |= {"grad_norm": optax.tree.norm(gradient)}
    return hold(TrainState(params, opt_state, state.step + 1)), metrics


def _gradient(
    loss: Loss, params: Params, batch: Any, hold: Place, pass_rows: int | None
) -> tuple[Params, dict[str, Array]]:
    """Summed over passes, and the metrics of the whole batch with `loss`."""

    def once(part: Any) -> tuple[Params, dict[str, Array]]:
        (value, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(
            params, part
        )
        return hold(gradient), metrics | {"loss": value}

    rows = jax.tree.leaves(batch)[0].shape[0] if pass_rows else 1
    if pass_rows is None or rows == pass_rows:
        return once(batch)
    if rows % pass_rows:
        raise UserError(
            f"pass_rows must divide the rows of a batch, got {pass_rows} and {rows}; "
            "set row_multiple to a multiple of pass_rows"
        )

    def add(total: Params, part: Any) -> tuple[Params, dict[str, Array]]:
        gradient, metrics = once(part)
        return hold(jax.tree.map(jnp.add, total, gradient)), metrics

    parts = jax.tree.map(lambda x: _dealt(x, rows // pass_rows), batch)
    zero = hold(jax.tree.map(jnp.zeros_like, params))
    gradient, metrics = jax.lax.scan(add, zero, parts)
    return gradient, _merged(metrics)


def _dealt(x: Array, passes: int) -> Array:
    """Rows dealt to passes in turn, so that every device keeps its own rows."""
    return x.reshape(-1, passes, *x.shape[1:]).swapaxes(0, 1)


def _merged(metrics: dict[str, Array]) -> dict[str, Array]:
    """Metrics of all passes as those of one batch.

    The loss and names that end in `_tokens` add up, of a `_gap` the largest counts, and
    the rest are means over the tokens that are trained on.
    """
    weight = metrics.get("trained_tokens", jnp.ones_like(metrics["loss"]))
    total = jnp.maximum(jnp.sum(weight), 1)

    def merge(name: str, values: Array) -> Array:
        if name == "loss" or name.endswith("_tokens"):
            return jnp.sum(values)
        if name.endswith("_gap"):
            return jnp.max(values)
        return jnp.sum(values * weight) / total

    return {name: merge(name, values) for name, values in metrics.items()}


def mean_metrics(updates: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of several updates as one: each name's mean over the updates that have it."""
    names = dict.fromkeys(name for metrics in updates for name in metrics)
    values = {n: [float(m[n]) for m in updates if n in m] for n in names}
    return {name: sum(own) / len(own) for name, own in values.items()}


def checksum(params: Params | TrainState) -> tuple[int, ...]:
    """One number a leaf, of all its bits and their places, wherever it lies.

    Worked out on the devices in integers, so equal parameters give equal numbers
    however they are spread; a leaf with one changed value gives another.
    """
    return tuple(int(x) for x in jax.device_get(_checksums(params)))


@jax.jit
def _checksums(params: Params | TrainState) -> list[Array]:
    def one(leaf: Array) -> Array:
        bits = jax.lax.bitcast_convert_type(leaf, f"uint{8 * leaf.dtype.itemsize}")
        factor = jnp.ones(leaf.shape, jnp.uint32)
        for axis in range(leaf.ndim):
            place = jax.lax.broadcasted_iota(jnp.uint32, leaf.shape, axis)
            factor = factor * jnp.uint32(_MANY) + place * 2
        return jnp.sum(bits.astype(jnp.uint32) * factor, dtype=jnp.uint32)

    return [one(leaf) for leaf in jax.tree.leaves(params)]


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
