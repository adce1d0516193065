"""How many rows each group and each cluster gives, in integers throughout (paper A.2).

Group budgets are the most even split of n; cluster counts follow from a shared total K;
cluster quotas are proportional to cluster size with at least one row each.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Int, Int64

from routejax.errors import UserError

DEFAULT_CLUSTER_RATIO = Fraction(2, 5)


def group_budgets(
    sizes: Mapping[str, int], n: int, quotas: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Rows to take from each group, by group name: the most even split of `n`.

    Every group receives min(size, q) for the largest common level q that fits; of the
    rest, one row each goes to the groups with most remaining capacity, ties by name
    (paper A.2, step 1). The rest is always smaller than the number of groups above
    level q, so nobody gets two.

    Args:
        sizes: eligible rows of each group; an empty group receives nothing.
        n: rows in all.
        quotas: budgets set by hand. The groups not named share what is left, most
            evenly (our choice). The paper's 33,334 mathematics rows of 100,000 are
            such a quota: between groups of equal capacity the name decides, and
            "code" comes before "math".

    Raises:
        UserError: no rows at all; n not in 1..rows; a quota for an unknown group, below
            zero or above the group's size; quotas that cannot add up to n.
    """
    rows = sum(sizes.values())
    if not rows:
        raise UserError(
            f"no row is eligible, so none can be chosen (n = {n}); see which rules "
            "rejected them"
        )
    if not 1 <= n <= rows:
        raise UserError(f"n must be in 1..{rows} (eligible rows), got {n}")
    fixed = dict(quotas or {})
    _check_quotas(sizes, n, fixed)
    free = {name: size for name, size in sizes.items() if name not in fixed}
    shared = _even_split(free, n - sum(fixed.values()))
    return {name: fixed.get(name, shared.get(name, 0)) for name in sorted(sizes)}


def _check_quotas(sizes: Mapping[str, int], n: int, fixed: Mapping[str, int]) -> None:
    for name, quota in fixed.items():
        if name not in sizes:
            raise UserError(
                f"quotas name the group {name!r}, which has no eligible row; "
                f"groups are {', '.join(sorted(sizes))}"
            )
        if not 0 <= quota <= sizes[name]:
            raise UserError(
                f"quota of group {name!r} must be in 0..{sizes[name]} "
                f"(its eligible rows), got {quota}"
            )
    total = sum(fixed.values())
    spare = sum(size for name, size in sizes.items() if name not in fixed)
    if not total <= n <= total + spare:
        raise UserError(
            f"quotas add up to {total} and the groups without one hold {spare} rows, "
            f"which cannot make n = {n}; change the quotas or n"
        )


