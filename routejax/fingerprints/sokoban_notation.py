"""The tokens of a Sokoban trace: words, cells in any notation, moves as signs.

A cell is (row, column) however it is written: "(2, 3)", "[2,3]", "row 2, column 3",
"column 3 of row 2", "r2c3", "(x=3, y=2)", "board[2][3]", "at 2,3". A bare pair is row
first, unless the trace says "(x, y)" or "(column, row)" before it says "(row, column)".
Whether counting starts at 0 or 1 does not matter, as features are of differences.

Left out: cells in words ("the third row"), negative and three-digit numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from routejax.fingerprints.lexicon import phrases
from routejax.fingerprints.sokoban_cues import OBJECTS

Cell = tuple[int, int]

WAYS = {
    word: way
    for way, words in {
        "U": "up, upward, upwards, north, northward",
        "D": "down, downward, downwards, south, southward",
        "L": "left, leftward, leftwards, west, westward",
        "R": "right, rightward, rightwards, east, eastward",
    }.items()
    for word in phrases(words)
}
# Kinds of tokens that give directions.
DIRECTIONS = frozenset(("way", "letters", "counted", "arrows"))
LINES = {
    "row": "row",
    "rows": "row",
    "column": "column",
    "columns": "column",
    "col": "column",
    "cols": "column",
}

_ROW, _COLUMN = r"(?:rows?|r|y)", r"(?:columns?|cols?\.?|c|x)"
_NUMBER = r"\d{1,2}(?!\d)"
_LABEL = rf"(?:(?:{_ROW}|{_COLUMN})[ ]?[=:#]?[ ]?)?"
_PAIR = rf"[(\[{{][ ]?{_LABEL}{_NUMBER}[ ]?[,;|][ ]?{_LABEL}{_NUMBER}[ ]?[)\]}}]"
_JOINT = r"(?:[ ]?[,;/&]|[ ](?:and|of|in)|[ ]?,[ ]in)?[ ]?(?:the[ ])?"
_LABELLED = "|".join(
    rf"(?<![A-Za-z]){a}[ ]?[=:#]?[ ]?{_NUMBER}{_JOINT}{b}[ ]?[=:#]?[ ]?{_NUMBER}"
    for a, b in ((_ROW, _COLUMN), (_COLUMN, _ROW))
)
_ARROW = "[↑↓←→⬆⬇⬅➡]\ufe0f?"
_TOKEN = re.compile(
    rf"(?P<cell>{_PAIR}|{_LABELLED}|\[{_NUMBER}\]\[{_NUMBER}\])"
    r"|(?P<bare>(?<![\d.,])(?<!\d, )\d{1,2},[ ]?\d{1,2}(?![\d%]|[ ]?,[ ]?\d|\.\d))"
    r"|(?P<counted>\b(?-i:[UDLR]\d{1,2}|\d{1,2}[UDLR])\b)"
    r"|(?P<times>(?:\bx|×)[ ]?\d{1,2}\b)"
    r"|(?P<word>[A-Za-z]+(?:'[A-Za-z]+)?)"
    r"|(?P<item>(?m:^)[ *>-]{0,8}\(?\d{1,3}[.)](?=\s))"
    r"|(?P<number>\d+)"
    rf"|(?P<arrows>{_ARROW}(?:[ ,]{{0,2}}{_ARROW})*)"
    r"|(?P<link>->|=>|[,|;])"
    r"|(?P<dash>[-–—/])"
    r"|(?P<colon>:)"
    r"|(?P<stop>[.!?]+(?=\s|\Z)|\n+)",
    re.I | re.A,
)
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[UDLR]+|[udlr]+|[udlr][UDLR]|[UDLRudlr]{3,}")
_COLUMN_FIRST = re.compile(rf"[(\[{{ ]*{_COLUMN}[ =:#\d]", re.I)
_ORDER = re.compile(
    r"[(\[<]\s?(x|y|r|c|row|col|column)\s?,\s?(?:x|y|r|c|row|col|column)\s?[)\]>]", re.I
)
_WAY = dict(zip("↑↓←→⬆⬇⬅➡", "UDLRUDLR", strict=True))

# Words after which "3,4" is a cell.
_BEFORE_BARE = frozenset(
    (
        *("at", "to", "from", "cell", "square", "position", "pos", "box", "goal"),
        *("player", "target", "wall", "crate", "via", "through", "coordinate"),
        *("coordinates", "location", "is", "on", "into", "and", "then"),
    )
)
# Words of nothing but the letters of directions, and the name of a notation.
_NO_MOVES = frozenset(("lull", "dull", "dud", "lurd", "rudd", "udlr", "ll", "rd", "dr"))


class Token(NamedTuple):
    """A piece of a clause.

    Words are in lower case; by kind they are a way ("up"), an object ("box"), a line
    ("row", "column") or a word. The other kinds: letters (of directions, as written),
    counted ("R2"), arrows (as letters), cell (row, column), number, times ("x2"), item
    (the number of a list item), link (comma, single arrow, bar), dash, colon.
    """

    kind: str
    value: str | Cell


class Clause(NamedTuple):
    """The tokens up to the end of a sentence or a line; `lined` if a line ended it.

    `starts` says where in the text each token begins; `words` are the words and numbers
    in which cues are read.
    """

    tokens: list[Token]
    starts: list[int]
    words: list[str]
    lined: bool


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a normalised text in order; those without tokens are left out."""
    column_first = _is_column_first(text)
    tokens: list[Token] = []
    starts: list[int] = []
    words: list[str] = []
    for match in _TOKEN.finditer(text):
        kind, said = match.lastgroup or "", match.group()
        if kind == "stop":
            if tokens:
                yield Clause(tokens, starts, words, said[0] == "\n")
                tokens, starts, words = [], [], []
            continue
        if kind == "word":
            token = _word(said)
            words.append(token.value)  # type: ignore[arg-type]
        elif kind == "bare" and not _is_cell_after(tokens):
            token = Token("number", said)
        else:
            token = _token(kind, said, column_first)
            if kind == "number":
                words.append(said)
        tokens.append(token)
        starts.append(match.start())
    if tokens:
        yield Clause(tokens, starts, words, True)


