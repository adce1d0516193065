"""What a checkpoint says about its files in JSON: objects, headers, and the index.

A safetensors file is eight bytes with the length of a JSON header, the header (type,
shape and place of every tensor), then the bytes, without gaps. Everything here is
looked at as if it came from a stranger: whatever is not as it must be is named.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from reprlib import repr as shown  # an unknown value, cut to a line
from typing import Any, NamedTuple, TypeGuard

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
_LISTED = 12  # names of one kind in an error


class Place(NamedTuple):
    """A tensor in its file: type, shape, and from which byte to which."""

    dtype: np.dtype
    shape: tuple[int, ...]
    first: int
    end: int


def listed(names: Iterable[str]) -> str:
    """The first of many names; what a terminal cannot print is escaped."""
    found = [name if name.isprintable() else ascii(name) for name in names]
    more = len(found) - _LISTED
    return ", ".join(found[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        UserError: it cannot be read, is no JSON, or is something else than an object.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    return parsed(data, f"{path} is damaged")


def parsed(data: bytes, said: str, *, once: bool = False) -> dict[str, Any]:
    """The object in JSON text; `said` begins the error.

    Args:
        once: whether a name that comes twice is an error, else the last one counts.
    """
    try:
        found = json.loads(data, object_pairs_hook=_once if once else dict)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{said}: {error}") from error
    if not isinstance(found, dict):
        raise UserError(f"{said}: it is no JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{listed([twice])} is there twice")
    return found


def read_header(path: Path) -> dict[str, Place]:
    """Where every tensor of a safetensors file is.

    Raises:
        UserError: the file is damaged, cut short, has bytes of no tensor or of two, or
            a type that is no float.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 0 < length <= min(size - 8, _LONGEST_HEADER):
                raise UserError(f"{path} is no safetensors file, or is cut short")
            text = file.read(length)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    header = parsed(text, f"{path} has a damaged header", once=True)
    header.pop("__metadata__", None)
    begin = 8 + length
    places = {name: _place(path, name, begin, header[name]) for name in header}
    _require_dense(path, places, begin, size)
    return places


def _place(path: Path, name: str, begin: int, entry: Any) -> Place:
    said = f"{path}: {listed([name])}"
    if not isinstance(entry, dict):
        raise UserError(
            f"{said} must have type, shape and data_offsets, got {shown(entry)}"
        )
    kind, shape, offsets = (entry.get(k) for k in ("dtype", "shape", "data_offsets"))
    dtype = DTYPES.get(kind) if isinstance(kind, str) else None
    if dtype is None:
        raise UserError(
            f"{said} has type {kind if kind in _KINDS else shown(kind)}, wanted one of "
            f"{', '.join(DTYPES)}; quantised checkpoints cannot be trained"
        )
    if not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise UserError(
            f"{path} is damaged: {listed([name])} has shape {shown(shape)} and "
            f"data_offsets {shown(offsets)}, wanted whole numbers from 0, two of the "
            "latter"
        )
    first, end = offsets
    if end - first != dtype.itemsize * math.prod(shape):
        raise UserError(
            f"{path} is damaged: {listed([name])} has not as many bytes as values"
        )
    return Place(dtype, tuple(shape), begin + first, begin + end)


# Types of the format that are not read here, named without quotes.
_KINDS = ("BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64")
_KINDS += ("F8_E4M3", "F8_E5M2")


def _counts(found: Any) -> TypeGuard[list[int]]:
    return isinstance(found, list) and all(type(n) is int and n >= 0 for n in found)


def _require_dense(
    path: Path, places: Mapping[str, Place], begin: int, size: int
) -> None:
    """Every byte belongs to exactly one tensor, as the format demands."""
    at = begin
    order = sorted(places.items(), key=lambda item: (item[1].first, item[1].end))
    for name, place in order:
        if place.first != at:
            how = "overlaps the one before it" if place.first < at else "follows a gap"
            raise UserError(f"{path} is damaged: {listed([name])} {how}")
        at = place.end
    if at > size:
        raise UserError(
            f"{path} is cut short: it has {size:,} bytes and {listed([order[-1][0]])} "
            f"ends at {at:,}; fetch it again"
        )
    if at < size:
        raise UserError(
            f"{path} is damaged: {size - at:,} bytes at its end belong to no tensor"
        )


def read_index(folder: Path) -> dict[str, dict[str, Place]]:
    """Where every tensor is, by the file of the folder that has it.

    Raises:
        UserError: a file is absent or damaged; a tensor is not where the index says, or
            is where it does not say; the bytes are not as many as it says.
    """
    said = f"{folder / INDEX} is no index of weights"
    index = parsed(_bytes(folder / INDEX), said, once=True)
    names = index.get("weight_map")
    if not isinstance(names, dict) or not all(map(is_file_name, names.values())):
        raise UserError(f"{said}: its weight_map must give a file name for each tensor")
    files = sorted({*names.values()})
    if absent := [name for name in files if not (folder / name).is_file()]:
        raise UserError(
            f"{folder} lacks {listed(absent)} of its {INDEX}; fetch the rest of the "
            "checkpoint"
        )
    if (folder / SINGLE).exists() and SINGLE not in files:
        raise UserError(
            f"{folder} has {SINGLE} and {INDEX}, which does not name it: two "
            "checkpoints; take one of them away"
        )
    found = {name: read_header(folder / name) for name in files}
    _require_indexed(folder, names, found)
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def is_file_name(name: Any) -> bool:
    """Whether the name of a file in a folder, rather than a way to elsewhere."""
    plain = isinstance(name, str) and name.isprintable()
    return plain and name not in ("", ".", "..") and Path(name).name == name


def _require_indexed(
    folder: Path, names: Mapping[str, str], found: Mapping[str, Mapping[str, Place]]
) -> None:
    odd = [
        f"{file} has no {listed(lost)}, which {INDEX} says it has"
        for file in found
        if (lost := [n for n, at in names.items() if at == file and n not in found[at]])
    ]
    odd += [
        f"{file} has {listed(more)}, which {INDEX} does not say"
        for file, held in found.items()
        if (more := [name for name in held if names.get(name) != file])
    ]
    if odd:
        raise UserError(f"{folder}: {'; '.join(odd)}")
