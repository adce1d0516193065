"""Tensors in files: by name, rows at a time, and never a whole file in memory.

Files are read with plain reads rather than mapped, so that what was read does not stay
in this process's memory.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from routejax.errors import UserError
from routejax.models.weights.headers import (
    DTYPES,
    INDEX,
    SINGLE,
    Place,
    listed,
    read_header,
    read_index,
)

_AT_ONCE = 1 << 22  # values that are looked at together


class Stored(NamedTuple):
    """One tensor: its shape and type, and `rows(first, end)`, those of its first axis.

    A tensor without axes has one row.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    rows: Callable[[int, int], np.ndarray]


def read_folder(folder: Path) -> dict[str, Stored]:
    """Every tensor of a folder, by name; its files are opened and checked, not read.

    Raises:
        UserError: no safetensors there, a shard of the index is missing, or a file is
            damaged or cut short.
    """
    if (folder / INDEX).exists():
        files = read_index(folder)
    elif (folder / SINGLE).exists():
        files = {SINGLE: read_header(folder / SINGLE)}
    else:
        other = [path.name for path in sorted(folder.glob("*.bin"))]
        advice = f"; it has {other[0]}: save the model as safetensors" if other else ""
        raise UserError(f"{folder} has neither {SINGLE} nor {INDEX}{advice}")
    return {
        name: _stored(folder / file, place)
        for file, places in files.items()
        for name, place in places.items()
    }


def _stored(path: Path, place: Place) -> Stored:
    shape, dtype = place.shape, place.dtype
    return Stored(shape, dtype, _reader(path, place.first, shape, dtype))


def _reader(
    path: Path, at: int, shape: tuple[int, ...], dtype: np.dtype
) -> Callable[[int, int], np.ndarray]:
    width = math.prod(shape[1:])

    def rows(first: int, end: int) -> np.ndarray:
        count = (end - first) * width
        offset = at + first * width * dtype.itemsize
        found = np.fromfile(path, dtype, count, offset=offset)
        if len(found) != count:
            raise UserError(f"{path} became shorter while it was read")
        return found.reshape(end - first, *shape[1:])

    return rows


class Entry(NamedTuple):
    """A tensor to be written: `make` gives its values when their turn comes."""

    name: str
    shape: tuple[int, ...]
    make: Callable[[], np.ndarray]


def nbytes(entry: Entry, dtype: np.dtype) -> int:
    return dtype.itemsize * math.prod(entry.shape)


def shards(entries: Iterable[Entry], dtype: np.dtype, limit: int) -> list[list[Entry]]:
    """Entries in files of at most `limit` bytes, unless one alone is larger."""
    made: list[list[Entry]] = []
    room = 0
    for entry in entries:
        size = nbytes(entry, dtype)
        if not made or size > room:
            made.append([])
            room = limit
        made[-1].append(entry)
        room -= size
    return made


def write_file(path: Path, entries: list[Entry], dtype: np.dtype) -> None:
    """One safetensors file, a tensor in memory at a time.

    Raises:
        UserError: values that are not finite, or too large for `dtype`.
    """
    wrong = []
    with path.open("wb") as file:
        file.write(header_of(entries, dtype))
        for entry in entries:
            with np.errstate(over="ignore", invalid="ignore"):
                values = np.ascontiguousarray(entry.make(), dtype)
            assert values.shape == entry.shape
            if not is_finite(values):
                wrong.append(entry.name)
            file.write(values.view(np.uint8).data)
    if wrong:
        raise UserError(
            f"parameters are not finite as {dtype.name}: {listed(wrong)}; nothing is "
            "written"
        )


def is_finite(values: np.ndarray) -> bool:
    """Whether no value is infinite or NaN, found out a few rows at a time."""
    if not values.ndim:
        return bool(np.isfinite(values))
    step = max(1, _AT_ONCE // max(1, math.prod(values.shape[1:])))
    rows = range(0, len(values), step)
    return all(np.isfinite(values[first : first + step]).all() for first in rows)


def header_of(entries: Iterable[Entry], dtype: np.dtype) -> bytes:
    """The bytes before the first tensor."""
    name = next(name for name, known in DTYPES.items() if known == dtype)
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for entry in entries:
        end = at + nbytes(entry, dtype)
        shape = list(entry.shape)
        header[entry.name] = {"dtype": name, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of eight
    return struct.pack("<Q", len(text)) + text


def index_of(files: Mapping[str, list[Entry]], dtype: np.dtype) -> str:
    """The index of several files, as JSON."""
    places = {e.name: file for file, entries in files.items() for e in entries}
    total = sum(nbytes(e, dtype) for entries in files.values() for e in entries)
    index = {
        "metadata": {"total_size": total},
        "weight_map": dict(sorted(places.items())),
    }
    return json.dumps(index, indent=2) + "\n"


def blocks(tensor: Stored, bytes_at_once: int = 1 << 24) -> Iterator[np.ndarray]:
    """The rows of a tensor, a few at a time."""
    count = tensor.shape[0] if tensor.shape else 1
    width = tensor.dtype.itemsize * math.prod(tensor.shape[1:])
    step = max(1, bytes_at_once // max(width, 1))
    for first in range(0, count, step):
        yield tensor.rows(first, min(first + step, count))
