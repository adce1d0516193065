"""Frames between a pool and its workers: a length, a number, and JSON in ASCII.

JSON and never pickle: what a worker sends may have been written by a program that is
not ours. Lone surrogates survive, as escapes.
"""

from __future__ import annotations

import json
import struct
from typing import Any

HEADER = struct.Struct("<II")  # bytes of the body, number of the call
LARGEST_REPLY = 8 * 2**20  # bytes; prompts of some packages have two millions
LARGEST_CALL = 64 * 2**20


def frame(number: int, value: Any) -> bytes:
    """The frame of a value; `TypeError` or `ValueError` where it is not of JSON."""
    body = json.dumps(value, allow_nan=False).encode("ascii")
    return HEADER.pack(len(body), number) + body


def value_of(body: bytes) -> Any:
    """The value of a frame's body; `ValueError` where it is not JSON."""
    try:
        return json.loads(body)
    except RecursionError as error:
        raise ValueError("JSON nested too deep") from error
