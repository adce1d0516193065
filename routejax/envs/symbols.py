"""Rows of symbols as prompts and answers write them: words with spaces between."""

from __future__ import annotations

from collections.abc import Iterable

NONE = "none"  # stands for an empty row wherever one is written or answered


def spaced(items: Iterable[object]) -> str:
    """The items separated by single spaces; `none` if there are none."""
    return " ".join(map(str, items)) or NONE


def symbols(text: str, alphabet: Iterable[str]) -> list[str] | None:
    """The symbols of an answer (`none` is the empty row); None if one is foreign."""
    words = text.split()
    if words == [NONE]:
        return []
    known = set(alphabet)
    return words if words and all(word in known for word in words) else None
