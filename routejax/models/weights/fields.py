"""Fields of a JSON object, each of the type it must have.

A checkpoint's `config.json` is written by many programs, and a number as text or a list
for a number is found here rather than where it is first computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from reprlib import repr as shown  # an unknown value, cut to a line
from typing import Any, NamedTuple

from routejax.models.config import is_number


class Kind(NamedTuple):
    """What a value must be: in words, and as a question."""

    words: str
    fits: Callable[[Any], bool]
    null: bool = False  # null is as if the field were not there


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


WHOLE = Kind("a whole number", lambda value: type(value) is int)
NUMBER = Kind("a finite number", is_number)
TRUTH = Kind("true or false", lambda value: isinstance(value, bool))
TEXT = Kind("a text", lambda value: isinstance(value, str))
TEXTS = Kind("a list of texts", _texts)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))


def or_null(kind: Kind) -> Kind:
    return kind._replace(words=f"{kind.words} or null", null=True)


def present(raw: Mapping[str, Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The fields of `kinds` that are there, without those that may be null and are."""
    found = {name: raw[name] for name in kinds if name in raw}
    return {n: v for n, v in found.items() if v is not None or not kinds[n].null}


def mistyped(
    raw: Mapping[str, Any], kinds: Mapping[str, Kind], of: str = ""
) -> Iterator[str]:
    """Every field that is not what it must be; `of` follows its name."""
    for name, value in present(raw, kinds).items():
        if not kinds[name].fits(value):
            yield f"{name}{of} must be {kinds[name].words}, got {shown(value)}"
