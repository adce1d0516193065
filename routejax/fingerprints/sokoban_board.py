"""Drawn boards in a trace: found, counted, and taken out before anything else is read.

A row of a board is a line of map characters from wall to wall ("# @ $.#", also after a
row number or in quotes), a quoted one inside a sentence, or a spaced one with "+" as
wall. Neighbouring rows are a board. What the characters mean differs between makers of
boards ("@" is a player or a box), so no character is given a meaning here.

Left out: boards without outer walls, and boards drawn with pictographs.
"""

import re
from typing import NamedTuple

_MAP = r"[#@$.*+_\-%√OXPSBGT?& ]"
_LABEL = r"(?:(?:[Rr]ow|[Rr])?[ ]?\d{1,2}[ ]?[:|.)=-][ ]?)?"
_ROW = re.compile(
    rf"[ >|]*{_LABEL}[`\"']?"
    rf"(?P<row>#{_MAP}*\#|\+(?:[ ][*%@X$+\-])+[ ]\+)"
    r"[`\"',|\\]*[ ]*"
)
_QUOTED = re.compile(rf"[`\"'](?P<row>#{_MAP}{{1,60}}#)[`\"']")
_WALLS = frozenset("# ")


class Board(NamedTuple):
    """Neighbouring rows in order; `at` is where in the text they begin."""

    at: int
    rows: tuple[str, ...]


def take_out(text: str) -> tuple[str, tuple[Board, ...]]:
    """`text` with the rows of boards blanked, and the boards in order.

    The text keeps its length and its line breaks. A single line of wall characters
    alone (the mark of a heading, a rule) is no board.
    """
    lines = text.split("\n")
    boards: list[Board] = []
    block: list[int] = []  # numbers of the lines of the board that is being read
    rows: list[str] = []
    at = start = 0
    for number, line in enumerate([*lines, ""]):
        row = _ROW.fullmatch(line) if "#" in line or "+" in line else None
        if row:
            start = start if block else at
            block.append(number)
            rows.append(row["row"])
        else:
            if len(rows) > 1 or not _WALLS.issuperset("".join(rows)):
                boards.append(Board(start, tuple(rows)))
                for one in block:
                    lines[one] = " " * len(lines[one])
            block, rows = [], []
            if "#" in line:
                boards += (Board(at + m.start(), (m["row"],)) for m in _quoted(line))
                lines[number] = _QUOTED.sub(lambda m: " " * len(m[0]), line)
        at += len(line) + 1
    return "\n".join(lines), tuple(boards)


def _quoted(line: str) -> list[re.Match[str]]:
    return list(_QUOTED.finditer(line))
