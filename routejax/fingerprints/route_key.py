"""A text → the key of its route: texts with equal keys took the same route.

For counting distinct routes among samples (paper, H). Fingerprints are of little use
there: two texts hardly ever have equal ones, so their number would be the number of
samples. A key keeps the order of what was done and drops how it was worded, how long
it took and which numbers it was about. How much of the order it keeps is its detail;
what the details keep is our choice:

    steps     the type of every step, in order; the tree follows from these
    outline   the same, neighbouring steps of one type taken as one (the default)
    turns     of the outline only what shapes the tree: steps that explore, verify, go
              back or close a branch

A family with boards (`sokoban`) keeps the walk instead, from where it begins, so that
shifted boards share their routes: `steps` every cell of it in order, `outline` the walk
without the loops that it retraces, `turns` the places where that changes direction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from routejax.errors import UserError
from routejax.fingerprints.label import Grammar
from routejax.fingerprints.route import route
from routejax.fingerprints.sokoban_notation import Cell
from routejax.fingerprints.sokoban_read import read

DETAILS = ("steps", "outline", "turns")


def route_key(types: Sequence[str], by: Grammar, detail: str) -> tuple[str, ...]:
    """The types that a key of this detail keeps, in order."""
    if detail == "steps":
        return tuple(types)
    if detail == "turns":
        roles = by.roles
        shaping = roles.exploration | roles.verification | roles.backtracking
        types = [kind for kind in types if kind in shaping | roles.closing]
    return tuple(kind for kind, _ in groupby(types))


def walk_key(walk: Sequence[Cell], detail: str) -> tuple[Cell, ...]:
    """The cells that a key of this detail keeps, the first at (0, 0)."""
    if not walk:
        return ()
    cells = list(walk) if detail == "steps" else _without_loops(walk)
    if detail == "turns":
        cells = _corners(cells)
    (top, left), *_ = cells
    return tuple((row - top, column - left) for row, column in cells)


def key_of(grammar: Grammar | None, detail: str) -> Callable[[str], str | None]:
    """What makes the key of a text, by a grammar or, without one, by its walk.

    The key is a digest of 32 hexadecimal digits; None for a text in which no step, or
    no walk, is found.
    """
    if detail not in DETAILS:
        raise UserError(f"detail must be one of {', '.join(DETAILS)}, got {detail!r}")

    def key(reasoning: str) -> str | None:
        if grammar is None:
            walk = read(reasoning).walk
            return _digest(detail, map(str, walk_key(walk, detail))) if walk else None
        types = route(reasoning, grammar).types
        # Steps of no shaping type are a route, too: the straight one.
        return _digest(detail, route_key(types, grammar, detail)) if types else None

    return key


def _digest(detail: str, kept: Iterable[str]) -> str:
    return hashlib.sha256("\n".join([detail, *kept]).encode()).hexdigest()[:32]


def _without_loops(walk: Sequence[Cell]) -> list[Cell]:
    """The walk, every loop cut out as it closes (as in `sokoban_path.loops`)."""
    kept: dict[Cell, None] = {}
    for cell in walk:
        if cell in kept:
            while next(reversed(kept)) != cell:
                kept.popitem()
        else:
            kept[cell] = None
    return list(kept)


def _corners(cells: Sequence[Cell]) -> list[Cell]:
    """Both ends and every cell at which the next step goes another way."""
    kept = [
        here
        for before, here, after in zip(cells, cells[1:], cells[2:], strict=False)
        if (here[0] - before[0], here[1] - before[1])
        != (after[0] - here[0], after[1] - here[1])
    ]
    return [cells[0], *kept, *([cells[-1]] if len(cells) > 1 else [])]
