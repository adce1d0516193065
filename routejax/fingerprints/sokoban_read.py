"""A Sokoban trace read once: where it walks, what it names, what it says.

The walk is the path of cells that the trace visits as its mover: every cell it names
for the player or as floor or without an object, and every cell it reaches by a move
from where it stands. Cells named for a box, a goal or a wall are landmarks: they are
named, not walked. Our choices:

* Where no cell has been named yet, moves start at an origin, and the first cell that is
  named places what was walked before it. Nothing depends on where the origin lies.
* A chain of four moves or more under "solution", "answer", "plan", … starts at the cell
  where the player was first named, as it tells the whole route again.
* The role of a cell is that of the object right before it ("box at (2, 3)"), else right
  after it ("(2, 3) is a wall"), else of the last object of its clause, else of the
  heading it stands under ("Goals:").
* Only the first 65,536 cells of a walk are read; real traces have some hundreds.
"""

from __future__ import annotations

from typing import NamedTuple

from routejax.fingerprints.lexicon import hits
from routejax.fingerprints.segment import normalise
from routejax.fingerprints.sokoban_board import Board, take_out
from routejax.fingerprints.sokoban_cues import LEXICON, OBJECTS
from routejax.fingerprints.sokoban_moves import Moves, described
from routejax.fingerprints.sokoban_notation import (
    DIRECTIONS,
    LINES,
    Cell,
    Clause,
    Token,
    clauses,
)

LIMIT = 1 << 16
WALKED = frozenset(("player", "floor", ""))

_WAYS = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}
_NAMING = frozenset(("cell", "object", "line"))
_BEFORE = frozenset(
    (
        *("at", "is", "are", "in", "on", "position", "located", "cell", "square"),
        *("coordinates", "coordinate", "location", "now", "starts", "a", "b", "c"),
    )
)
_AFTER = frozenset(("is", "a", "an", "the", "as", "has", "was", "contains", "holds"))
_PLAN = frozenset(
    (
        *("solution", "answer", "sequence", "final", "complete", "full", "overall"),
        *("summary", "boxed", "plan", "whole", "total", "altogether"),
    )
)
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "other": "+"}


class Named(NamedTuple):
    """A cell named in the text, with its role ("" without one)."""

    at: int
    cell: Cell
    role: str


class Heading(NamedTuple):
    """What a line that ends with a colon says about the lines under it."""

    role: str
    plan: bool


NOTHING = Heading("", False)


class Reading(NamedTuple):
    """All that the features are made of; places are characters, in order.

    `brief` are the words of clauses that name cells of two roles of player, box and
    goal or more; `labels` the names of boxes ("A", "1"); `rows` and `columns` the
    numbers of rows and columns spoken of without a cell; `places` the directions that
    only say where something is.
    """

    characters: int
    words: int
    clauses: int
    boards: tuple[Board, ...]
    named: list[Named]
    moves: list[Moves]
    places: int
    walk: list[Cell]
    cues: dict[str, list[int]]
    objects: list[tuple[int, str]]
    labels: list[str]
    rows: list[int]
    columns: list[int]
    brief: list[int]


def read(reasoning: str) -> Reading:
    """The reading of a reasoning text; nothing found leaves everything empty."""
    text = normalise(reasoning)
    plain, boards = take_out(text)
    found = Reading(
        len(text), len(plain.split()), 0, boards, [], [], 0, [], {}, [], [], [], [], []
    )
    walker = Walker()
    count = places = 0
    heading = NOTHING
    for clause in clauses(plain):
        count += 1
        for tag in hits(clause.words, LEXICON):
            found.cues.setdefault(str(tag), []).append(clause.starts[0])
        kinds = {token.kind for token in clause.tokens}
        cells = [] if _NAMING.isdisjoint(kinds) else _name(clause, heading, found)
        moves = []
        if not DIRECTIONS.isdisjoint(kinds):
            moves, more = described(clause)
            found.moves.extend(moves)
            places += more
        if cells or moves:
            plan = not _PLAN.isdisjoint(clause.words)
            _follow(cells, moves, walker, plan, heading.plan)
        heading = _heading(clause, heading, bool(cells), bool(moves))
    return found._replace(clauses=count, places=places, walk=walker.walk)


