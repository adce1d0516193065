"""How many different routes a policy takes to one prompt, and how many more it would.

The test that the paper leaves to others (H): distinct route fingerprints among the k
samples per prompt, of several policies, before and after RL. What makes two routes one
is decided where their keys are made (`fingerprints.route_keys`); here a key is
anything hashable, and None a sample that took no route that counts (a wrong answer,
say, where only verified routes do).

A curve is rarefied: at k it is the expectation over all subsets of k samples, exact, so
that policies compare at equal k. It counts in one of two ways:

    attempts   all N samples are drawn from, and those with None count for nothing:
               accuracy and variety together, as coverage counts
    found      only samples with a route are drawn from: variety alone, on the prompts
               where every policy found enough of them

Left out: estimates of routes that no sample took (Chao and the like).
"""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float

from routejax.errors import UserError
from routejax.metrics.clusters import (
    OVER_CLUSTERS,
    PAIRED_OVER_CLUSTERS,
    resampled_cluster_means,
)
from routejax.metrics.counts import rounded
from routejax.metrics.intervals import (
    OVER_QUESTIONS,
    PAIRED_OVER_QUESTIONS,
    percentile_bounds,
)
from routejax.metrics.passk import pass_at_k
from routejax.metrics.resampling import question_means

WAYS = ("attempts", "found")

Keys = Sequence[Hashable | None]  # of the samples of one prompt


def expected_routes(
    prompts: Sequence[Keys], ks: Sequence[int]
) -> Float[np.ndarray, "Q K"]:
    """Expected number of different routes among k samples of each prompt.

    The sum over the routes of a prompt of 1 - C(N - m, k) / C(N, k), with N its samples
    and m those that took the route: the mean over all subsets of size k. At k = N it is
    the number of different routes. None is drawn like any key and never counted.

    Raises:
        UserError: if k exceeds the samples of a prompt, naming the prompt's place.
    """
    budgets = np.array([int(k) for k in ks])
    most = int(budgets.max(initial=1))
    table: dict[int, Float[np.ndarray, "N+1 K"]] = {}
    found = np.zeros((len(prompts), len(budgets)))
    for row, keys in enumerate(prompts):
        n = len(keys)
        if most > n:
            raise UserError(
                f"k = {most} needs {most} samples of every prompt, got {n} of the one "
                f"in row {row}; ask for a smaller k or sample more"
            )
        if n not in table:
            table[n] = np.asarray(pass_at_k(n, np.arange(n + 1)[:, None], budgets))
        found[row] = table[n][_sizes(keys)].sum(axis=0)
    return found


def route_curves(
    policies: Mapping[str, Sequence[Keys]],
    ks: Sequence[int],
    *,
    way: str = "attempts",
    envs: Sequence[Hashable] | None = None,
    seed: int = 20_260_924,
    resamples: int = 20_000,
) -> dict[str, Any]:
    """Rarefaction curves of several policies on the same prompts, and all their gaps.

    Args:
        policies: name (an arm, or an arm before and after RL) -> the keys of each
            prompt's samples, the same prompts in the same order.
        ks: budgets of the curves.
        way: one of `WAYS`.
        envs: environment of each prompt; the bootstrap then draws whole environments.
        seed, resamples: of the percentile bootstrap (95 %), paired over policies.

    Returns:
        `way`, `k`, `prompts` (n of every number), `left_out` (prompts that way "found"
        cannot use), `method` and `paired_method`, `curves[name]` and `gaps["a|b"]`
        (a minus b), each with `mean`, `lower` and `upper` by k.

    Raises:
        UserError: for policies with unequal prompts or samples, a k that is too large,
            or no prompt left.
    """
    kept = _kept(policies, ks, way)
    if envs is not None and len(envs) != len(next(iter(policies.values()))):
        raise UserError(
            "envs must name one environment per prompt, got "
            f"{len(envs)} for {len(next(iter(policies.values())))} prompts"
        )
    tables = {
        name: expected_routes([_drawn(prompts[row], way) for row in kept], ks)
        for name, prompts in policies.items()
    }
    columns = tables | {
        f"{a}|{b}": tables[a] - tables[b] for a, b in combinations(tables, 2)
    }
    stacked = np.concatenate(list(columns.values()), axis=1)
    if envs is None:
        rows, kinds = np.unique(stacked, axis=0, return_inverse=True)
        means = question_means(rows, kinds.ravel(), seed=seed, resamples=resamples)
    else:
        units = [envs[row] for row in kept]
        means = resampled_cluster_means(stacked, units, seed=seed, resamples=resamples)
    curves = {
        name: _curve(table, means[:, i * len(ks) : (i + 1) * len(ks)])
        for i, (name, table) in enumerate(columns.items())
    }
    return rounded(
        {
            "way": way,
            "k": [int(k) for k in ks],
            "prompts": len(kept),
            "left_out": len(next(iter(policies.values()))) - len(kept),
            "method": OVER_QUESTIONS if envs is None else OVER_CLUSTERS,
            "paired_method": (
                PAIRED_OVER_QUESTIONS if envs is None else PAIRED_OVER_CLUSTERS
            ),
            "curves": {name: curves[name] for name in tables},
            "gaps": {name: c for name, c in curves.items() if name not in tables},
        }
    )


def _sizes(keys: Keys) -> list[int]:
    # How many samples took each route.
    sizes: dict[Hashable, int] = {}
    for key in keys:
        if key is not None:
            sizes[key] = sizes.get(key, 0) + 1
    return list(sizes.values())


def _drawn(keys: Keys, way: str) -> Keys:
    return [key for key in keys if key is not None] if way == "found" else keys


def _kept(
    policies: Mapping[str, Sequence[Keys]], ks: Sequence[int], way: str
) -> list[int]:
    """Rows of the prompts that every policy can be measured on."""
    if way not in WAYS:
        raise UserError(f"way must be one of {', '.join(WAYS)}, got {way!r}")
    if not policies or not len(ks) or min(ks) < 1:
        raise UserError(
            "route curves need a policy or more and budgets k of 1 or more, got "
            f"policies {list(policies)} and k = {list(ks)}"
        )
    (first, prompts), *others = policies.items()
    sizes = [len(keys) for keys in prompts]
    for name, other in others:
        _check_alike(first, sizes, name, [len(keys) for keys in other])
    rows = range(len(prompts))
    if way == "found":
        enough = max(ks)
        rows = [
            row
            for row in rows
            if all(len(_drawn(p[row], way)) >= enough for p in policies.values())
        ]
    if not rows:
        raise UserError(
            f"no prompt has {max(ks)} sample(s) with a route in every policy "
            f"({', '.join(policies)}; {len(prompts)} prompts); ask for a smaller k or "
            "sample more"
        )
    return list(rows)


def _check_alike(
    first: str, sizes: Sequence[int], name: str, other: Sequence[int]
) -> None:
    if len(sizes) != len(other):
        raise UserError(
            f"policies {first} and {name} must answer the same prompts, got "
            f"{len(sizes)} and {len(other)}"
        )
    for row, (left, right) in enumerate(zip(sizes, other, strict=True)):
        if left != right:
            raise UserError(
                f"policies {first} and {name} must have equal samples per prompt, got "
                f"{left} and {right} of the prompt in row {row}"
            )


def _curve(
    table: Float[np.ndarray, "Q K"], means: Float[np.ndarray, "resamples K"]
) -> dict[str, Any]:
    lower, upper = percentile_bounds(means)
    return {"mean": table.mean(axis=0), "lower": lower, "upper": upper}
