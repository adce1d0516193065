"""How the kernels are compiled: without Python's lock, kept on disk, IEEE arithmetic.

They also count no references. Numba counts those of every array, with atomic
instructions and at every use, which took a third of the time of kernels that look at a
few bytes and go on. So a kernel is given every array that it writes, makes none, and
returns numbers; whoever calls it from Python holds the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

_HOW: Any = {"nogil": True, "cache": True, "error_model": "numpy"}
_NO_COUNTS: Any = {"_nrt": False}  # numba's own flag, which its types do not know


def kernel(function: Callable[..., Any]) -> Any:
    """A function that makes no array, compiled."""
    return njit(**_NO_COUNTS, **_HOW)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same, a part of every function that calls it."""
    return njit(forceinline=True, **_NO_COUNTS, **_HOW)(function)


def allocating(function: Callable[..., Any]) -> Any:
    """A function that makes arrays of its own, compiled."""
    return njit(**_HOW)(function)