class Walker:
    """Where the mover stands and where it has been."""

    def __init__(self) -> None:
        self.walk: list[Cell] = []
        self.at: Cell = (0, 0)
        self.start: Cell | None = None
        self.placed = False

    def name(self, cell: Cell, role: str) -> None:
        """Stands at a named cell."""
        if not self.placed:
            self._place(cell)
        if role == "player" and self.start is None:
            self.start = cell
        self.at = cell
        self._visit(cell)

    def move(self, ways: str) -> None:
        """A step for each letter; the cell that is left first is part of the walk."""
        self._visit(self.at)
        for way in ways.lower()[: LIMIT - len(self.walk)]:
            down, right = _WAYS[way]
            self.at = (self.at[0] + down, self.at[1] + right)
            self.walk.append(self.at)

    def restart(self) -> None:
        """Back to where the player was first named, else where the walk began."""
        if self.start is not None:
            self.at = self.start
        elif self.walk:
            self.at = self.walk[0]

    def _place(self, cell: Cell) -> None:
        self.placed = True
        down, right = cell[0] - self.at[0], cell[1] - self.at[1]
        self.walk = [(row + down, column + right) for row, column in self.walk]

    def _visit(self, cell: Cell) -> None:
        if len(self.walk) < LIMIT and (not self.walk or self.walk[-1] != cell):
            self.walk.append(cell)


def _follow(
    cells: list[Named], moves: list[Moves], walker: Walker, plan: bool, under_plan: bool
) -> None:
    """Takes the walker through the cells and moves of a clause in their order."""
    for event in sorted([*cells, *moves], key=_place_of):
        if isinstance(event, Named):
            if event.role in WALKED:
                walker.name(event.cell, event.role)
        elif event.state == "walked":
            if under_plan or (plan and len(event.ways) >= 4):
                walker.restart()
                under_plan = False
            walker.move(event.ways)


def _place_of(event: Named | Moves) -> int:
    return event.at


def _heading(clause: Clause, before: Heading, cells: bool, moves: bool) -> Heading:
    """What the next clause stands under; a role holds for the entries of a list."""
    if clause.tokens[-1].kind == "colon":
        roles = [OBJECTS[word] for word in clause.words if word in OBJECTS]
        return Heading(roles[-1] if roles else "", not _PLAN.isdisjoint(clause.words))
    entry = cells and _opens_with_cell(clause.tokens)
    return Heading(before.role if entry else "", before.plan and not moves)


def _opens_with_cell(tokens: list[Token]) -> bool:
    """Whether no word stands before the first cell of a clause."""
    for token in tokens:
        if token.kind in ("cell", "word", "object", "way", "line"):
            return token.kind == "cell"
    return False


def _name(clause: Clause, heading: Heading, found: Reading) -> list[Named]:
    """The cells of a clause with their roles; notes them and the objects in `found`."""
    tokens = clause.tokens
    last = heading.role if heading.role and _opens_with_cell(tokens) else ""
    cells = []
    for place, token in enumerate(tokens):
        if token.kind == "cell":
            role = _object_before(tokens, place) or _object_after(tokens, place) or last
            cells.append(Named(clause.starts[place], token.value, role))  # type: ignore[arg-type]
        elif token.kind == "object":
            last = OBJECTS[str(token.value)]
            found.objects.append((clause.starts[place], last))
            if last == "box":
                found.labels.extend(_label(tokens, place))
        elif token.kind == "line":
            lines = found.rows if LINES[str(token.value)] == "row" else found.columns
            lines.extend(_numbers(tokens, place))
    found.named.extend(cells)
    roles = {cell.role for cell in cells} & {"player", "box", "goal"}
    if len(roles) >= 2:
        found.brief.append(len(clause.words))
    return cells


def _object_before(tokens: list[Token], place: int) -> str:
    """The role of the object right before a cell, over "at", "is", a label, a colon."""
    for token in reversed(tokens[max(place - 5, 0) : place]):
        if token.kind == "object":
            return OBJECTS[str(token.value)]
        if token.kind not in ("colon", "number", "dash") and token.value not in _BEFORE:
            return ""
    return ""


def _object_after(tokens: list[Token], place: int) -> str:
    """The role of the object right after a cell, over "is a", a colon, a dash."""
    for token in tokens[place + 1 : place + 5]:
        if token.kind == "object":
            return OBJECTS[str(token.value)]
        if token.kind not in ("colon", "dash") and token.value not in _AFTER:
            return ""
    return ""


def _label(tokens: list[Token], place: int) -> list[str]:
    """The name of the box at `place`: "A" of "box A", "1" of "first box"."""
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is not None and after.kind in ("word", "letters", "number"):
        name = str(after.value).upper()
        if len(name) == 1:
            return [name]
    before = str(tokens[place - 1].value) if place else ""
    return [_ORDINALS[before]] if before in _ORDINALS else []


def _numbers(tokens: list[Token], place: int) -> list[int]:
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is None or after.kind != "number":
        return []
    return [int(str(after.value)[:4])]
