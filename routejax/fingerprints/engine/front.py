"""Arrow columns to fingerprints: the door of the array engine.

Texts stay where Arrow holds them; no Python string is made. Every thread has arrays of
its own, so that several may work at once: the kernels hold no lock of Python.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int64, UInt8

from routejax.fingerprints.engine import blocks, corpus, rlve

_SPARE = 1.25  # room is made a little larger than asked for, so that it serves longer
_BYTES_PER_STEP = 8
_threads = threading.local()

Texts = tuple[UInt8[np.ndarray, "bytes"], Int64[np.ndarray, "rows+1"]]


@functools.cache
def _rules(family: Any) -> corpus.Rules | rlve.Rules:
    return family.rules()


def corpus_features(
    prompts: pa.Array, reasonings: pa.Array, answers: pa.Array
) -> Float[np.ndarray, "N 1738"]:
    """The features of the `corpus` family, a row per text; no text is null."""
    columns = tuple(texts(column) for column in (prompts, reasonings, answers))
    return _features(corpus, columns, columns[1], 1738)


def dolci_features(reasonings: pa.Array) -> Float[np.ndarray, "N 631"]:
    """The features of the `dolci` family, a row per text; no text is null."""
    column = texts(reasonings)
    return _features(corpus, (column, column, column), column, 631)


def rlve_features(reasonings: pa.Array) -> Float[np.ndarray, "N 1373"]:
    """The features of the `rlve` family, a row per text; no text is null."""
    column = texts(reasonings)
    return _features(rlve, (column,), column, 1373)


def _features(
    family: Any, columns: tuple[Texts, ...], reasonings: Texts, width: int
) -> Float[np.ndarray, "N D"]:
    """The features from a module of kernels, which takes the `columns` by groups."""
    offsets = reasonings[1]
    out = np.zeros((len(offsets) - 1, width), np.float32)
    rules = _rules(family)
    for first, last in groups(offsets, family.GROUP):
        longest = max(_longest(o[first : last + 1]) for _, o in columns)
        size = max(int(offsets[last] - offsets[first]) + last - first, longest)
        size += blocks.WIDTH  # blocks are read and written whole
        events = 0
        while True:
            room = _room(family, size, last - first, events)
            events = int(family.group(*columns, first, last, rules, room, out))
            if not events:
                break
    return out


def texts(column: pa.Array) -> Texts:
    """The bytes of an Arrow text column and where each text begins in them.

    The arrays look on Arrow's memory, which must not be written: they are marked as
    writable only because the kernels are compiled for one kind of array.
    """
    if not pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
    if column.null_count:
        raise ValueError(f"texts must not be null, got {column.null_count} nulls")
    _, starts, data = column.buffers()
    if not len(column) or starts is None:
        return np.zeros(1, np.uint8), np.zeros(1, np.int64)
    offsets = _look(starts, np.int64)[column.offset : column.offset + len(column) + 1]
    if data is None or not data.size:
        return np.zeros(1, np.uint8), offsets
    return _look(data, np.uint8), offsets


class _Memory:
    """Keeps a buffer alive as long as an array looks on it."""

    def __init__(self, buffer: pa.Buffer, dtype: type):
        self._buffer = buffer
        count = buffer.size // np.dtype(dtype).itemsize
        self.__array_interface__ = {
            "data": (buffer.address, False),
            "shape": (count,),
            "typestr": np.dtype(dtype).str,
            "version": 3,
        }


def _look(buffer: pa.Buffer, dtype: type) -> np.ndarray:
    return np.asarray(_Memory(buffer, dtype))


def groups(
    offsets: Int64[np.ndarray, "rows+1"], size: int
) -> Iterator[tuple[int, int]]:
    """Runs of rows of at most `size` bytes; a longer row is a run of its own."""
    first, rows = 0, len(offsets) - 1
    while first < rows:
        last = int(np.searchsorted(offsets, offsets[first] + size, "right")) - 1
        last = min(max(last, first + 1), rows)
        yield first, last
        first = last


def _longest(offsets: Int64[np.ndarray, "rows+1"]) -> int:
    return int(np.diff(offsets).max(initial=0))


def _room(family: Any, size: int, rows: int, events: int) -> corpus.Room | rlve.Room:
    """This thread's arrays for a family, made anew if they are too short."""
    rooms = _threads.__dict__.setdefault("rooms", {})
    have = rooms.get(family)
    events = max(events, size // _BYTES_PER_STEP)
    if have is not None:
        enough = len(have.text) >= size and len(have.bounds) > rows
        if enough and len(have.group) >= events:
            return have
        size, rows = max(size, len(have.text)), max(rows, len(have.bounds))
        events = max(events, len(have.group))
    rooms[family] = family.room(
        int(size * _SPARE) + 64, int(rows * _SPARE) + 1, int(events * _SPARE) + 64
    )
    return rooms[family]
