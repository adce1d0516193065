"""A reasoning text cut into steps: at blank lines, sentence ends, discourse markers.

The same rules serve every family. Left out: what a step means (`label`), and languages
without spaces, of which only the full stops 。！？ are known.

A cut lies (our choices; the paper, A.2, names only the three kinds of place)

* at a blank line;
* at a line break before a capital, a list marker, a heading or a code fence, and
  after a code fence; other line breaks are wrapped prose, rows or equations;
* after . ? ! and closing quotes or brackets, where white space and then a sentence
  opening follow: a capital, a digit, a quote, a bracket, mathematics, a non-ASCII
  character. After ! only a capital or a quote opens a sentence (factorials);
* before a discourse marker after a sentence end or an ellipsis in any case, and after
  a comma, semicolon, colon or dash if three words of the step stand before it.

No cut lies inside a code fence, displayed mathematics or a tool call; after an
abbreviation; after the number or letter of a list item; after an ellipsis without a
marker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

APOSTROPHES = "\u2018\u2019\u02bc\uff07"
QUOTES = "\u201c\u201d\uff02"
LINE_BREAKS = "\r\x85\u2028\u2029"
SPACES = (
    "\t\x0b\x0c\x1c\x1d\x1e\x1f\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_PLAIN = str.maketrans(
    dict.fromkeys(APOSTROPHES, "'")
    | dict.fromkeys(QUOTES, '"')
    | dict.fromkeys(LINE_BREAKS, "\n")
    | dict.fromkeys(SPACES, " ")
)

# Opening and closing mark of a stretch that is never cut.
PROTECTED = {
    "```": "```",
    "\\[": "\\]",
    "$$": "$$",
    "<tool_call>": "</tool_call>",
} | {
    f"\\begin{{{name}}}": f"\\end{{{name}}}"
    for name in (
        *("align", "align*", "aligned", "array", "bmatrix", "cases", "equation"),
        *("equation*", "gather", "gather*", "matrix", "pmatrix", "tabular"),
    )
}

# Words that end with a full stop in the middle of a sentence; e.g., i.e., U.S., a.m.
# are known by their form, a letter between two full stops.
ABBREVIATIONS = frozenset(
    ("approx", "cf", "dr", "mr", "mrs", "ms", "prof", "resp", "viz", "vs")
)
# The same, but only before a number, a bracket or mathematics.
BEFORE_NUMBER = frozenset(
    (
        *("al", "ch", "cor", "def", "eq", "eqs", "ex", "fig", "figs", "lem", "no"),
        *("nos", "p", "pp", "prop", "ref", "sec", "thm", "vol"),
    )
)

MARKERS = (
    *("wait", "but wait", "oh wait", "no wait", "hold on", "hmm", "oops"),
    *("alternatively", "actually", "or maybe", "or perhaps", "but maybe"),
    *("therefore", "thus", "hence", "which means", "which implies", "meaning that"),
    *("let me", "let's"),
)
# "so" is a marker unless it begins one of these.
NOT_SO = ("that", "far", "on", "many", "much", "long", "as", "called")

_MARKER = re.compile(
    rf"(?:{'|'.join(MARKERS)}|so(?! (?:{'|'.join(NOT_SO)})\b))\b", re.I | re.A
)
_CANDIDATE = re.compile(
    r"[.!?\u2026]++[\"')\]}*_`]*+[ \n]*+"  # a possible sentence end
    r"|\n[ \n]*+"  # a line break
    r"|[。！？]++ *+"
    rf"|[,;:—–-][ \n]++(?={_MARKER.pattern})",  # a marker inside a sentence
    re.I | re.A,
)
_LINE_OPENING = re.compile(
    r"[*_\"'(]*[A-Z]|[-*+•] |\d{1,2}[.)] |\(?[a-z0-9]\) |#+ |```|\*\*", re.A
)
_SENTENCE_OPENING = re.compile(r"[A-Z0-9\"'(\[{$\\`#]|[*_]+\S|[^\x00-\x7f]", re.A)
_EXCLAIMED_OPENING = re.compile(r"[*_\"'(]*[A-Z]", re.A)
_NUMBERED = re.compile(
    r"[\s*#>(•-]*(?:(?:step|case|part|phase|stage|example|option) )?"
    r"(?:\d{1,2}|[a-z])",
    re.I | re.A,
)
_THREE_WORDS = re.compile(r"\s*\S+\s+\S+\s+\S")
_LAST_WORD = re.compile(r"[A-Za-z]+\Z")
_BLANK_LINE = re.compile(r"\n *\n")
# Not after a backslash: "\\\\[2pt]" is a line break of LaTeX.
_PROTECTED = re.compile(
    "|".join(rf"{re.escape(m)}(?<!\\{re.escape(m)})" for m in PROTECTED)
)
_SUBSTANCE = re.compile(r"[A-Za-z0-9]|[^\x00-\x7f]", re.A)


def normalise(text: str) -> str:
    """`text` with plain apostrophes, quotes, spaces and line breaks; idempotent.

    Every kind of white space becomes a space or a newline, CRLF one newline.
    """
    return text.replace("\r\n", "\n").translate(_PLAIN)


def segment(reasoning: str) -> list[str]:
    """The steps of a reasoning text in order, normalised and stripped.

    A piece without a letter, a digit or a non-ASCII character ("---") is no step.
    Empty text has no steps. Time is linear in the length.
    """
    text = normalise(reasoning)
    steps, start = [], 0
    for cut in [*_cuts(text), len(text)]:
        piece = text[start:cut].strip()
        start = cut
        if _SUBSTANCE.search(piece):
            steps.append(piece)
    return steps


def _cuts(text: str) -> Iterator[int]:
    start = 0
    stretches = _protected(text)
    low, high = next(stretches, (len(text), len(text)))
    for match in _CANDIDATE.finditer(text):
        while match.start() >= high:
            low, high = next(stretches, (len(text), len(text) + 1))
        if match.start() < low and _is_cut(text, match, start):
            start = match.end()
            yield start


def _is_cut(text: str, match: re.Match[str], start: int) -> bool:
    """Whether the step from `start` ends at this candidate."""
    at, end = match.span()
    sign = text[at]
    if end == len(text) or sign in "。！？":
        return end < len(text)
    if sign in ",;:—–-":
        return bool(_THREE_WORDS.match(text, start, at))
    if text[end - 1] not in " \n":
        return False
    breaks = match.group().count("\n")
    if breaks >= 2 or (breaks and _breaks_line(text, at, end)):
        return True
    return sign != "\n" and _ends_sentence(text, match, start)


def _breaks_line(text: str, at: int, end: int) -> bool:
    return bool(_LINE_OPENING.match(text, end)) or text.endswith("```", 0, at)


def _ends_sentence(text: str, match: re.Match[str], start: int) -> bool:
    at, end = match.span()
    stop = match.group().rstrip(" \n")
    if stop[0] == "." and _dot_inside_sentence(text, start, at, end):
        return False
    if _MARKER.match(text, end):
        return True
    if stop.startswith(("..", "\u2026")):
        return False
    opening = _EXCLAIMED_OPENING if stop[0] == "!" else _SENTENCE_OPENING
    return bool(opening.match(text, end))


def _dot_inside_sentence(text: str, start: int, at: int, end: int) -> bool:
    """Whether the full stop at `at` belongs to an abbreviation or a list number."""
    if at - start <= 16 and _NUMBERED.fullmatch(text, start, at):
        return True
    word = _LAST_WORD.search(text, max(start, at - 8), at)
    if not word:
        return False
    before = text[max(start, word.start() - 2) : word.start()]
    if len(word.group()) == 1 and (before.endswith(".") or before in (", ", "; ")):
        return True
    name = word.group().lower()
    return name in ABBREVIATIONS or (
        name in BEFORE_NUMBER and bool(re.match(r"[0-9(\\$]", text[end]))
    )


def _protected(text: str) -> Iterator[tuple[int, int]]:
    """Ranges that are never cut, in order; one left open ends at a blank line."""
    missing: set[str] = set()  # searched for once, so that time stays linear
    at = 0
    while opening := _PROTECTED.search(text, at):
        closing = PROTECTED[opening.group()]
        end = -1 if closing in missing else text.find(closing, opening.end())
        if end >= 0:
            at = end + len(closing)
        else:
            missing.add(closing)
            blank = _BLANK_LINE.search(text, opening.end())
            at = blank.start() if blank else len(text)
        yield opening.start(), at
