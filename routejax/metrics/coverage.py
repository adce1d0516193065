"""The illustrative coverage model (paper, F): what a success probability would give.

One prompt is solved by a rollout with probability p = β u, u the share of its useful
moves that the policy can sample and β the chance to finish once it has one. Then pass@k
is 1 - (1 - p)^k, and a group of G rollouts has mixed rewards with probability
1 - p^G - (1 - p)^G.

Ours is the share of prompts within reach, `reach`: p is one number for these and 0 for
all others, so measured curves that level off below 1 can be fitted, too. With reach 1
it is the paper's model. Left out: a spread of p over prompts within reach, so a fit
describes a curve and does not forecast it far beyond its last k.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy import optimize

from routejax.errors import UserError

# Success probabilities that a fit tries first, evenly spaced in logarithm.
_LOWEST = 1e-7
_STARTS = 400


class Policy(NamedTuple):
    """p > 0 for a share `reach` of the prompts, 0 for the rest."""

    p: float
    reach: float = 1.0


class Fit(NamedTuple):
    """A policy fitted to a measured curve.

    `error` is the root of the mean squared difference of the curves, `n` the number of
    budgets k that were fitted.
    """

    policy: Policy
    error: float
    n: int


class Widest(NamedTuple):
    """Where the gap between two policies is widest: `at` is the paper's k*, for real
    budgets; `k` is the best whole one (the lower of two equal ones), with its `gap`."""

    at: float
    k: int
    gap: float


def success(beta: float, u: ArrayLike) -> Float[np.ndarray, "..."]:
    """p = β u of each prompt; β in (0, 1], u in 0..1 (F)."""
    if not 0 < beta <= 1:
        raise UserError(f"beta must lie in (0, 1], got {beta}")
    return beta * _shares(u, "u")


def expected_coverage(
    p: ArrayLike, k: ArrayLike, reach: float = 1.0
) -> Float[np.ndarray, "..."]:
    """reach (1 - (1 - p)^k), the expected pass@k (equation 3 where reach is 1).

    `k` is a budget of 0 or more, not necessarily whole. Small p keep their digits.
    """
    budgets = np.asarray(k, dtype=np.float64)
    if not (budgets >= 0).all():
        raise UserError(f"k must be 0 or more, got {budgets[~(budgets >= 0)].flat[0]}")
    each = _shares(p, "p")
    with np.errstate(divide="ignore", invalid="ignore"):
        found = -np.expm1(budgets * np.log1p(-each))
    return reach * np.where(budgets == 0, 0.0, found)  # at p = 1, 0 · ∞ is no number


def mixed_probability(p: ArrayLike, group: int) -> Float[np.ndarray, "..."]:
    """1 - p^G - (1 - p)^G: how likely a group of G rollouts has mixed rewards.

    Rises with p up to p = 1/2 (3.4, F). G must be 2 or more.
    """
    if group < 2:
        raise UserError(f"a group must have 2 rollouts or more, got {group}")
    each = _shares(p, "p")
    return expected_coverage(each, group) - each**group


def coverage_gap(a: Policy, b: Policy, k: ArrayLike) -> Float[np.ndarray, "..."]:
    """Expected coverage of `a` minus that of `b` at budget k."""
    return expected_coverage(a.p, k, a.reach) - expected_coverage(b.p, k, b.reach)


def widest_gap(a: Policy, b: Policy) -> Widest | None:
    """The budget at which `a` leads `b` by most, with reach 1 the paper's k* (F).

    The derivatives of both curves are equal at
    k* = ln(s_a ln(1 - p_a) / (s_b ln(1 - p_b))) / ln((1 - p_b) / (1 - p_a)),
    s the reach. None where no budget has a gap wider than all others: the lead of `a`
    only grows or only shrinks, as it does unless p_a > p_b and s_a ln(1 - p_a) <
    s_b ln(1 - p_b).

    Raises:
        UserError: unless both p lie strictly between 0 and 1.
    """
    for policy in (a, b):
        if not (0 < policy.p < 1 and 0 < policy.reach <= 1):
            raise UserError(
                "the widest gap needs 0 < p < 1 and 0 < reach <= 1 of both policies, "
                f"got {policy}"
            )
    slow_a, slow_b = np.log1p(-a.p), np.log1p(-b.p)
    if slow_a >= slow_b:  # a falls behind or stays: its lead has no inner maximum
        return None
    at = np.log(a.reach * slow_a / (b.reach * slow_b)) / (slow_b - slow_a)
    if at <= 0:
        return None
    near = np.maximum(1.0, np.floor(at) + np.array([0.0, 1.0]))
    gaps = coverage_gap(a, b, near)
    best = int(np.argmax(gaps))
    return Widest(float(at), int(near[best]), float(gaps[best]))


def fit_coverage(curve: Mapping[int, float], reach: float | None = None) -> Fit:
    """The policy whose expected coverage lies nearest a measured curve.

    Least squares over the budgets given, each weighing the same. For every p the best
    reach is known, so only p is searched: on a grid, then within its best interval.

    Args:
        curve: k -> measured pass@k in 0..1, as `pass_curve` gives.
        reach: kept at this value, 1 for the paper's own model; None fits it.

    Raises:
        UserError: for an empty curve, budgets below 1, scores outside 0..1 (NaN too),
            or a reach to be fitted to fewer than two budgets.
    """
    ks, scores = _curve(curve)
    if reach is None and len(ks) < 2:
        raise UserError(
            "a reach and a p need pass@k at 2 budgets or more, got k = "
            f"{ks[0]:.0f} alone; give reach=1 to fit p alone"
        )
    if not scores.any():
        return Fit(Policy(0.0, 0.0 if reach is None else reach), 0.0, len(ks))

    def loss(log_p: float) -> float:
        shape = expected_coverage(np.exp(log_p), ks)
        return float(np.mean((_reach(shape, scores, reach) * shape - scores) ** 2))

    starts = np.linspace(np.log(_LOWEST), 0.0, _STARTS)
    best = int(np.argmin([loss(start) for start in starts]))
    low, high = starts[max(best - 1, 0)], starts[min(best + 1, _STARTS - 1)]
    found = optimize.minimize_scalar(
        loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    log_p = min((float(found.x), starts[best]), key=loss)
    p = float(np.exp(log_p))
    share = _reach(expected_coverage(p, ks), scores, reach)
    return Fit(Policy(p, share), loss(log_p) ** 0.5, len(ks))


def _reach(
    shape: Float[np.ndarray, "K"], scores: Float[np.ndarray, "K"], fixed: float | None
) -> float:
    if fixed is not None:
        return fixed
    return min(1.0, float(shape @ scores / (shape @ shape)))


def _curve(
    curve: Mapping[int, float],
) -> tuple[Float[np.ndarray, "K"], Float[np.ndarray, "K"]]:
    if not curve:
        raise UserError("a coverage curve needs pass@k at one k or more, got none")
    for k, score in curve.items():
        if k < 1 or not 0 <= score <= 1:
            raise UserError(
                f"a coverage curve has scores in 0..1 at k of 1 or more, got {score} "
                f"at k = {k}"
            )
    ks = np.array(list(curve), dtype=np.float64)
    return ks, np.array(list(curve.values()), dtype=np.float64)


def _shares(values: ArrayLike, name: str) -> Float[np.ndarray, "..."]:
    array = np.asarray(values, dtype=np.float64)
    outside = array[~((array >= 0) & (array <= 1))]
    if outside.size:
        raise UserError(f"{name} must lie in 0..1, got {outside.flat[0]}")
    return array
