"""`judge`: whether a response answers a question whose gold answer is a text.

Our conventions, where checkers differ:

- the answer of mathematics is in the last closed box behind the reasoning; a response
  without a box has no answer, whatever stands in bold or at its end;
- lists compare without order, whether or not the question asks for all;
- 28% is answered by 28 and by 0.28; 6.28 is not 2 pi, 33.3 is not 100/3, but
  0.0833333333 is 1/12 (within 1e-6 relatively, for numbers no decimal writes exactly);
- an interval is answered by the inequality that means it.

All other rules stand where they act: `latex` (spelling), `units`, `forms`, `compare`,
`algebra`, `choices`. Texts that these leave open go to math-verify, in another process.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from routejax.envs.answers import choices, compare, symbolic
from routejax.envs.answers.algebra import Meaningless, TooLarge
from routejax.envs.answers.extract import answer_part, last_box
from routejax.envs.answers.forms import read
from routejax.envs.answers.latex import DEEPEST, LONGEST, clean, depth
from routejax.envs.judging import ask
from routejax.envs.problem import Verdict
from routejax.errors import UserError

ASKED_S = 5.0  # seconds that math-verify has for one pair; most take a tenth
_INTEGER = re.compile(r"-?[0-9]+")
# What may go to math-verify: no words, no dots, no huge powers, nothing deep or long.
_OPEN_LENGTH = 300
_OPEN_DEPTH = 6
_OPEN_DIGITS = re.compile(r"[0-9]{40}|![\s{}()]*!|\^[\s{(]*-?[0-9]{5}")
_OPEN_WORDS = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{4,}|_\s*_|\.\.\.|dots")


class Open(NamedTuple):
    """Two cleaned texts that symbolic algebra has to compare; the answer as written."""

    gold: str
    text: str
    answer: str


def judge(
    gold: str, response: str, *, kind: str, tolerance: str | None = None
) -> Verdict:
    """The verdict on one response; total over all strings, in bounded time and memory.

    Args:
        gold: the right answer: LaTeX or plain text for "math", a letter for "choice".
        response: the whole assistant turn.
        kind: "math" or "choice".
        tolerance: how far a number may be from the gold, absolute, as a decimal; None
            is exact.

    Status is "no_answer" without a box or letter, "unparsed" for an answer that is too
    long, too deep or not readable (and then wrong), "timeout" and "error" where
    math-verify did not end or failed; else "answered". A `UserError` for a gold that is
    blank or no letter, for another kind, for a tolerance that is no number, and where
    math-verify is needed and missing.
    """
    found = decide(gold, response, kind=kind, tolerance=tolerance)
    return found if isinstance(found, Verdict) else _asked(found)


def decide(
    gold: str, response: str, *, kind: str, tolerance: str | None = None
) -> Verdict | Open:
    """The verdict of our own rules alone, or what they leave open; never slow."""
    if kind not in _KINDS:
        raise UserError(f"kind must be one of {', '.join(_KINDS)}; got {kind!r}")
    if not isinstance(gold, str) or not _clean(gold):
        raise UserError(f"the gold answer must be a text that is not blank: {gold!r}")
    if tolerance is not None and not _is_number(tolerance):
        raise UserError(f"the tolerance must be a decimal such as 0.01: {tolerance!r}")
    return _KINDS[kind](gold, response, tolerance)


@lru_cache(maxsize=64)
def _is_number(tolerance: str) -> bool:
    try:
        return Fraction(tolerance) >= 0
    except (TypeError, ValueError, ArithmeticError):
        return False


def _math(gold: str, response: str, tolerance: str | None) -> Verdict | Open:
    box = last_box(answer_part(response))
    if box is None or not box.strip():
        return Verdict(False, 0.0, None, "no_answer")
    if len(box) > LONGEST:
        return Verdict(False, 0.0, box[:LONGEST], "unparsed")
    box = box.strip()
    if tolerance is None and _INTEGER.fullmatch(box) and _INTEGER.fullmatch(gold):
        return _verdict(int(box) == int(gold), box)
    if depth(box) > DEEPEST:
        return Verdict(False, 0.0, box, "unparsed")
    text, right = clean(box), _clean(gold)
    if not text or text == right:
        return _verdict(True if text else None, box)
    allowed = None if tolerance is None else Fraction(tolerance)
    return _compared(right, text, box, allowed)


def _compared(
    gold: str, text: str, box: str, tolerance: Fraction | None
) -> Verdict | Open:
    """The verdict by forms; open if either has none or they cannot be told apart."""
    try:
        answers = read(text)
        golds = read(gold)
        found = {compare.equal(a, b, tolerance) for a in golds for b in answers}
    except (TooLarge, Meaningless):
        return Verdict(False, 0.0, box, "unparsed")
    if True in found:
        return _verdict(True, box)
    if found and None not in found:
        return _verdict(False, box)
    if not (_may_ask(text) and _may_ask(gold)):
        return _verdict(False if answers else None, box)
    return Open(gold, text, box)


def _may_ask(text: str) -> bool:
    """Whether math-verify should see the text: short, flat, and a formula."""
    return (
        len(text) <= _OPEN_LENGTH
        and depth(text) <= _OPEN_DEPTH
        and text.isascii()
        and text.isprintable()
        and not _OPEN_DIGITS.search(text)
        and not _OPEN_WORDS.search(text)
    )


def _asked(found: Open) -> Verdict:
    """The verdict by math-verify, in a worker, or at once if this is one."""
    symbolic.require()
    outcome = ask(
        f"{symbolic.__name__}:equal",
        (found.gold, found.text),
        timeout_s=ASKED_S,
        modules=(f"{symbolic.__name__}:warm",),
    )
    if outcome.status != "ok":
        return Verdict(False, 0.0, found.answer, outcome.status)
    return _verdict(outcome.value, found.answer)


def _choice(gold: str, response: str, tolerance: str | None) -> Verdict:
    right = choices.one_letter(gold)
    if right is None:
        raise UserError(f"the gold of a choice must be a letter A to J; got {gold!r}")
    found = choices.letter(answer_part(response))
    if found is None:
        return Verdict(False, 0.0, None, "no_answer")
    return _verdict(found == right, found)


def _verdict(right: bool | None, answer: str) -> Verdict:
    status = "unparsed" if right is None else "answered"
    return Verdict(bool(right), float(bool(right)), answer, status)


_clean = lru_cache(maxsize=4096)(clean)

_KINDS: dict[str, Callable[[str, str, str | None], Verdict | Open]] = {
    "math": _math,
    "choice": _choice,
}
