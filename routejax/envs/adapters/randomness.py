"""Global generators, which other packages draw from, seeded for a while and put back.

Within a worker one request must not change what the next one draws.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator

import numpy as np

_HASHES = "PYTHONHASHSEED"  # rlve-gym sets it as well


@contextlib.contextmanager
def fixed(seed: int) -> Iterator[None]:
    """Seeds `random` and numpy's global generator; after it both are as before."""
    ours, arrays = random.getstate(), np.random.get_state()  # noqa: NPY002
    hashes = os.environ.get(_HASHES)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(arrays)  # noqa: NPY002
        os.environ.pop(_HASHES, None)
        if hashes is not None:
            os.environ[_HASHES] = hashes
