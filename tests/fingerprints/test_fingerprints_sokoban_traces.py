"""Sokoban traces made for the tests: boards, solutions, and voices that tell them.

A board is solved by search and its solution is replayed, so what a voice tells is true.
The tests here hold the maker to that; other files import what it makes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest

from routejax.fingerprints.sokoban import FEATURES, compute

Cell = tuple[int, int]

STEPS = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}
WORDS = {"u": "up", "d": "down", "l": "left", "r": "right"}
ARROWS = {"u": "↑", "d": "↓", "l": "←", "r": "→"}

# Notation of a cell → how (2, 3) is written.
CELLS: dict[str, Callable[[int, int], str]] = {
    "round": lambda r, c: f"({r}, {c})",
    "tight": lambda r, c: f"({r},{c})",
    "square": lambda r, c: f"[{r}, {c}]",
    "words": lambda r, c: f"row {r}, column {c}",
    "short words": lambda r, c: f"row {r} col {c}",
    "named pair": lambda r, c: f"(row {r}, col {c})",
    "letters": lambda r, c: f"r{r}c{c}",
    "capitals": lambda r, c: f"R{r}C{c}",
    "equations": lambda r, c: f"(x={c}, y={r})",
    "bare": lambda r, c: f"at {r},{c}",
    "one-based": lambda r, c: f"({r + 1}, {c + 1})",
    "index": lambda r, c: f"grid[{r}][{c}]",
}

# Notation of moves → how a route of them is written.
ROUTES: dict[str, Callable[[str], str]] = {
    "string": lambda ways: ways.upper(),
    "lurd": lambda ways: "Moves: " + ways.lower() + ".",
    "commas": lambda ways: ", ".join(ways.upper()),
    "words": lambda ways: ", ".join(WORDS[way] for way in ways.lower()) + ".",
    "sentence": lambda ways: " ".join(f"Move {WORDS[w]}." for w in ways.lower()),
    "list": lambda ways: "\n".join(
        f"{i}. {WORDS[way].title()}" for i, way in enumerate(ways.lower(), 1)
    ),
    "bars": lambda ways: " || ".join(WORDS[way].title() for way in ways.lower()),
    "word arrows": lambda ways: " → ".join(WORDS[way] for way in ways.lower()),
    "arrows": lambda ways: " ".join(ARROWS[way] for way in ways.lower()),
    "winds": lambda ways: ", then ".join(
        {"u": "north", "d": "south", "l": "west", "r": "east"}[w] for w in ways.lower()
    ),
}


class Board(NamedTuple):
    """Walls and goals as sets of cells, boxes and player where they start."""

    walls: frozenset[Cell]
    goals: frozenset[Cell]
    boxes: frozenset[Cell]
    player: Cell


class State(NamedTuple):
    player: Cell
    boxes: frozenset[Cell]


def board(drawn: str) -> Board:
    """The board of a drawing in the usual signs (# @ $ . * +)."""
    signs: dict[Cell, str] = {
        (r, c): sign
        for r, line in enumerate(drawn.strip("\n").split("\n"))
        for c, sign in enumerate(line)
    }

    def where(wanted: str) -> frozenset[Cell]:
        return frozenset(cell for cell, sign in signs.items() if sign in wanted)

    return Board(where("#"), where(".*+"), where("$*"), next(iter(where("@+"))))


def step(here: Board, state: State, way: str) -> tuple[State, bool] | None:
    """The state after a move and whether it pushed; None for one that is blocked."""
    down, right = STEPS[way.lower()]
    there = (state.player[0] + down, state.player[1] + right)
    if there in here.walls:
        return None
    if there not in state.boxes:
        return State(there, state.boxes), False
    beyond = (there[0] + down, there[1] + right)
    if beyond in here.walls or beyond in state.boxes:
        return None
    return State(there, state.boxes - {there} | {beyond}), True


def solve(here: Board) -> str:
    """A shortest solution in u, d, l, r, with capitals for pushes."""
    start = State(here.player, here.boxes)
    seen, queue = {start}, deque([(start, "")])
    while queue:
        state, told = queue.popleft()
        if state.boxes == here.goals:
            return told
        for way in STEPS:
            made = step(here, state, way)
            if made and made[0] not in seen:
                seen.add(made[0])
                queue.append((made[0], told + (way.upper() if made[1] else way)))
    raise AssertionError("no solution")


def replay(here: Board, told: str) -> list[State]:
    """The states from the start on, one for each move."""
    states = [State(here.player, here.boxes)]
    for way in told:
        made = step(here, states[-1], way)
        assert made is not None
        states.append(made[0])
    return states


def draw(here: Board, state: State) -> str:
    rows = max(r for r, _ in here.walls) + 1
    columns = max(c for _, c in here.walls) + 1

    def sign(cell: Cell) -> str:
        if cell in here.walls:
            return "#"
        on = cell in here.goals
        if cell == state.player:
            return "+" if on else "@"
        if cell in state.boxes:
            return "*" if on else "$"
        return "." if on else " "

    lines = ("".join(sign((r, c)) for c in range(columns)) for r in range(rows))
    return "\n".join(lines)


def tour(start: Cell, ways: str) -> list[Cell]:
    """The cells of a route, the first among them."""
    cells = [start]
    for way in ways.lower():
        cells.append((cells[-1][0] + STEPS[way][0], cells[-1][1] + STEPS[way][1]))
    return cells


def chain(cells: Sequence[Cell], notation: str = "round", joint: str = " -> ") -> str:
    return joint.join(CELLS[notation](*cell) for cell in cells)


BOARDS = [
    board("######\n#@ $.#\n######"),
    board("#######\n#@    #\n# $ # #\n#     #\n#   #.#\n#######"),
    board("#######\n#     #\n# $#$ #\n#. @ .#\n#######"),
    board("########\n#      #\n#@ $ $ #\n#    ..#\n########"),
]


def _places(state: State, here: Board, say: Callable[[int, int], str]) -> str:
    boxes = ", ".join(say(*cell) for cell in sorted(state.boxes))
    goals = ", ".join(say(*cell) for cell in sorted(here.goals))
    return f"Player at {say(*state.player)}, boxes at {boxes}, goals at {goals}."


def walker(here: Board, notation: str = "round") -> str:
    """Tells every cell it goes to."""
    say, told = CELLS[notation], solve(here)
    states = replay(here, told)
    lines = [_places(states[0], here, say)]
    for way, state in zip(told, states[1:], strict=True):
        verb = "Push the box" if way.isupper() else "Move"
        lines.append(f"{verb} {WORDS[way.lower()]} to {say(*state.player)}.")
    return "\n".join([*lines, "All boxes are on goals."])


def stringer(here: Board) -> str:
    """Says little and gives the string of moves."""
    return f"I see a short way.\n\nSolution: {solve(here)}\n"


def redrawer(here: Board) -> str:
    """Draws the board after every move."""
    told = solve(here)
    lines = ["Initial state:"]
    for way, state in zip(["", *told], replay(here, told), strict=True):
        if way:
            lines.append(f"Move {WORDS[way.lower()]}. The board is now:")
        lines.append(draw(here, state))
    return "\n".join(lines)


def backward(here: Board) -> str:
    """Works back from the goals, pulling."""
    told = solve(here)
    lines = ["Let me work backwards from the goals: which last push ends here?"]
    for way, state in reversed(list(zip(told, replay(here, told)[1:], strict=True))):
        if way.isupper():
            box = tour(state.player, way)[1]
            lines.append(f"Goal side: the box at {box} was pulled from {state.player}.")
    return "\n".join([*lines, "In reverse, that is " + told.lower()])


def worrier(here: Board) -> str:
    """Looks for deadlocks before it says where it goes."""
    told = solve(here)
    lines = []
    for state in replay(here, told):
        for box in sorted(state.boxes):
            lines.append(
                f"If I push the box at {box} up, would it be stuck in a corner? "
                "A box against the wall is a deadlock, a dead square."
            )
    return "\n".join([*lines, f"The answer is {told}"])


def pairer(here: Board) -> str:
    """Gives each box its goal, then goes."""
    boxes, goals = sorted(here.boxes), sorted(here.goals)
    lines = [
        f"Box at {box} goes to the nearest goal at {goal}, a pair of distance "
        f"{abs(box[0] - goal[0]) + abs(box[1] - goal[1])}."
        for box in boxes
        for goal in goals
    ]
    return "\n".join([*lines, *lines, f"Assigned. The answer is {solve(here)}"])


def rereader(here: Board) -> str:
    """Reads the rows again and again, and corrects itself."""
    rows = draw(here, State(here.player, here.boxes)).split("\n")
    lines = []
    for time in range(2):
        for r, row in enumerate(rows):
            cells = ", ".join(
                f"({r},{c}) wall" for c, sign in enumerate(row) if sign == "#"
            )
            lines.append(f"Row {r} has walls: {cells}.")
        r, c = here.player
        lines.append(f"The player is at ({r},{c + 1 - time}).")
        lines.append(f"Wait, I misread. Actually the player is at ({r},{c}).")
    return "\n".join([*lines, f"The answer is {solve(here)}"])


VOICES: dict[str, Callable[[Board], str]] = {
    voice.__name__: voice
    for voice in (walker, stringer, redrawer, backward, worrier, pairer, rereader)
}


def features(text: str) -> dict[str, float]:
    """The features of a text by name."""
    names = (feature.name for feature in FEATURES)
    return dict(zip(names, compute(text).tolist(), strict=True))


def block(name: str, text: str) -> dict[str, float]:
    """The features of a block that are not zero, without the name of the block."""
    return {
        key.removeprefix(f"{name}/"): value
        for key, value in features(text).items()
        if key.startswith(f"{name}/") and value
    }


@pytest.mark.parametrize("here", BOARDS)
def test_solutions_solve_and_are_shortest_known(here):
    told = solve(here)
    states = replay(here, told)
    assert states[-1].boxes == here.goals
    pushed = [a.boxes != b.boxes for a, b in pairwise(states)]
    assert pushed == [way.isupper() for way in told]
    assert [state.player for state in states] == tour(here.player, told)


def test_the_first_solutions_by_hand():
    assert solve(BOARDS[0]) == "rR"
    assert draw(BOARDS[0], replay(BOARDS[0], "rR")[-1]) == "######\n#  @*#\n######"
    assert step(BOARDS[0], State((1, 1), frozenset({(1, 3)})), "u") is None
    assert step(BOARDS[0], State((1, 3), frozenset({(1, 4)})), "r") is None


@pytest.mark.parametrize("here", BOARDS)
@pytest.mark.parametrize("voice", VOICES.values(), ids=VOICES)
def test_every_voice_says_something(voice, here):
    assert len(voice(here).split()) > 6
    assert compute(voice(here)).any()
