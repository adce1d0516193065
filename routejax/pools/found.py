"""A column of responses → columns of span state, reasoning and answer.

The compiled engine does it where numba is installed; without it, `spans.find` row by
row, with the same result.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from routejax.spans import STATES, find

STATE = pa.dictionary(pa.int8(), pa.string())
_STATES = pa.array(STATES)
_FEW = 1 << 17  # bytes that are searched before the engine would be loaded


class Found(NamedTuple):
    """One row per response: state (dictionary), reasoning, answer (large_string)."""

    state: pa.DictionaryArray
    reasoning: pa.LargeStringArray
    answer: pa.LargeStringArray


@cache
def engine() -> ModuleType | None:
    """The compiled reader of spans, None without numba; it compiles when imported."""
    if importlib.util.find_spec("numba") is None:
        return None
    return importlib.import_module("routejax.pools.spans_engine")


def find_all(responses: pa.Array) -> Found:
    """`spans.find` of every response (any string type, no nulls, valid UTF-8)."""
    texts = responses.cast(pa.large_string())
    many = texts.nbytes > _FEW or engine.cache_info().currsize
    fast = engine() if many else None
    if fast is None:
        return column([find(text) for text in texts.to_pylist()])
    _, places, data = texts.buffers()
    offsets = np.frombuffer(places, np.int64)[texts.offset :][: len(texts) + 1]
    size = int(offsets[-1] - offsets[0])
    # from Arrow's pool, which reuses memory: fresh pages cost more than the search
    reasoning, answer = pa.allocate_buffer(size), pa.allocate_buffer(size)
    states, ends = fast.cut(
        np.frombuffer(data, np.uint8),
        offsets,
        np.frombuffer(reasoning, np.uint8),
        np.frombuffer(answer, np.uint8),
    )
    return Found(
        pa.DictionaryArray.from_arrays(pa.array(states), _STATES),
        _texts(ends[0], reasoning),
        _texts(ends[1], answer),
    )


def column(spans: list[tuple[str, str, str]]) -> Found:
    """The same columns from spans that are known."""
    states = np.array([STATES.index(span[0]) for span in spans], np.int8)
    return Found(
        pa.DictionaryArray.from_arrays(pa.array(states), _STATES),
        pa.array([span[1] for span in spans], pa.large_string()),
        pa.array([span[2] for span in spans], pa.large_string()),
    )


def _texts(ends: np.ndarray, data: pa.Buffer) -> pa.LargeStringArray:
    size = int(ends[-1])
    return pa.LargeStringArray.from_buffers(
        len(ends) - 1, pa.py_buffer(ends), data.slice(0, size)
    )