def _is_column_first(text: str) -> bool:
    """Whether the first order of a pair that the text declares begins with columns."""
    declared = _ORDER.search(text)
    return bool(declared) and declared[1].lower() in ("x", "c", "col", "column")


# The words and cells of a trace come again and again.
@lru_cache(maxsize=1 << 14)
def _word(said: str) -> Token:
    lower = said.lower()
    if lower not in _NO_MOVES and _LETTERS.fullmatch(said):
        return Token("letters", said)
    kinds = (("way", WAYS), ("object", OBJECTS), ("line", LINES))
    kind = next((kind for kind, known in kinds if lower in known), "word")
    return Token(kind, lower)


@lru_cache(maxsize=1 << 14)
def _token(kind: str, said: str, column_first: bool) -> Token:
    if kind in ("cell", "bare"):
        return Token("cell", _cell(said, column_first))
    if kind == "arrows":
        ways = "".join(_WAY.get(sign, "") for sign in said)
        if ways in ("L", "R"):  # alone it parts or implies
            return Token("link", said)
        return Token("arrows", ways)
    return Token(kind, said)


def _cell(said: str, column_first: bool) -> Cell:
    one, two = map(int, _DIGITS.findall(said))
    if _COLUMN_FIRST.match(said):
        column_first = True
    elif "][" in said or any(c.isalpha() for c in said):
        column_first = False
    return (two, one) if column_first else (one, two)


def _is_cell_after(tokens: list[Token]) -> bool:
    """Whether a bare pair after these tokens is a cell."""
    return bool(tokens) and (
        tokens[-1].kind == "link" or tokens[-1].value in _BEFORE_BARE
    )
