"""The one form results have in this room: correct answers counted per question.

Row i of an array of counts is the number of correct answers among the samples of
question i. Also here: the form in which numbers leave the room (`rounded`).
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike

from routejax.errors import UserError

DIGITS = 6


def as_counts(counts: ArrayLike, samples: int) -> Int[np.ndarray, "Q"]:
    """`counts` as int64, checked: one integer in 0..samples per question.

    Raises UserError naming the first row that is not.
    """
    if samples < 1:
        raise UserError(f"samples per question must be at least 1, got {samples}")
    array = np.asarray(counts)
    if array.ndim != 1 or array.size == 0:
        raise UserError(
            f"counts must hold one number per question, got shape {array.shape}"
        )
    if array.dtype.kind not in "iu":
        raise UserError(
            f"counts must be integers (correct answers per question), got {array.dtype}"
        )
    outside = np.flatnonzero((array < 0) | (array > samples))
    if outside.size:
        row = int(outside[0])
        raise UserError(
            f"counts must lie in 0..{samples} (samples per question), got "
            f"{array[row]} in row {row}; {outside.size} row(s) are outside"
        )
    return array.astype(np.int64)


def same_questions(a: np.ndarray, b: np.ndarray, a_name: str, b_name: str) -> None:
    """Raises UserError unless both arrays speak of equally many questions."""
    if a.shape[-1] != b.shape[-1]:
        raise UserError(
            f"{a_name} and {b_name} must answer the same questions, got "
            f"{a.shape[-1]} and {b.shape[-1]}; evaluate both on one set of problems"
        )


def rounded(value: Any) -> Any:
    """`value` ready for JSON: floats to 6 digits, numpy numbers to Python's.

    Walks dicts, lists and tuples. Raises ValueError at NaN or infinity: what is not
    known is None, so a NaN here is a defect.
    """
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return rounded(value.tolist())
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise ValueError(f"a number for JSON must be finite, got {value}")
    return round(value, DIGITS) + 0.0  # + 0.0 turns -0.0 into 0.0
