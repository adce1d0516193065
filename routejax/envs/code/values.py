"""Values of Python as JSON and back, for two processes of which one is not trusted.

What comes back is built of plain types only: a program cannot send an object whose
equality it wrote itself. Subclasses become their plain type, anything else an `Other`,
which equals nothing.
"""

from __future__ import annotations

import math
from typing import Any

_EXACT = 2**53  # integers beyond travel as hexadecimal text, which has no limit
_SEQUENCES = {"tuple": tuple, "set": set, "frozenset": frozenset}


class Other:
    """A value of a type that does not travel."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


def encode(value: Any) -> Any:
    """The value in JSON types; `RecursionError` where it is nested too deep."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        number = int(value)
        return number if -_EXACT < number < _EXACT else {"int": hex(number)}
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, list):
        return [encode(item) for item in value]
    return _tagged(value)


def _tagged(value: Any) -> dict:
    if isinstance(value, dict):
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    for name, kind in _SEQUENCES.items():
        if isinstance(value, kind):
            return {name: [encode(item) for item in value]}
    if isinstance(value, bytes | bytearray):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, complex):
        return {"complex": [repr(value.real), repr(value.imag)]}
    return {"other": type(value).__name__[:100]}


def decode(data: Any) -> Any:
    """The value of encoded data; `ValueError` where it is none."""
    try:
        return _decoded(data)
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("what was sent is no value") from error


def _decoded(data: Any) -> Any:
    if isinstance(data, list):
        return [_decoded(item) for item in data]
    if not isinstance(data, dict):
        return data
    ((tag, body),) = data.items()
    if tag in _SEQUENCES:
        return _SEQUENCES[tag](_decoded(item) for item in body)
    return _TAGS[tag](body)


_TAGS = {
    "int": lambda body: int(body, 16),
    "float": float,
    "dict": lambda body: {_decoded(k): _decoded(v) for k, v in body},
    "bytes": bytes.fromhex,
    "complex": lambda body: complex(float(body[0]), float(body[1])),
    "other": Other,
}
