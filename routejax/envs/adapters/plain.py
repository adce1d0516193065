"""Values of other packages as JSON and back, the same types again.

JSON has no tuples, sets or keys that are numbers, and verifiers compare with them; each
becomes an object with one key that names it. Subclasses of text and numbers, such as
numpy's, become plain. Anything else is refused, so that no row is stored that cannot be
judged.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

_SEQUENCES: dict[str, type] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_NAMES = {kind: f"__{name}__" for name, kind in _SEQUENCES.items()}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_PAIRS = "__dict__"


def to_json(value: Any) -> Any:
    """The value in JSON types; sets are sorted by what they print.

    Raises:
        TypeError: it holds something that has no form in JSON here.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {str(key): to_json(item) for key, item in value.items()}
        return {_PAIRS: [[to_json(k), to_json(v)] for k, v in value.items()]}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    for kind, name in _NAMES.items():
        if isinstance(value, kind):
            items = value if kind is tuple else sorted(value, key=repr)
            return {name: [to_json(item) for item in items]}
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, np.generic | np.ndarray):
        return to_json(value.tolist())
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def from_json(value: Any) -> Any:
    """The value that `to_json` was given."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(name, items)] = value.items()
        if name in _KINDS:
            return _KINDS[name](from_json(item) for item in items)
        if name == _PAIRS:
            return {from_json(k): from_json(v) for k, v in items}
    return {key: from_json(item) for key, item in value.items()}
