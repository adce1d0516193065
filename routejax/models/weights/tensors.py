"""Tensors in files: by name, rows at a time, and never a whole file in memory.

A safetensors file is eight bytes with the length of a JSON header, the header (type,
shape and place of every tensor), then the bytes. It is read with plain reads rather
than mapped, so that what was read does not stay in this process's memory.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from routejax.errors import UserError

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
DTYPES = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(jnp.bfloat16),
}
_LONGEST_HEADER = 100_000_000  # the format's own limit


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
        return _indexed(folder)
    if (folder / SINGLE).exists():
        return read_file(folder / SINGLE)
    other = [path.name for path in sorted(folder.glob("*.bin"))]
    advice = f"; it has {other[0]}: save the model as safetensors" if other else ""
    raise UserError(f"{folder} has neither {SINGLE} nor {INDEX}{advice}")


def _indexed(folder: Path) -> dict[str, Stored]:
    try:
        places = json.loads((folder / INDEX).read_bytes())["weight_map"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder / INDEX} is no index of weights: {error}") from error
    names = sorted({*places.values()})
    absent = [name for name in names if not (folder / name).exists()]
    if absent:
        raise UserError(
            f"{folder} lacks {', '.join(absent)} of its {INDEX}; fetch the rest of the "
            "checkpoint"
        )
    files = {name: read_file(folder / name) for name in names}
    found = {}
    for name, file in places.items():
        if name not in files[file]:
            raise UserError(f"{folder / file} has no {name}, which {INDEX} says it has")
        found[name] = files[file][name]
    return found


def read_file(path: Path) -> dict[str, Stored]:
    """Every tensor of one safetensors file.

    Raises:
        UserError: the file is damaged, cut short, or has a type that is no float.
    """
    header, begin = _header(path)
    end = path.stat().st_size
    found = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        dtype = DTYPES.get(entry["dtype"])
        if dtype is None:
            raise UserError(
                f"{path}: {name} has type {entry['dtype']}, wanted one of "
                f"{', '.join(DTYPES)}; quantised checkpoints cannot be trained"
            )
        shape = tuple(entry["shape"])
        if last - first != dtype.itemsize * int(np.prod(shape, dtype=np.int64)):
            raise UserError(
                f"{path} is damaged: {name} has not as many bytes as values"
            )
        if begin + last > end:
            raise UserError(
                f"{path} is cut short: it has {end:,} bytes and {name} ends at "
                f"{begin + last:,}; fetch it again"
            )
        found[name] = Stored(shape, dtype, _reader(path, begin + first, shape, dtype))
    return found


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The header without its metadata, and where the bytes of tensors begin."""
    with path.open("rb") as file:
        size = file.read(8)
        length = struct.unpack("<Q", size)[0] if len(size) == 8 else 0
        left = path.stat().st_size - 8
        if not 0 < length <= min(left, _LONGEST_HEADER):
            raise UserError(f"{path} is no safetensors file, or is cut short")
        try:
            header = json.loads(file.read(length))
            header.pop("__metadata__", None)
        except (ValueError, AttributeError, TypeError) as error:
            raise UserError(f"{path} has a damaged header: {error}") from error
    return header, 8 + length


def _reader(
    path: Path, at: int, shape: tuple[int, ...], dtype: np.dtype
) -> Callable[[int, int], np.ndarray]:
    width = int(np.prod(shape[1:], dtype=np.int64))

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
    return dtype.itemsize * int(np.prod(entry.shape, dtype=np.int64))


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
    """One safetensors file, a tensor in memory at a time."""
    with path.open("wb") as file:
        file.write(header_of(entries, dtype))
        for entry in entries:
            values = np.ascontiguousarray(entry.make(), dtype)
            assert values.shape == entry.shape
            file.write(values.view(np.uint8).data)


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
    width = tensor.dtype.itemsize * int(np.prod(tensor.shape[1:], dtype=np.int64))
    step = max(1, bytes_at_once // max(width, 1))
    for first in range(0, count, step):
        yield tensor.rows(first, min(first + step, count))
