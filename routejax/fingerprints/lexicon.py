"""Cue phrases found in the words of a step, in one walk over the words.

A cue is a sequence of words. It fires where its words stand one after another in the
step, whatever spaces or punctuation lie between ("wait, no" = "wait no", "double-check"
= "double check"); letter case does not matter. A cue may be bound to the opening of the
step: then only opening words ("okay", "so", "now", …) may stand before it.

Left out: which cue matters first; the tables of the families say that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z]+)?", re.A)
_LIST_MARK = re.compile(
    r"[\s*#>(•+\"'_-]*(?:(?:\d{1,2}|[A-Za-z])(?:\.|\))(?=[\s*_]))?", re.A
)


class Cue(NamedTuple):
    """`phrase` fires `tag`; `opens` binds it to the opening of the step."""

    phrase: str
    tag: int | str
    opens: bool = False


class Lexicon(NamedTuple):
    """Cues as a tree of words: word → node, and at "" the (tag, opens) that end there.

    `openers` are the words that may stand before a cue bound to the opening.
    """

    tree: dict[str, Any]
    openers: frozenset[str]


def phrases(text: str) -> tuple[str, ...]:
    """The phrases of a comma-separated list, so that tables stay readable."""
    return tuple(phrase.strip() for phrase in text.split(",") if phrase.strip())


def lexicon(cues: Iterable[Cue], openers: Collection[str]) -> Lexicon:
    """The cues compiled into one tree."""
    tree: dict[str, Any] = {}
    for cue in cues:
        node = tree
        for word in words(cue.phrase):
            node = node.setdefault(word, {})
        node.setdefault("", []).append((cue.tag, cue.opens))
    return Lexicon(tree, frozenset(openers))


def words(step: str) -> list[str]:
    """The words of a step in lower case: ASCII letters and digits, "don't" is one.

    The mark of a list item ("1.", "b)", "-") is no word.
    """
    begin = _LIST_MARK.match(step)
    found: list[str] = _WORD.findall(step, begin.end() if begin else 0)
    return " ".join(found).lower().split()


def hits(said: Sequence[str], table: Lexicon) -> list[int | str]:
    """Tags of all cues in the words `said`, in order of where they begin."""
    found: list[int | str] = []
    opening = True
    count = len(said)
    for i, word in enumerate(said):
        node, after = table.tree.get(word), i + 1
        while node is not None:
            for tag, opens in node.get("", ()):
                if opening or not opens:
                    found.append(tag)
            node = node.get(said[after]) if after < count else None
            after += 1
        opening = opening and word in table.openers
    return found