def _even_split(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    low, high = 0, max(sizes.values(), default=0)
    while low < high:  # the largest level q with sum(min(size, q)) <= n
        level = (low + high + 1) // 2
        if sum(min(size, level) for size in sizes.values()) <= n:
            low = level
        else:
            high = level - 1
    split = {name: min(size, low) for name, size in sizes.items()}
    order = sorted(sizes, key=lambda name: (split[name] - sizes[name], name))
    for name in order[: n - sum(split.values())]:
        split[name] += 1
    return split


def cluster_total(n: int) -> int:
    """K where the paper gives none: 0.4 n, its own ratio on the released corpora.

    Rounded half to even and at least one (our choice).
    """
    return max(1, round(DEFAULT_CLUSTER_RATIO * n))


def cluster_counts(
    K: int, budgets: Mapping[str, int], n: int, sizes: Mapping[str, int]
) -> dict[str, int]:
    """K_d = max(1, min(round(K n_d / n), |E_d|, n_d)), halves to even (paper A.2).

    A group with no budget has no clusters (our choice: there is nothing to choose).

    Raises:
        UserError: K below one.
    """
    if K < 1:
        raise UserError(f"K must be at least 1 (clusters over all groups), got {K}")
    return {
        name: max(1, min(round(Fraction(K * budget, n)), sizes[name], budget))
        if budget
        else 0
        for name, budget in budgets.items()
    }


def cluster_quotas(
    sizes: Int[np.ndarray, "K"] | Sequence[int], n_d: int
) -> Int64[np.ndarray, "K"]:
    """Rows to take from each cluster: exactly `n_d` in all, none from an empty one.

    b_c = max(1, floor(|C_c| n_d / |E_d|)), at most |C_c|; the rows still missing go one
    each to the clusters with the largest fractional part of |C_c| n_d / |E_d|, ties by
    lower index (paper A.2, step 3). The fractional part is meant literally: a cluster
    that was raised to one row takes part with it.

    The minimum of one can promise more than n_d rows, which the paper does not treat.
    Then (our choice) n_d/|E_d| is replaced by the largest rate below it with
    sum(max(1, floor(rate |C_c|))) <= n_d. That sum jumps where a rate j/|C_c| is
    reached, so the largest rate is the limit from below at the first jump that is too
    much: a cluster that would jump there has floor j - 1 and fractional part 1.

    Raises:
        UserError: a size below zero, n_d above the rows there are, or below the number
            of clusters that are not empty.
    """
    size = np.asarray(sizes, np.int64)
    rows, formed = int(size.sum()), int((size > 0).sum())
    if (size < 0).any():
        raise UserError(f"cluster sizes must not be negative, got {size.min()}")
    if not formed <= n_d <= rows:
        raise UserError(
            f"n_d must be in {formed}..{rows} (clusters that are not empty, rows), "
            f"got {n_d}"
        )
    if rows == 0:
        return size
    floors, parts = _shares(size, Fraction(n_d, rows))
    quotas = np.where(size > 0, np.maximum(floors, 1), 0)
    if quotas.sum() > n_d:
        floors, parts = _shares_below(size, _first_rate_above(size, floors, n_d))
        quotas = np.where(size > 0, np.maximum(floors, 1), 0)
    order = np.argsort(-parts, kind="stable")
    open_clusters = order[(quotas < size)[order]]
    quotas[open_clusters[: n_d - int(quotas.sum())]] += 1
    return quotas


def proportional_quotas(
    sizes: Int[np.ndarray, "K"] | Sequence[int], n_d: int
) -> Int64[np.ndarray, "K"]:
    """Rows to take from each stratum in proportion to its size: exactly `n_d` in all.

    floor(|C_c| n_d / |E_d|), the rows still missing one each to the largest fractional
    parts, ties by lower index. A stratum may give none (Cochran, 1977; paper C.4).

    Raises:
        UserError: a size below zero, or n_d not in 0..rows.
    """
    size = np.asarray(sizes, np.int64)
    rows = int(size.sum())
    if (size < 0).any():
        raise UserError(f"stratum sizes must not be negative, got {size.min()}")
    if not 0 <= n_d <= rows:
        raise UserError(f"n_d must be in 0..{rows} (rows), got {n_d}")
    quotas, parts = size * n_d // max(rows, 1), size * n_d % max(rows, 1)
    order = np.argsort(-parts, kind="stable")
    quotas[order[: n_d - int(quotas.sum())]] += 1
    return quotas


def _shares(
    size: Int64[np.ndarray, "K"], rate: Fraction
) -> tuple[Int64[np.ndarray, "K"], Int64[np.ndarray, "K"]]:
    """floor(rate |C|) and the fractional part in units of 1/denominator."""
    shares = size * rate.numerator
    return shares // rate.denominator, shares % rate.denominator


def _shares_below(
    size: Int64[np.ndarray, "K"], rate: Fraction
) -> tuple[Int64[np.ndarray, "K"], Int64[np.ndarray, "K"]]:
    """The same in the limit from below: an integer share k is (k - 1) + 1."""
    shares = size * rate.numerator
    floors = (shares - 1) // rate.denominator
    return floors, shares - floors * rate.denominator


def _first_rate_above(
    size: Int64[np.ndarray, "K"], floors: Int64[np.ndarray, "K"], n_d: int
) -> Fraction:
    """The smallest rate j/|C| at which the sum of max(1, floor) exceeds n_d.

    Each j in 2..floor adds one row at the rate j/|C|. Rates are ordered as float64:
    division is correctly rounded and two different rates of clusters below 2^26 rows
    differ by more than 2^-52, so equal rates stay equal and others keep their order.
    """
    extra = np.maximum(floors - 1, 0)
    cluster = np.repeat(np.arange(len(size)), extra)
    starts = np.repeat(np.cumsum(extra) - extra, extra)
    row = np.arange(len(cluster)) - starts + 2
    allowed = n_d - int((size > 0).sum())
    at = np.argsort(row / size[cluster], kind="stable")[allowed]
    return Fraction(int(row[at]), int(size[cluster[at]]))
