"""Moves as an answer: their two grammars, and the replay that decides.

A move leads the player one cell up, down, left or right and pushes a box that stands
there one cell further. A move into a wall, and a push against a wall or another box,
are illegal, and one illegal move makes an answer wrong (our choice: agent environments
let such a move pass as no move, but a solution is a path that can be replayed). What
counts is the position after the last move: a board solved on the way and left again is
not solved.

Letters may be small or capital and mean the same; in written solutions a capital marks
a push, and a wrong capital is no fault.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from routejax.envs.sokoban.board import Board, shifted

LONGEST = 4000  # characters of an answer; the longest drawn have about 200 moves

WORDS = {"up": "u", "down": "d", "left": "l", "right": "r"}
BETWEEN = "||"  # stands between two words
_LETTERS = re.compile(r"[UDLRudlr\s,]+")

# What a prompt says about the form of moves, by notation.
GRAMMARS = {
    "xsb": "one letter for each move: U up, D down, L left, R right, for example LLUR",
    "ragen": "one word for each move, with || between: Up, Down, Left, Right, for "
    "example Left || Left || Up",
}


class Replay(NamedTuple):
    """The position after all moves, or before the first illegal one.

    `legal` is the number of moves made; `pushes` of them moved a box.
    """

    board: Board
    legal: int
    pushes: int


def read(text: str, notation: str) -> str | None:
    """The moves of an answer as letters u, d, l, r; None if it breaks the grammar.

    `xsb`: letters, with white space and commas between them where one likes. `ragen`:
    words with `||` between them. Nothing else may stand there, at least one move must,
    and an answer beyond `LONGEST` characters is not read.
    """
    if len(text) > LONGEST:
        return None
    if notation == "ragen":
        words = [WORDS.get(word.strip().lower()) for word in text.split(BETWEEN)]
        return None if None in words else "".join(map(str, words))
    if not _LETTERS.fullmatch(text):
        return None
    return re.sub(r"[\s,]+", "", text).lower() or None


def write(ways: str, notation: str) -> str:
    """Moves in the form of a notation; `xsb` leaves the letters as they are."""
    if notation == "xsb":
        return ways
    names = {letter: word.capitalize() for word, letter in WORDS.items()}
    return f" {BETWEEN} ".join(names[way] for way in ways.lower())


def replay(board: Board, ways: str) -> Replay:
    """Makes the moves, of letters u, d, l, r, up to the first illegal one."""
    boxes, player, pushes = board.boxes, board.player, 0
    steps = board.steps
    for legal, way in enumerate(ways):
        there = shifted(player, steps[way])
        if there & boxes:
            beyond = shifted(there, steps[way])
            if not beyond & board.floor & ~boxes:
                return Replay(board.at(boxes, player), legal, pushes)
            boxes ^= there | beyond
            pushes += 1
        elif not there & board.floor:
            return Replay(board.at(boxes, player), legal, pushes)
        player = there
    return Replay(board.at(boxes, player), len(ways), pushes)


def solves(board: Board, ways: str) -> bool:
    """Whether all moves are legal and every box stands on a goal after the last."""
    end = replay(board, ways)
    return end.legal == len(ways) and end.board.is_solved
