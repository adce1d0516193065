"""A student into a folder that transformers and vLLM load, whole or not at all.

Beside the weights: `config.json`, and the files of the tokenizer and of generation as
they are given or as another checkpoint has them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from routejax.errors import UserError
from routejax.models.decoder import Params
from routejax.models.student import Student
from routejax.models.weights.headers import (
    INDEX,
    SINGLE,
    is_file_name,
    listed,
    parsed,
    read_object,
)
from routejax.models.weights.keys import Key, flat, keys, shapes
from routejax.models.weights.published import read_config, write_config
from routejax.models.weights.tensors import Entry, index_of, shards, write_file

SHARD_BYTES = 5_000_000_000
# What another checkpoint's folder has besides its weights, and an export keeps.
COPIED = (
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
)
_DTYPES = ("float32", "bfloat16", "float16")
_ADVICE = {
    errno.ENOSPC: "free some space or choose another folder",
    errno.EDQUOT: "free some space or choose another folder",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
}


def save(
    folder: str | Path,
    student: Student,
    params: Params,
    *,
    dtype: str | None = None,
    files: Mapping[str, bytes] | None = None,
    like: str | Path | None = None,
    shard_bytes: int = SHARD_BYTES,
) -> None:
    """Writes `folder`, which must not exist or be empty.

    Args:
        dtype: of the weights on disk; None is that of `like`, else of the parameters.
        files: more files by name, such as `Tokenizer.files`; they replace those of
            `like`.
        like: the checkpoint the student came from: its `config.json` is kept but for
            the dtype, and its tokenizer and generation files are copied.
        shard_bytes: weights larger than this are written as several files and an index.

    Raises:
        UserError: the folder is not empty or is no folder, `like` is no checkpoint or
            of another architecture, parameters of another shape or not finite in the
            dtype, or the disk does not take them.
    """
    target = _target(folder)
    _require_shapes(student, params)
    original = None if like is None else Path(like)
    raw = None if original is None else read_object(original / "config.json")
    kind = np.dtype(_dtype(dtype, params, raw))
    config = _config(student, kind.name, raw, like)
    writes = jax.process_index() == 0
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        if writes:
            _remove(temporary)  # a save that was killed may have left it
            temporary.mkdir(parents=True)
            _write_texts(temporary, config, original, files or {})
        _write_weights(temporary, student, params, kind, shard_bytes, writes)
        if writes:
            _finish(temporary, target)
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "choose another folder")
        raise UserError(
            f"cannot write {folder}: {error.strerror or error}; {advice}"
        ) from error
    finally:
        if writes:
            _remove(temporary)


def _target(folder: str | Path) -> Path:
    """The folder itself, behind any links; it is there in the end, not before."""
    try:
        found = Path(folder).resolve()
        full = found.exists() and (not found.is_dir() or any(found.iterdir()))
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a NUL
        raise UserError(f"cannot write {str(folder)!r}: {error}") from error
    if full and found.is_dir():
        raise UserError(f"{folder} is not empty; name a folder for the export alone")
    if full or found == Path.cwd() or not found.name:
        raise UserError(
            f"weights are saved as a folder of their own, got {str(folder)!r}; name "
            "one that does not exist yet"
        )
    return found


def _remove(temporary: Path) -> None:
    """What cannot be removed is in the way of what is written next, which says so."""
    with contextlib.suppress(OSError):
        if temporary.is_dir() and not temporary.is_symlink():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def _require_shapes(student: Student, params: Params) -> None:
    wanted = shapes(student)
    if jax.tree.structure(wanted) != jax.tree.structure(params):
        raise UserError("the parameters are not those of the student: other names")
    pairs = zip(jax.tree.leaves(wanted), jax.tree.leaves(params), strict=True)
    wrong = [f"{b.shape} for {a.shape}" for a, b in pairs if a.shape != b.shape]
    if wrong:
        raise UserError(f"the parameters are not those of the student: {wrong}")


def _dtype(dtype: str | None, params: Params, like: Mapping[str, Any] | None) -> str:
    if dtype is None and like is not None:
        dtype = like.get("dtype") or like.get("torch_dtype")
    if dtype is None:
        dtype = str(jax.tree.leaves(params)[0].dtype)
    if dtype not in _DTYPES:
        raise UserError(f"dtype must be one of {', '.join(_DTYPES)}, got {dtype!r}")
    return dtype


def _config(
    student: Student, dtype: str, raw: Mapping[str, Any] | None, like: Any
) -> dict[str, Any]:
    if raw is None:
        return write_config(student.family, student.config, dtype)
    found = read_config(raw, f"{like}/config.json")
    if found != (student.family, student.config):
        raise UserError(
            f"{like} holds {found}, which is not the student "
            f"{student.family}, {student.config}"
        )
    named = "dtype" if "dtype" in raw else "torch_dtype"
    return {**raw, named: dtype}


def _write_texts(
    folder: Path,
    config: Mapping[str, Any],
    like: Path | None,
    files: Mapping[str, bytes],
) -> None:
    kept = {n: like / n for n in COPIED if like is not None and (like / n).exists()}
    found = {name: path.read_bytes() for name, path in kept.items()} | {**files}
    found["config.json"] = (json.dumps(config, indent=2) + "\n").encode()
    if like is None and "generation_config.json" in found:
        config = dict(config) | _special(found["generation_config.json"])
        found["config.json"] = (json.dumps(config, indent=2) + "\n").encode()
    if odd := [name for name in found if not is_file_name(name)]:
        raise UserError(f"an export has files in one folder only, got {listed(odd)}")
    for name, data in found.items():
        (folder / name).write_bytes(data)


def _special(generation: bytes) -> dict[str, Any]:
    """Ids that begin and end texts, which a config says too."""
    said = parsed(generation, "generation_config.json is damaged")
    names = ("bos_token_id", "eos_token_id", "pad_token_id")
    return {name: said[name] for name in names if name in said}


def _write_weights(
    folder: Path,
    student: Student,
    params: Params,
    dtype: np.dtype,
    limit: int,
    writes: bool,
) -> None:
    parts = shards(_entries(student, params), dtype, limit)
    width = len(parts)
    names = (
        [SINGLE]
        if width == 1
        else [f"model-{i:05d}-of-{width:05d}.safetensors" for i in range(1, width + 1)]
    )
    files = dict(zip(names, parts, strict=True))
    for name, entries in files.items():
        if writes:
            write_file(folder / name, entries, dtype)
        else:
            for entry in entries:  # its values are gathered from every process
                entry.make()
    if writes and width > 1:
        (folder / INDEX).write_text(index_of(files, dtype))


def _entries(student: Student, params: Params) -> Iterator[Entry]:
    """Published tensors in the order of our leaves, so that one leaf is on the host."""
    held: dict[int, np.ndarray] = {}

    def values(number: int, leaf: Any, key: Key, layer: int) -> np.ndarray:
        if number not in held:
            held.clear()
            held[number] = _host(leaf)
        own = held[number][layer] if key.stacked else held[number]
        return own.T if key.turned else own

    pairs = zip(jax.tree.leaves(params), flat(keys(student)), strict=True)
    for number, (leaf, key) in enumerate(pairs):
        for layer, name in enumerate(key.names):
            yield Entry(
                name,
                key.shape,
                lambda n=number, at=leaf, k=key, i=layer: values(n, at, k, i),
            )


def _host(leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
        return np.asarray(multihost_utils.process_allgather(leaf, tiled=True))
    return np.asarray(leaf)


def _finish(temporary: Path, folder: Path) -> None:
    """Everything on disk, then the name: what has the name is whole."""
    for path in temporary.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    if folder.exists():
        folder.rmdir()  # empty, as was required
    temporary.replace(folder)
