"""Relative gains in percent, per benchmark and of plain means (paper, C.5)."""

from collections.abc import Mapping

from routejax.errors import UserError


def relative_gain(a: float, b: float) -> float | None:
    """100 (a / b - 1) percent; None where b is 0, for then no ratio exists.

    A relative percentage, not a difference in percentage points.
    """
    return 100.0 * (a / b - 1.0) if b else None


def relative_gain_of_means(
    a: Mapping[str, float], b: Mapping[str, float]
) -> float | None:
    """100 (mean a / mean b - 1) over the same benchmarks, each weighing the same.

    Neither a score pooled over questions nor the average of the relative gains (C.5).

    Raises:
        UserError: if the two do not hold the same benchmarks, or none.
    """
    if not a or set(a) != set(b):
        raise UserError(
            "relative gains of means need the same benchmarks on both sides, got "
            f"{sorted(a)} and {sorted(b)}"
        )
    return relative_gain(sum(a.values()) / len(a), sum(b.values()) / len(b))
