"""Floating-point operations of a traced function, matrix products only.

Counted from the jaxpr, where a scan says how often its body runs; the compiler's own
count takes the body of a loop once. A loop that ends by a condition runs as often
as the caller says, on average. Left out: everything elementwise, one in a thousand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
from jax.extend import core

# Where a primitive keeps the jaxprs it runs once.
_ONCE = ("jaxpr", "call_jaxpr", "fun_jaxpr", "fwd_jaxpr")


class Counted(NamedTuple):
    """`flops` of all devices together; `open_loops` ran an unknown number of times."""

    flops: float
    open_loops: int


def count_flops(
    function: Callable[..., Any], *args: Any, trips: float = 1.0
) -> Counted:
    """Of one call; shapes suffice as arguments.

    Args:
        trips: turns of a loop that ends by a condition.
    """
    found: Counter[str] = Counter()
    _walk(jax.make_jaxpr(function)(*args).jaxpr, 1.0, trips, found)
    return Counted(float(found["flops"]), int(found["open"]))


def _walk(jaxpr: core.Jaxpr, times: float, trips: float, found: Counter[str]) -> None:
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name == "dot_general":
            found["flops"] += int(times * _product(equation))
        elif name == "while":
            found["open"] += 1
            _walk(equation.params["body_jaxpr"].jaxpr, times * trips, trips, found)
        elif name == "cond":
            _dearest(equation.params["branches"], times, trips, found)
        else:
            runs = times * _runs(equation)
            for inner in _inner(equation):
                _walk(inner, runs, trips, found)


def _runs(equation: core.JaxprEqn) -> float:
    """How often an equation runs what is in it, over all devices."""
    name, params = equation.primitive.name, equation.params
    if name == "scan":
        return params["length"]
    if name == "shard_map":
        sizes = params["mesh"].shape
        by_hand = params.get("newly_manual_axes") or params.get("manual_axes", ())
        return math.prod(sizes[axis] for axis in by_hand)
    if name == "pallas_call":
        return math.prod(params["grid_mapping"].grid)
    return 1


def _inner(equation: core.JaxprEqn) -> Iterator[core.Jaxpr]:
    for key in _ONCE:
        inner = equation.params.get(key)
        if inner is not None and not callable(inner):
            yield getattr(inner, "jaxpr", inner)
            return


def _dearest(branches: Any, times: float, trips: float, found: Counter[str]) -> None:
    """The branch with most operations: what may be needed."""
    counts: list[Counter[str]] = [Counter() for _ in branches]
    for branch, count in zip(branches, counts, strict=True):
        _walk(branch.jaxpr, times, trips, count)
    found.update(max(counts, key=lambda count: count["flops"]))


def _product(equation: core.JaxprEqn) -> float:
    """2 · batch · rows · inner · columns."""
    shapes: Any = [var.aval for var in equation.invars]
    left, right = (aval.shape for aval in shapes)
    (_, inner), (_, batch) = equation.params["dimension_numbers"]
    own = [n for axis, n in enumerate(right) if axis not in {*inner, *batch}]
    return 2.0 * math.prod(left) * math.prod(own)
