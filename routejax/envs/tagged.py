"""The one place where an environment for pretrained students looks for an answer.

The answer is the last `<answer>…</answer>` behind the reasoning: behind its closing
marker, or anywhere in a response without reasoning markers. A reasoning span that is
never closed leaves no answer, so that an answer weighed on the way is never paid.
"""

from __future__ import annotations

from routejax.envs.problem import Verdict
from routejax.spans import find

OPENS, CLOSES = "<answer>", "</answer>"
LONGEST_ANSWER = 8000  # characters
LONGEST_RESPONSE = 1_000_000  # characters; the end is read

# What a prompt says about it; the solvers' responses have the same form.
INSTRUCTION = f"Give the final answer once, between {OPENS} and {CLOSES}."
FORM = f"{OPENS} {{}} {CLOSES}"


def tagged(response: str) -> str | None:
    """The text between the tags, stripped; None where there is no answer.

    Of a response beyond `LONGEST_RESPONSE` only the end is read.
    """
    response = response[-LONGEST_RESPONSE:]
    span = find(response)
    text = response if span.state == "none" else span.answer
    head, closed, _ = text.rpartition(CLOSES)
    _, opened, answer = head.rpartition(OPENS)
    return answer.strip() if closed and opened else None


def verdict(answer: str | None, right: bool | None) -> Verdict:
    """The verdict on an answer; `right` is None where it is not of the asked form."""
    if answer is None:
        return Verdict(False, 0.0, None, "no_answer")
    status = "unparsed" if right is None else "answered"
    return Verdict(bool(right), float(bool(right)), answer[:LONGEST_ANSWER], status)
