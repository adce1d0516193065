"""What an answer is: a value, a list, a set, a tuple or interval, an equation, a word.

`read` takes the text of an answer apart from the outside in: separators, unions,
relations, brackets, matrices, signs that mean two values, units; what is left is one
formula, read exactly. The rules, each with its reason, are those of the functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from routejax.envs.answers import algebra
from routejax.envs.answers.algebra import Meaningless, Unreadable, Value
from routejax.envs.answers.expression import value_of
from routejax.envs.answers.latex import tokens
from routejax.envs.answers.units import drop_units

INFINITY = algebra.symbol("\\infty")
_OPENS = frozenset(("(", "[", "{", "\\{", "\\lfloor", "\\lceil", "\\begin"))
_CLOSES = frozenset((")", "]", "}", "\\}", "\\rfloor", "\\rceil", "\\end"))
_ORDER = {"<": 1, "\\le": 1, ">": -1, "\\ge": -1}
_STRICT = frozenset("<>")
_RELATIONS = frozenset(("=", "\\in", "\\ne", "\\approx", "\\equiv", *_ORDER))
_SIGNS = frozenset(("\\pm", "\\mp"))
_GROUPED = re.compile(r"(?<![0-9.,])([0-9]{1,3}(?:,[0-9]{3})+)(?![0-9])")

Tokens = Sequence[str]


@dataclass(frozen=True)
class Number:
    """One value. `decimal`: written with a point; `unit`: canonical, "" if none."""

    value: Value
    decimal: bool = False
    percent: bool = False
    unit: str = ""


@dataclass(frozen=True)
class Word:
    """A name, a ratio 3:4, a time 12:00: compared letter by letter, without case."""

    text: str


@dataclass(frozen=True)
class Based:
    """Digits in a base, 52_8."""

    digits: str
    base: str


@dataclass(frozen=True)
class Several:
    """Answers without order: `1, 2`, `1 and 2`, `\\{1, 2\\}`, `\\pm 1`, a union.

    Without brackets of its own (`bare`) it may also stand for a tuple in its order.
    """

    items: tuple[Form, ...]
    bare: bool = False
    union: bool = False


@dataclass(frozen=True)
class Bracket:
    """Tuple, interval or vector: items in order between two brackets."""

    opens: str
    items: tuple[Form, ...]
    closes: str


@dataclass(frozen=True)
class Matrix:
    rows: tuple[tuple[Form, ...], ...]


@dataclass(frozen=True)
class Named:
    """`x = 5`: a form with a name; `variable` where the name is a plain symbol."""

    name: str
    variable: bool
    form: Form


@dataclass(frozen=True)
class Equation:
    """Two sides that are equal, as their difference."""

    difference: Value


Form = Number | Word | Based | Several | Bracket | Matrix | Named | Equation


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[Form, ...]:
    """The ways a cleaned answer can be read: none, one, or two.

    Two where `58,500` can be a number with a separator or a list. Raises `TooLarge`
    and `Meaningless`.
    """
    ways = [text]
    if _GROUPED.search(text):
        ways.append(_GROUPED.sub(lambda found: found[1].replace(",", ""), text))
    found = []
    for way in ways:
        try:
            found.append(form(tokens(way)))
        except Unreadable:
            continue
    return tuple(found)


def form(parts: Tokens) -> Form:
    """The form of the tokens; `Unreadable` where no rule applies."""
    parts = _bare(parts)
    if not parts:
        raise Unreadable("nothing")
    for rule in (_several, _union, _relation, _bracket, _matrix, _both_signs):
        found = rule(parts)
        if found is not None:
            return found
    return _single(parts)


def _bare(parts: Tokens) -> Tokens:
    """Without braces around everything and without punctuation at the ends."""
    while parts and parts[-1] in (",", ".", ";"):
        parts = parts[:-1]
    while len(parts) > 1 and parts[0] == "{" and _match(parts, 0) == len(parts) - 1:
        parts = parts[1:-1]
    return parts


def _match(parts: Tokens, start: int) -> int:
    """Where the bracket at `start` closes, of any kind: [0,1). -1 if it does not."""
    level = 0
    for at in range(start, len(parts)):
        level += (parts[at] in _OPENS) - (parts[at] in _CLOSES)
        if level == 0:
            return at
    return -1


def _split(parts: Tokens, at: frozenset[str]) -> tuple[list[Tokens], list[str]]:
    """The pieces between separators outside brackets, and the separators."""
    pieces, seen, start, level = [], [], 0, 0
    for i, token in enumerate(parts):
        level += (token in _OPENS) - (token in _CLOSES)
        if level == 0 and token in at:
            pieces.append(parts[start:i])
            seen.append(token)
            start = i + 1
    return [*pieces, parts[start:]], seen


_SEPARATORS = frozenset((",", ";", "\\and"))


def _several(parts: Tokens) -> Form | None:
    """`1, 2`, `1 and 2`, `1, 2, and 3`: answers without order."""
    pieces, seen = _split(parts, _SEPARATORS)
    if not seen:
        return None
    items = [form(piece) for piece in pieces if piece]
    return Several(_flat(items), bare=True) if len(items) != 1 else items[0]


def _flat(items: list[Form]) -> tuple[Form, ...]:
    """Items with those of both signs spread out: {1 +- 2, 5} has three."""
    flat: list[Form] = []
    for item in items:
        spread = isinstance(item, Several) and item.bare
        flat += item.items if spread else [item]  # type: ignore[union-attr]
    return tuple(flat)


def _union(parts: Tokens) -> Form | None:
    pieces, seen = _split(parts, frozenset(("\\cup",)))
    if not seen:
        return None
    return Several(tuple(form(piece) for piece in pieces), union=True)


def _bracket(parts: Tokens) -> Form | None:
    """Something between brackets that match; one item in ( ) or { } is only grouped."""
    opens, closes = parts[0], parts[-1]
    if opens not in ("(", "[", "\\{") or _match(parts, 0) != len(parts) - 1:
        return None
    pieces, seen = _split(parts[1:-1], frozenset((",", ";")))
    if opens == "\\{":
        if closes != "\\}":
            raise Unreadable("a set is not closed")
        return Several(_flat([form(piece) for piece in pieces if piece]))
    if (not seen and opens == "(") or _SIGNS & set(parts):
        return None  # signs of one tuple go together
    return Bracket(opens, tuple(form(piece) for piece in pieces), closes)


def _matrix(parts: Tokens) -> Form | None:
    """\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}, of any kind of brackets."""
    if parts[0] != "\\begin" or len(parts) < 8 or parts[-4] != "\\end":
        return None
    inside = list(parts[4:-4])
    if "\\begin" in inside:
        raise Unreadable("a matrix in a matrix")
    if parts[2] == '"array' and inside and inside[0] == "{":
        inside = inside[_match(inside, 0) + 1 :]  # how its columns are aligned
    rows, _ = _split(inside, frozenset(("\\\\",)))
    cells = [_split(row, frozenset("&"))[0] for row in rows if row]
    if not cells:
        raise Unreadable("a matrix without rows")
    return Matrix(tuple(tuple(form(cell) for cell in row) for row in cells))


def _relation(parts: Tokens) -> Form | None:
    sides, seen = _split(parts, _RELATIONS)
    if not seen:
        return None
    if "\\approx" in seen:  # the exact side comes first: 100/3 \approx 33.33
        at = seen.index("\\approx")
        exact = _joined(sides[: at + 1], seen[:at])
        return form(exact or _joined(sides[at + 1 :], seen[at + 1 :]))
    if set(seen) == {"="}:
        return _equal(sides)
    if seen == ["\\in"] and _is_symbol(sides[0]):
        return form(sides[1])
    if seen == ["\\ne"] and _is_symbol(sides[0]):
        hole = form(sides[1])
        low, high = Number(algebra.negative(INFINITY)), Number(INFINITY)
        pieces = Bracket("(", (low, hole), ")"), Bracket("(", (hole, high), ")")
        return Several(pieces, union=True)
    return _inequality(sides, seen)


def _joined(sides: list[Tokens], seen: list[str]) -> list[str]:
    tokens_: list[str] = list(sides[0])
    for relation, side in zip(seen, sides[1:], strict=True):
        tokens_ += [relation, *side]
    return tokens_


def _equal(sides: list[Tokens]) -> Form:
    """`name = ... = form`, an equation, or a chain of equal values, which is its value.

    A chain counts by its last side; it must be the value of the side before.
    """
    if len(sides) == 2 and not _is_name(sides[0]) and _is_symbol(sides[1]):
        sides = sides[::-1]
    if _is_name(sides[0]):
        name = "".join(sides[0]).replace("{", "").replace("}", "")
        rest = form(sides[1]) if len(sides) == 2 else _equal(sides[1:])
        if isinstance(rest, Equation):
            raise Meaningless("a chain of sides that differ")
        return Named(name, _is_symbol(sides[0]), rest)
    before, last = value_of(sides[-2]), form(sides[-1])
    if not isinstance(last, Number):
        raise Unreadable("an equation of something that is no value")
    if algebra.same(before, last.value):
        return last
    if len(sides) > 2:
        raise Meaningless("a chain of sides that differ")
    return Equation(algebra.add(before, algebra.negative(last.value)))


def _is_symbol(side: Tokens) -> bool:
    """A letter or Greek letter, with a subscript or not."""
    if not side or side[0] in ("e", "i", "\\pi"):
        return False
    try:
        return algebra.symbol_name(value_of(side)) is not None
    except Unreadable:
        return False


def _is_name(side: Tokens) -> bool:
    """What is given a value: x, f(x), P(A), m_{\\max}, \\angle ABC, words."""
    if not side:
        return False
    if _is_symbol(side) or side[0] in ("\\angle", "\\triangle"):
        return True
    if any(token[0] == '"' for token in side) or "\\max" in side or "\\min" in side:
        return True
    letter = len(side[0]) == 1 and side[0].isalpha()
    called = side[1:2] == ["("] and _match(side, 1) == len(side) - 1
    return letter and called and not set(side) & set("+-*/^")


def _inequality(sides: list[Tokens], seen: list[str]) -> Form:
    """The interval of `x < 3`, `3 >= x`, `0 < x <= 5`; others are unreadable."""
    middle = next((i for i, side in enumerate(sides) if _is_symbol(side)), -1)
    directions = {_ORDER.get(relation, 0) for relation in seen}
    if middle < 0 or len(directions) != 1 or 0 in directions or len(seen) > 2:
        raise Unreadable("an inequality of another form")
    if len(seen) == 2 and middle != 1:
        raise Unreadable("an inequality of another form")
    if directions == {-1}:
        sides, seen, middle = sides[::-1], seen[::-1], len(sides) - 1 - middle
    low: Form = Number(algebra.negative(INFINITY))
    high: Form = Number(INFINITY)
    opens, closes = "(", ")"
    if middle > 0:
        low, opens = form(sides[middle - 1]), "(" if seen[0] in _STRICT else "["
    if middle < len(sides) - 1:
        high, closes = form(sides[middle + 1]), ")" if seen[-1] in _STRICT else "]"
    return Bracket(opens, (low, high), closes)


def _both_signs(parts: Tokens) -> Form | None:
    """`1 \\pm 2` is 1 + 2 and 1 - 2; several signs go together, \\mp the other way."""
    if not _SIGNS & set(parts):
        return None
    upper = {"\\pm": "+", "\\mp": "-"}
    lower = {"\\pm": "-", "\\mp": "+"}
    pair = ([table.get(token, token) for token in parts] for table in (upper, lower))
    return Several(tuple(form(one) for one in pair), bare=True)


_SYMBOLS: dict[str, Form] = {
    "\\emptyset": Several(()),
    "\\mathbb{R}": Bracket(
        "(", (Number(algebra.negative(INFINITY)), Number(INFINITY)), ")"
    ),
}


def _single(parts: Tokens) -> Form:
    """Digits in a base, a word, or one value with its percent sign and unit."""
    known = _SYMBOLS.get("".join(parts))
    if known is not None:
        return known
    ratio = parts[1::2] and set(parts[1::2]) == {":"} and len(parts) % 2
    if ratio and all(part.isdecimal() for part in parts[0::2]):
        return Word("".join(parts))
    if len(parts) > 2 and parts[0].isdecimal() and parts[1] == "_":
        base = _bare(parts[2:])
        if len(base) == 1 and base[0].isdecimal():
            return Based(parts[0].lstrip("0") or "0", base[0])
        raise Unreadable("a subscript of a number that is no base")
    rest, unit = drop_units(parts)
    percent = "\\%" in rest[-1:]
    if any(token[0] == '"' for token in rest):
        return _word(rest)
    value = value_of(rest[:-1] if percent else rest)
    decimal = any("." in token or _scientific(token) for token in rest)
    return Number(value, decimal, percent, unit)


def _scientific(token: str) -> bool:
    return token[0].isdecimal() and "e" in token.lower()


def _word(parts: Tokens) -> Form:
    """Words and letters only, as one text without spaces and case."""
    letters = [token.lstrip('"') for token in parts if token not in "()."]
    if not all(part.replace(" ", "").replace("-", "").isalpha() for part in letters):
        raise Unreadable("words among formulas")
    return Word("".join(letters).replace(" ", "").lower())
