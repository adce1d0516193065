"""Levels of A::B programs by the number of rewrites, and drawing a program.

Every order of rewriting leads to the same final state in the same number of rewrites,
so the number belongs to the program. The paper has seven levels from tiny to extreme;
their names between, and the bands, are our choice. The difficulties 1 to 15 divide the
bands further.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from routejax.envs.local.ab import ALPHABET

# Fewest and most rewrites of a level.
LEVELS = {
    "tiny": (1, 2),
    "small": (3, 5),
    "medium": (6, 9),
    "large": (10, 16),
    "huge": (17, 28),
    "giant": (29, 50),
    "extreme": (51, 90),
}

# Difficulty → fewest and most rewrites, and fewest and most symbols. The lengths are
# those at which the rewrites of uniformly drawn symbols fall into the band most often.
BANDS = {
    1: ((1, 1), (4, 6)),
    2: ((2, 2), (4, 7)),
    3: ((3, 3), (6, 9)),
    4: ((4, 5), (7, 11)),
    5: ((6, 7), (10, 14)),
    6: ((8, 9), (12, 17)),
    7: ((10, 12), (14, 20)),
    8: ((13, 16), (18, 24)),
    9: ((17, 22), (22, 30)),
    10: ((23, 28), (28, 40)),
    11: ((29, 38), (36, 50)),
    12: ((39, 50), (46, 64)),
    13: ((51, 63), (60, 76)),
    14: ((64, 77), (72, 90)),
    15: ((78, 90), (84, 104)),
}


def rewrites(program: Sequence[str]) -> int:
    """The number of rewrites until no pair faces each other, without making them.

    A left-facing symbol meets the right-facing ones that still wait before it from the
    nearest on, up to its partner or to the last one; each meeting is one rewrite.
    """
    waiting: list[str] = []
    count = 0
    for symbol in program:
        if symbol[1] == "#":
            waiting.append(symbol)
            continue
        partner = symbol[1] + "#"
        at = len(waiting) - 1
        while at >= 0 and waiting[at] != partner:
            at -= 1
        count += len(waiting) - max(at, 0)
        if at >= 0:
            del waiting[at]
    return count


def level_of(steps: int) -> str | None:
    """The level of a program of that many rewrites; None beyond all levels."""
    return next((n for n, (low, high) in LEVELS.items() if low <= steps <= high), None)


def program(rng: random.Random, difficulty: int) -> list[str]:
    """A program whose number of rewrites lies in the band of the difficulty."""
    (least, most), (shortest, longest) = BANDS[difficulty]
    while True:
        length = rng.randint(shortest, longest)
        drawn: list[str] = rng.choices(ALPHABET, k=length)
        if least <= rewrites(drawn) <= most:
            return drawn
