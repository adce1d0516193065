"""Values of input rows: where they lie, what they become, and what is left of a row.

A converter gives None for a value that it does not take, which then stays in `meta`.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

Path = tuple[str, ...]


def plain(value: Any) -> Any:
    """The value as JSON can hold it, without the nulls of objects.

    A file with typed columns has a null where one of JSON has nothing.
    """
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    known = isinstance(value, str | int | float) or value is None
    return value if known else str(value)


def as_json(value: Any) -> str | None:
    """An object as JSON with its keys in order; a text is taken to be JSON already."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    return json.dumps(plain(value), ensure_ascii=False, sort_keys=True)


def itself(value: Any) -> Any:
    return value


def look(row: Mapping, spec: str, convert: Callable[[Any], Any]) -> tuple[Any, Path]:
    """The first value that `spec` names and `convert` takes, and its path.

    (None, ()) where there is none; the path of a literal is () too.
    """
    for name, dotted in _alternatives(spec):
        if name.startswith("="):
            return name[1:], ()
        path = (name,) if name in row else dotted
        value = _inside(row, path) if path[0] in row else None
        converted = None if value is None else convert(value)
        if converted is not None:
            return converted, path
    return None, ()


def _inside(row: Mapping, path: Path) -> Any:
    value: Any = row
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


@cache
def _alternatives(spec: str) -> tuple[tuple[str, Path], ...]:
    names = spec.split("|") if spec else ()
    return tuple((name, tuple(name.split("."))) for name in names)


def without(record: Mapping, paths: Sequence[Path]) -> dict[str, Any]:
    """The record without the values at these paths."""
    kept = {}
    for key, value in record.items():
        inner = [path[1:] for path in paths if path[0] == key]
        if () not in inner:
            nested = inner and isinstance(value, dict)
            kept[key] = without(value, inner) if nested else value
    return kept


def identity(value: Any) -> str | None:
    """An id: one line of text that is not blank, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value or "\n" in value or "\r" in value:
        return None
    return value


def label(value: Any) -> str | None:
    number = isinstance(value, int) and not isinstance(value, bool)
    return value if isinstance(value, str) else str(value) if number else None


def verified(value: Any) -> bool | None:
    """A verdict; a score counts as accepted only when it is full."""
    return bool(value == 1) if isinstance(value, bool | int | float) else None


def whole(bits: int) -> Callable[[Any], int | None]:
    """A whole number of so many bits beside its sign, else None."""

    def convert(value: Any) -> int | None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value != int(value):
            return None
        return int(value) if -(2**bits) <= value < 2**bits else None

    return convert


def steps(value: Any) -> list[str] | None:
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value if texts else None
