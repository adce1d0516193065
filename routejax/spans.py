"""Where the reasoning of a response lies: the text between a known pair of markers.

Left out: spans that a chat template opens (close marker only) and spans in a separate
field; readers of released corpora resolve those before a response gets here.
"""

from __future__ import annotations

from typing import NamedTuple

OPEN, CLOSE = "<think>", "</think>"


class Span(NamedTuple):
    """Reasoning and answer of one response.

    `reasoning` is None unless there is exactly one closed, non-blank span; `answer` is
    the text after the last closing marker, or the whole response if there is none.
    """

    reasoning: str | None
    answer: str


def split(response: str) -> Span:
    """The reasoning span of `response` and the text after it, both stripped."""
    head, marker, answer = response.rpartition(CLOSE)
    if not marker:
        return Span(None, response.strip())
    before, opened, inside = head.partition(OPEN)
    whole = opened and not before.strip() and OPEN not in inside and CLOSE not in inside
    reasoning = inside.strip() if whole else ""
    return Span(reasoning or None, answer.strip())
