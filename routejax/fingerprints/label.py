"""Steps to typed notes: the first rule of an ordered table that fires gives the type.

A family brings its table (`rules_rlve`); this file knows how a table is read. Beside
the type, a note carries the marks found in its words: named groups of cues that the
features of a family ask for and that decide no type.

Left out: cutting the text (`segment`) and arranging the notes (`tree`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from routejax.fingerprints.lexicon import Cue, Lexicon, hits, lexicon, words

_NUMBER = r"-?\d++(?:\.\d++)?+"
_SIGN = r"(?:-?\d++|[A-Z]|[^\s\w])"
_ITEM = rf"(?:{_NUMBER}|[A-Za-z]\b|\([^(),]{{1,12}},[^(),]{{1,12}}\))"

# What a rule or a mark may ask of the text of a step, beside cues. All are linear.
CONTENT: dict[str, Callable[[str], re.Match[str] | None]] = {
    # An equals sign, an operator between numbers, an operator of LaTeX.
    "arithmetic": re.compile(
        r"=|[\d)]\s*+(?:[+*/^×÷·−-]|\\times|\\cdot|\\div)\s*+[\d(]|\\d?frac|\\sqrt",
        re.A,
    ).search,
    # An order relation between two numbers.
    "comparison": re.compile(
        r"\d\s*+(?:[<>≤≥]|\\leq?\b|\\geq?\b)\s*+-?\d", re.A
    ).search,
    # Four items or more between commas: numbers, single letters, pairs.
    "listing": re.compile(
        rf"(?<![\w.]){_ITEM}(?:, ?+(?:and )?{_ITEM}){{3}}", re.A
    ).search,
    # Three numbers or single signs or more between spaces: a row, a state.
    "row": re.compile(rf"(?<!\S)(?:{_SIGN} ++){{2}}{_SIGN}(?![\w'])", re.A).search,
    "arrow": re.compile(r"->|→|=>|⇒|\\to\b|\\rightarrow", re.A).search,
    "code": re.compile(r"```").search,
    # The number of a list item or of a step, before everything else.
    "numbered": re.compile(
        r"[\s*#>(-]*+(?:(?:step|case|part) )?\d{1,2}[.):](?=[\s*_]|\Z)",
        re.I | re.A,
    ).match,
    "question": re.compile(r"\?[\"')\]*_ ]*+\Z").search,
}


class Rule(NamedTuple):
    """One row of a table: `type` if a cue or the content test fires, and the reason.

    `cues` count anywhere in the step, `opening` only where nothing but opening words
    stands before them; `content` names a test of `CONTENT`. The last rule of a table
    has none of the three: it is the fallback.
    """

    type: str
    name: str
    why: str
    cues: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    content: str | None = None


class Mark(NamedTuple):
    """A named group of cues that decides no type; fields as in `Rule`."""

    name: str
    cues: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    content: str | None = None


class Roles(NamedTuple):
    """What the types of a vocabulary do to the cursor of the tree (`tree`)."""

    exploration: frozenset[str]
    verification: frozenset[str]
    backtracking: frozenset[str]
    closing: frozenset[str]


class Grammar(NamedTuple):
    """How a family reads text: its types, its rules in order, its roles.

    Compiled from the rules and marks: `cues`, tagged with the rank of a rule or the
    name of a mark; `content`, the rules with a test by rank; `tested`, the marks with
    a test.
    """

    vocabulary: tuple[str, ...]
    rules: tuple[Rule, ...]
    roles: Roles
    cues: Lexicon
    content: tuple[tuple[int, Callable[[str], object]], ...]
    tested: tuple[tuple[str, Callable[[str], object]], ...]


class Note(NamedTuple):
    """One step that has been read: its text, words, type, the rule that gave it, and
    the names of the marks in it."""

    text: str
    words: tuple[str, ...]
    type: str
    rule: Rule
    marks: frozenset[str]


def grammar(
    vocabulary: Sequence[str],
    rules: Sequence[Rule],
    roles: Roles,
    openers: Collection[str],
    marks: Sequence[Mark] = (),
) -> Grammar:
    """A family's grammar with its tables compiled, once."""
    tagged = [*enumerate(rules), *((mark.name, mark) for mark in marks)]
    cues = [
        Cue(phrase, tag, opens)
        for tag, row in tagged
        for opens, group in ((False, row.cues), (True, row.opening))
        for phrase in group
    ]
    return Grammar(
        tuple(vocabulary),
        tuple(rules),
        roles,
        lexicon(cues, openers),
        tuple((i, CONTENT[r.content]) for i, r in enumerate(rules) if r.content),
        tuple((m.name, CONTENT[m.content]) for m in marks if m.content),
    )


def read(steps: Sequence[str], by: Grammar) -> list[Note]:
    """The notes of normalised `steps` (`segment.normalise`), one each, in order."""
    return [_note(step, by) for step in steps]


def _note(step: str, by: Grammar) -> Note:
    said = words(step)
    rank = len(by.rules) - 1
    marks = [name for name, test in by.tested if test(step)]
    for tag in hits(said, by.cues):
        if isinstance(tag, str):
            marks.append(tag)
        elif tag < rank:
            rank = tag
    for earlier, test in by.content:
        if earlier >= rank:
            break
        if test(step):
            rank = earlier
            break
    rule = by.rules[rank]
    return Note(step, tuple(said), rule.type, rule, frozenset(marks))


def cue(note: Note, by: Grammar) -> str:
    """The first phrase in the step that makes its rule fire, "" where content does."""
    for opens, group in ((False, note.rule.cues), (True, note.rule.opening)):
        for phrase in group:
            table = lexicon([Cue(phrase, 0, opens)], by.cues.openers)
            if hits(note.words, table):
                return phrase
    return ""
