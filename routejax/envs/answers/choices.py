"""The letter that a response to a multiple-choice question gives, and nothing else.

A response states its letter in its last box or after the words "answer is", "answer:";
what stands behind a box counts before it. A box without a letter (a formula on the way)
is no statement. Where nothing is stated, a last line that is only a letter counts. Two
letters in one statement are no answer. Letters are capitals A to J, dressed as B, (B),
**B**, \\text{B}, "B: text", "B. text", "option B"; alone in a box also b.
"""

from __future__ import annotations

import re

from routejax.envs.answers.extract import box_range

LETTERS = "ABCDEFGHIJ"
_TAIL = 4000  # characters of a stretch that are read, from its end
_DRESS = re.compile(r"\\(?:text[a-z]*|mathrm|mathbf|boldsymbol)\b|[\s*_$`~{}\\\"]+")
_OPTION = (
    r"(?:(?:the )?(?:[Cc]orrect )?(?:[Oo]ption|[Cc]hoice|[Ll]etter|[Aa]nswer)[: ]*)?"
)
# What may follow a letter: an end, a stop, or words; behind A and I only such words as
# show that it is no article or pronoun.
_FOLLOWS = (
    r"(?: ?$| ?[)\]:.,;!?/&–—]|(?<![AI]) [A-Za-z]"
    r"| (?:because|since|as|and|or|but|which)\b)"
)
_LETTER = rf"{_OPTION}[(\[]? ?([A-J])(?={_FOLLOWS})"
_SAID = re.compile(
    r"\b[Aa](?i:nswer) ?(?:(?:is|would be|must be|should be|choice)\b ?|[:=] ?)+"
    + _LETTER
)
_BOXED = re.compile(r"^ ?" + _LETTER)
_LINE = re.compile(r"^ ?[(\[]?([A-J])[)\].]* ?$")
_ALONE = re.compile(r"^ ?\(?([a-j])\)? ?$")
_ALSO = re.compile(r"^[)\] ]*(?:[,/&]|or\b|and\b)[ (]*(?:or |and )?[A-J](?![A-Za-z])")


def letter(response: str) -> str | None:
    """The letter stated last; None where there is none, or two in one statement."""
    found = box_range(response)
    start, end = found or (0, 0)
    for stated in (
        _last(_SAID, response[end:]),
        _boxed(response[start:end]) if found else None,
        _last(_SAID, response[:end]),
    ):
        if stated is not None:
            return stated or None
    lines = response[-_TAIL:].strip().splitlines()
    line = _LINE.match(_plain(lines[-1])) if lines else None
    return line[1] if line else None


def one_letter(text: str) -> str | None:
    """The letter that a gold answer gives, dressed or not."""
    return _boxed(text) or None


def _last(statement: re.Pattern, text: str) -> str | None:
    """The letter of the last statement; "" if it has two, None if there is none."""
    plain = _plain(text)
    found = None
    for found in statement.finditer(plain):  # noqa: B007
        pass
    if found is None:
        return None
    return "" if _ALSO.match(plain[found.end() :]) else found[1]


def _boxed(text: str) -> str | None:
    alone = _ALONE.match(_plain(text))
    return alone[1].upper() if alone else _last(_BOXED, text)


def _plain(text: str) -> str:
    """The end of a text without type-setting, its white space single."""
    return " ".join(_DRESS.sub(" ", text[-_TAIL:]).split())
