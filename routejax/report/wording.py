"""Numbers as people read them. Scores come in as shares of 1 and leave in percent."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any

ABSENT = "–"
MINUS = "−"

CELL_TITLES = {
    "in_range": "In range",
    "seen": "Seen",
    "unseen": "Unseen",
    "extrapolation": "Extrapolation",
    "all": "All problems",
}

_SHORT = {"sft": "SFT", "rl": "RL", "grpo": "GRPO", "kl": "KL", "sha256": "SHA-256"}

STAGE_TITLES = {"sft": "before RL", "rl": "after RL", "gain": "gain"}

# What a terminal obeys, what HTML or UTF-8 cannot hold, what turns the writing round.
_UNSEEN = (
    {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
    | {0x7F: 0x2421}
    | dict.fromkeys(
        [
            *range(0x80, 0xA0),
            *range(0x202A, 0x202F),
            *range(0x2066, 0x206A),
            *range(0xD800, 0xE000),
            0xFFFE,
            0xFFFF,
        ],
        0xFFFD,
    )
)


def escaped(text: object) -> str:
    """`text` for use between tags and inside double-quoted attributes."""
    return html.escape(str(text), quote=True)


def visible(text: object) -> str:
    """`text` with line breaks as newlines and every other control character shown.

    A control code becomes its picture ("␛"), a character that turns the writing
    direction or that UTF-8 cannot hold the replacement character.
    """
    plain = str(text).replace("\r\n", "\n").replace("\r", "\n")
    return plain.translate(_UNSEEN)


def said(text: object) -> str:
    """`text` from outside, escaped, its control characters visible."""
    return escaped(visible(text))


def percent(share: float | None) -> str:
    """A share of 1 in percent with one digit, without the sign: 0.3125 -> "31.2"."""
    return ABSENT if share is None else decimal(100 * share)


def points(share: float | None) -> str:
    """A difference of shares in percentage points, signed: -0.031 -> "−3.1"."""
    return ABSENT if share is None else signed(100 * share)


def decimal(value: float, digits: int = 1) -> str:
    """With a real minus sign, and no minus before a zero."""
    text = f"{abs(value):,.{digits}f}"
    negative = value < 0 and any(digit in text for digit in "123456789")
    return f"{MINUS}{text}" if negative else text


def signed(value: float, digits: int = 1) -> str:
    text = decimal(value, digits)
    return text if text.startswith(MINUS) else f"+{text}"


def score_span(interval: Mapping[str, Any]) -> str:
    """Bounds of a score, cut to 0..100 where a t interval reaches beyond."""
    low, high = (min(1.0, max(0.0, interval[key])) for key in ("lower", "upper"))
    return f"{percent(low)}–{percent(high)}"


def points_span(interval: Mapping[str, Any]) -> str:
    return f"{percent(interval['lower'])} to {percent(interval['upper'])}"


def significant(value: Any, digits: int = 3) -> str:
    """A measurement of unknown size: three significant digits, whole numbers whole."""
    if value is None:
        return ABSENT
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int) or value == 0 or abs(value) >= 10**digits:
        return decimal(value, 0)
    return decimal(value, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def whole(value: float) -> str:
    """A count, or the mean of counts over seeds: 12345 -> "12,345"."""
    return decimal(value, 0)


def duration(seconds: float) -> str:
    """2 units at most: 4.2 -> "4.2 s", 192 -> "3 min 12 s", 7300 -> "2 h 2 min"."""
    if seconds < 10:
        return f"{decimal(seconds)} s"
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60} s"
    return f"{total // 3600:,} h {total % 3600 // 60} min"


def title(key: str) -> str:
    """A key of a result as words: "covering_radius" -> "Covering radius"."""
    words = str(key).replace("_", " ").split()
    text = " ".join(_SHORT.get(word, word) for word in words)
    return text[:1].upper() + text[1:]


def plural(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
