"""When a program's output or value is the expected one.

Texts by lines: white space at the ends of lines and empty lines at the end do not
count, all else does. By tokens: only what stands between white space counts. With a
tolerance, tokens that both are numbers may differ by it, absolutely or relative to the
expected one. Values: a tuple is the list, keys of a dict are as JSON writes them, True
is not 1, and a number may differ by the tolerance.
"""

from __future__ import annotations

import json
import math
from typing import Any

WAYS = ("lines", "tokens")
_NUMBER = 40  # characters of a token that is read as a number


def same_text(given: str, expected: str, *, way: str, tolerance: float | None) -> bool:
    """Whether the output is the expected one; a tolerance compares tokens."""
    if way == "lines" and tolerance is None:
        return _lines(given) == _lines(expected)
    left, right = given.split(), expected.split()
    return len(left) == len(right) and all(
        a == b or (tolerance is not None and _near_texts(a, b, tolerance))
        for a, b in zip(left, right, strict=True)
    )


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _near_texts(given: str, expected: str, tolerance: float) -> bool:
    if max(len(given), len(expected)) > _NUMBER:
        return False
    try:
        return near(float(given), float(expected), tolerance)
    except ValueError:
        return False


def near(given: float, expected: float, tolerance: float) -> bool:
    """Within the tolerance, absolute or relative; never where one is no number."""
    if not (math.isfinite(given) and math.isfinite(expected)):
        return False
    return math.isclose(given, expected, rel_tol=tolerance, abs_tol=tolerance)


def same_value(given: Any, expected: Any, *, tolerance: float | None) -> bool:
    """Whether a value is the expected one, which is of JSON types."""
    if isinstance(expected, list | tuple):
        return (
            isinstance(given, list | tuple)
            and len(given) == len(expected)
            and all(
                same_value(a, b, tolerance=tolerance)
                for a, b in zip(given, expected, strict=True)
            )
        )
    if isinstance(expected, dict):
        left, right = _keyed(given), _keyed(expected)
        return left.keys() == right.keys() and all(
            same_value(left[key], right[key], tolerance=tolerance) for key in right
        )
    return _same_atom(given, expected, tolerance)


def _keyed(value: Any) -> dict[Any, Any]:
    """With keys as JSON writes them; one that it cannot write stays as it is."""
    if not isinstance(value, dict):
        return {None: value}
    return {
        json.dumps(k) if k is None or isinstance(k, int | float) else k: v
        for k, v in value.items()
    }


def _same_atom(given: Any, expected: Any, tolerance: float | None) -> bool:
    if isinstance(given, bool) or isinstance(expected, bool):
        return given is expected
    numbers = isinstance(given, int | float) and isinstance(expected, int | float)
    if numbers and tolerance is not None:
        try:
            return near(float(given), float(expected), tolerance)
        except OverflowError:
            return given == expected
    return (numbers or type(given) is type(expected)) and given == expected
