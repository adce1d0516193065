"""Units behind an answer: which words may stand there, and which mean the same unit.

Our rule: a question names its unit, so `35 cm` answers as `35` does; but where answer
and gold both have a unit of this table, it must be the same. One word that is not in
the table may stand there too (`12 apples`), unless it changes the number (`5 million`).
Single letters (m, s, g) are units only in \\text or \\mathrm with a space before them,
for they are variables elsewhere. Powers of units go with them.
"""

from __future__ import annotations

from collections.abc import Sequence

_ALIKE = (
    *("cm centimeter centimeters centimetre centimetres", "mm millimeter millimeters"),
    *("km kilometer kilometers kilometre kilometres", "m meter meters metre metres"),
    *("inch inches in", "foot feet ft", "yard yards yd", "mile miles mi"),
    *("mph", "kph kmh", "second seconds sec secs s", "minute minutes min mins"),
    *("hour hours hr hrs h", "day days", "week weeks", "month months", "year years"),
    *(
        "gram grams g",
        "kg kilogram kilograms",
        "pound pounds lb lbs",
        "ounce ounces oz",
    ),
    *("dollar dollars usd", "cent cents", "euro euros", "penny pennies pence"),
    *("liter liters litre litres", "gallon gallons", "radian radians rad"),
)
UNITS = {word: group.split()[0] for group in _ALIKE for word in group.split()}
_PLAIN_WORDS = "square sq cubic per unit units squareunits cubicunits"
_PLAIN = frozenset(_PLAIN_WORDS.split())
_SCALE_WORDS = (
    "hundred hundreds thousand thousands million millions billion billions trillion "
    "dozen dozens half halves third thirds quarter quarters squared cubed factorial "
    "not never no"
)
_SCALES = frozenset(_SCALE_WORDS.split())


def drop_units(parts: Sequence[str]) -> tuple[Sequence[str], str]:
    """The tokens without the unit at their end, and its name in `UNITS`, or "".

    Something that is no word must stand before the unit.
    """
    unit, end, foreign = "", len(parts), 0
    while end > 1:
        start = _without_power(parts, end)
        word = parts[start - 1]
        if parts[start - 2 : start] == ["/", "h"] or parts[start - 2 : start] == [
            "/",
            "s",
        ]:
            end = start - 2
            continue
        if word[0] != '"':
            break
        name = _name(word)
        foreign += not (name in UNITS or name in _PLAIN or "/" in name)
        if foreign > 1 or name in _SCALES or not name.replace("/", "").isalpha():
            break
        unit, end = UNITS.get(name.partition("/")[0], unit), start - 1
    if end == len(parts) or parts[end - 1][0] == '"':
        return parts, ""
    return parts[:end], unit


def _without_power(parts: Sequence[str], end: int) -> int:
    """Where the word ends that has ^2 or ^{3} behind it; `end` if there is no power."""
    if end > 3 and parts[end - 2] == "^" and parts[end - 3][0] == '"':
        return end - 2
    if end > 5 and parts[end - 4] == "^" and parts[end - 5][0] == '"':
        return end - 4
    return end


def _name(word: str) -> str:
    return word[1:].strip(" .").lower().replace(" per ", "/").replace(" ", "")
