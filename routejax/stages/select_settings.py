"""What a selection is asked for: the config's blocks, read and checked before any work.

Left out: what only the pool can tell, such as the names and sizes of its groups; the
plan says that.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from routejax.errors import UserError
from routejax.selection import ENGINES, SELECTORS
from routejax.selection.candidates import PRECISIONS

GROUP_BY = ("group", "all")
LARGEST_SEED = 2**32 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """The block `selection` of a config; see `configs/corpora.py` for every field."""

    methods: tuple[str, ...]
    n: int
    K: int | None
    quotas: Mapping[str, int]
    group_by: str
    per_prompt: int | None
    r: int | None
    projection_seed: int
    unscaled: int
    variance_floor: float
    precision: str
    seed: int
    n_init: int
    max_iter: int
    batch: int
    engine: str
    global_clusters: int
    embeddings: str
    gradients: str
    tokenizer: str

    def projecting(self) -> dict[str, Any]:
        """What decides phi, beside the features."""
        names = ("r", "projection_seed", "unscaled", "variance_floor", "precision")
        return {name: getattr(self, name) for name in names}

    def choosing(self) -> dict[str, Any]:
        """What `selection.select` is told, beside the method and the candidates."""
        names = ("n", "K", "seed", "quotas", "per_prompt", "precision")
        names += ("n_init", "max_iter", "batch", "engine", "global_clusters")
        return {name: getattr(self, name) for name in names}

    def space_file(self, method: str) -> tuple[str, Path] | None:
        """The space a selector works in and the file it comes from; None for phi."""
        space = SELECTORS[method].space
        return None if space is None else (space, Path(getattr(self, _FILES[space])))


# Of each space that selectors may need, the field with the file that it comes from.
_FILES = {"embedding": "embeddings", "gradient": "gradients", "lexical": "tokenizer"}


def read_settings(block: Mapping[str, Any]) -> Settings:
    """The settings of a config's block `selection`.

    Raises:
        UserError: every field that is not as it must be.
    """
    read, wrong = {}, []
    for name, value in block.items():
        try:
            read[name] = _READ[name](value)
        except ValueError as error:
            wrong.append(f"selection.{name} must be {error}, got {value!r}")
    if wrong := wrong or list(_misfits(read)):
        raise UserError("; ".join(wrong))
    return Settings(**read)


def _misfits(read: Mapping[str, Any]) -> Iterator[str]:
    """Fields that are right each by itself and cannot go together."""
    if read["precision"] == "float32" and read["engine"] != "sklearn":
        yield (
            f"selection.engine {read['engine']!r} works on integers; for "
            'selection.precision "float32" it must be sklearn'
        )
    for method in read["methods"]:
        if (space := SELECTORS[method].space) is None:
            continue
        field = _FILES[space]
        if not read[field]:
            yield f"the selector {method} needs selection.{field}, the file to use"
        elif not Path(read[field]).exists():
            yield f"selection.{field}: {read[field]} does not exist; check the path"


def read_quotas(text: str) -> dict[str, int]:
    """Rows by group, of "math=33334,code=33333" or of a JSON object.

    Raises:
        ValueError: it is neither, with what is wanted; a name stands there twice.
    """
    wanted = ValueError('NAME=ROWS,NAME=ROWS or {"NAME": ROWS}, each name once')
    try:
        if text.lstrip().startswith("{"):
            pairs = json.loads(text, object_pairs_hook=list)
        else:
            cut = (part.rpartition("=") for part in text.split(",") if part.strip())
            pairs = [(name.strip(), int(rows)) for name, _, rows in cut]
    except ValueError as error:
        raise wanted from error
    whole = all(isinstance(n, int) and not isinstance(n, bool) for _, n in pairs)
    if not whole or any(not name for name, _ in pairs) or _repeats(n for n, _ in pairs):
        raise wanted
    return dict(pairs)


def _methods(text: Any) -> tuple[str, ...]:
    names = [name.strip() for name in str(text).split(",")]
    if any(name not in SELECTORS for name in names) or _repeats(names):
        raise ValueError(f"names among {', '.join(SELECTORS)}, each once")
    return tuple(names)


def _repeats(names: Iterable[str]) -> bool:
    listed = list(names)
    return len(set(listed)) < len(listed)


def _whole(least: int, most: int | None = None) -> Callable[[Any], int]:
    bounds = f"of at least {least}" if most is None else f"in {least}..{most}"

    def read(value: Any) -> int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            raise ValueError(f"a whole number {bounds}")
        return value

    return read


def _or_none(read: Callable[[Any], int]) -> Callable[[Any], int | None]:
    return lambda value: None if value is None else read(value)


def _one_of(names: Iterable[str]) -> Callable[[Any], str]:
    known = tuple(names)

    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"one of {', '.join(known)}")
        return value

    return read


def _not_negative(value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < float("inf"):
        raise ValueError("a finite number of at least 0")
    return float(value)


_SEED = _whole(0, LARGEST_SEED)
_READ: dict[str, Callable[[Any], Any]] = {
    "methods": _methods,
    "n": _whole(1),
    "K": _or_none(_whole(1)),
    "quotas": lambda text: read_quotas(str(text)),
    "group_by": _one_of(GROUP_BY),
    "per_prompt": _or_none(_whole(1)),
    "r": _or_none(_whole(1)),
    "projection_seed": _SEED,
    "unscaled": _whole(0),
    "variance_floor": _not_negative,
    "precision": _one_of(PRECISIONS),
    "seed": _SEED,
    "n_init": _whole(1),
    "max_iter": _whole(1),
    "batch": _whole(1),
    "engine": _one_of(ENGINES),
    "global_clusters": _whole(1),
    "embeddings": str,
    "gradients": str,
    "tokenizer": str,
}
