"""The program of a response: its last fenced block that says it is Python."""

from __future__ import annotations

import re

from routejax.spans import find

LONGEST = 100_000  # characters of a program
_OPENS = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)")
_NAMES = frozenset({"python", "python3", "py"})


def program(response: str) -> str | None:
    """The text of the last closed block with the word python, python3 or py.

    Blocks in other languages or in none are passed over, and so is reasoning; where
    it is never closed there is no program. A fence is closed by a line with as many of
    its signs or more. None where there is none.
    """
    span = find(response)
    text = response if span.state == "none" else span.answer
    last, fence, lines, wanted = None, "", [], False
    for line in text.split("\n"):
        if not fence:
            opened = _OPENS.fullmatch(line)
            if opened:
                fence, lines = opened[1], []
                words = opened[2].lower().split(maxsplit=1)
                wanted = bool(words) and words[0] in _NAMES
        elif _closes(line, fence):
            last, fence = ("\n".join(lines) + "\n" if wanted else last), ""
        else:
            lines.append(line)
    return last


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])
