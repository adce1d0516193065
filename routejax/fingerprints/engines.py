"""Which engine computes a family: arrays where there are kernels, else the reference.

Both give the same bytes. The kernels need numba, which the reference does without.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from routejax.errors import UserError
from routejax.fingerprints.family import Family

ENGINES = ("auto", "arrays", "reference")
_SMALL = 4 << 20  # bytes of text below which compiling costs more than it saves

# Families with kernels: name → function of `engine.front`.
_KERNELS = {
    "corpus": "corpus_features",
    "dolci": "dolci_features",
    "rlve": "rlve_features",
}


@functools.cache
def has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


def choose(family: str, engine: str, size: int) -> str:
    """The engine, arrays or reference, for a family and an amount of text in bytes.

    Raises:
        UserError: an unknown engine, or "arrays" where it cannot run.
    """
    if engine not in ENGINES:
        raise UserError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "auto":
        fit = family in _KERNELS and has_numba() and size > _SMALL
        return "arrays" if fit else "reference"
    if engine == "arrays" and family not in _KERNELS:
        raise UserError(
            f"engine 'arrays' knows the families {', '.join(_KERNELS)}, not "
            f"{family!r}; use 'reference' or 'auto'"
        )
    if engine == "arrays" and not has_numba():
        raise UserError(
            "engine 'arrays' needs numba, which is not installed; "
            "pip install numba, or use 'reference'"
        )
    return engine


def slow(family: str, engine: str) -> str:
    """What to say where a run takes longer than a user would think, or nothing: the
    reference does the work of kernels, or the kernels have to be compiled first."""
    if engine == "arrays":
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            return (
                "NUMBA_DISABLE_JIT is set: kernels run as plain Python, which is many "
                "times slower than the reference; unset it"
            )
        room = importlib.import_module("routejax.fingerprints.engine")
        module = "rlve" if family == "rlve" else "corpus"
        kept = room.is_compiled(module)
        return "" if kept else "compiling kernels, once: about a minute"
    if family in _KERNELS and not has_numba():
        return (
            "numba is not installed: fingerprints come from the plain-Python "
            "reference, which is many times slower; pip install numba"
        )
    return ""


def on_arrays(columns: list[pa.Array], family: str) -> Float[np.ndarray, "N D"]:
    """The features from the kernels."""
    front = importlib.import_module("routejax.fingerprints.engine").front
    kernel: Callable[..., np.ndarray] = getattr(front, _KERNELS[family])
    return kernel(*columns)


def by_reference(columns: list[pa.Array], family: Family) -> Float[np.ndarray, "N D"]:
    """The features from the plain-Python reference, row by row."""
    rows = len(columns[0])
    out = np.zeros((rows, len(family.features)), np.float32)
    for row, values in enumerate(zip(*(c.to_pylist() for c in columns), strict=True)):
        out[row] = family.compute(*values)
    return out
