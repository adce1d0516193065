"""Where the answer of a response stands: behind the reasoning, in the last box.

`answer_part` leaves out the reasoning, so that a value in an unfinished thought is not
paid for. `last_box` reads `\\boxed{...}` with its braces balanced, in one pass.
"""

from __future__ import annotations

import re

from routejax import spans

_OPENING = "open_only"  # a reasoning span that is never closed
_MARK = re.compile(r"\\(?:boxed|fbox)\s*\{|\\[{}\\]|[{}]")


def answer_part(response: str) -> str:
    """The text behind the reasoning span; all of it where there is none.

    Blank if the span is opened and never closed: such a response was cut off.
    """
    if "<" not in response and "[" not in response and "think" not in response:
        return response
    span = spans.find(response)
    if span.state == "none":
        return span.reasoning
    return "" if span.state == _OPENING else span.answer


def last_box(text: str) -> str | None:
    """What stands in the box that is closed last; None if no box is closed.

    `\\boxed` without a brace is text. A box inside it is opened, so that
    `\\boxed{\\boxed{5}}` is {5}.
    """
    found = box_range(text)
    return None if found is None else _MARK.sub(_opened, text[slice(*found)])


def box_range(text: str) -> tuple[int, int] | None:
    """Where the inside of that box begins and ends."""
    found, open_braces = None, []
    for mark in _MARK.finditer(text):
        token = mark[0]
        if token == "}" and open_braces:
            start = open_braces.pop()
            found = found if start < 0 else (start, mark.start())
        elif token == "{":
            open_braces.append(-1)
        elif token.endswith("{") and token != "\\{":
            open_braces.append(mark.end())
    return found


def _opened(mark: re.Match) -> str:
    """An inner box as plain braces."""
    return "{" if mark[0].endswith("{") and mark[0] != "\\{" else mark[0]
