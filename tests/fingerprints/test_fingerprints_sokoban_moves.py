"""Directions in clauses: which are walked, in every notation of moves."""

import pytest
from test_fingerprints_sokoban_traces import ROUTES

from routejax.fingerprints.sokoban_moves import described
from routejax.fingerprints.sokoban_notation import clauses


def told(text: str) -> str:
    """The moves of a text: walked ones bare, denied in [], weighed in ()."""
    shown = {"walked": "{}", "denied": "[{}]", "weighed": "({})"}
    return "".join(
        shown[moves.state].format(moves.ways)
        for clause in clauses(text)
        for moves in described(clause)[0]
    )


def places(text: str) -> int:
    return sum(described(clause)[1] for clause in clauses(text))


@pytest.mark.parametrize("notation", ROUTES)
def test_a_route_in_every_notation(notation):
    for ways in ("rrdlu", "ddrruul", "uurdd"):
        assert told(ROUTES[notation](ways)) == ways


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A verb before it.
        ("Move right.", "r"),
        ("I go up to (2,3)", "u"),
        ("push the box two squares to the right", "RR"),
        ("Push it from (2,3) right", "R"),
        ("move the player one step left, then up", "lu"),
        ("we walk north and then head west", "ul"),
        ("Go up 2 steps and left once", "uul"),
        ("push down three times", "DDD"),
        ("push U", "U"),
        ("moves upward", "u"),
        ("move right by 2", "rr"),
        ("go right 99 boxes", "r"),
        ("go right 2 boxes", "r"),
        ("go right 21", "r"),
        ("go right 20", "r" * 20),
        ("go up two, then left", "uul"),
        ("go up 2 then left", "uul"),
        ("move 2 squares to left", "ll"),
        ("2 steps left", "ll"),
        # Several in a row.
        ("right twice, up 3, left x2", "rruuull"),
        ("Right, Right, then Up", "rru"),
        ("left up", "lu"),
        ("right 1 step, up 1 step", "ru"),
        ("right, up, rrU", "rurrU"),
        ("R-R-U", "rru"),
        ("R2 U3", "rruuu"),
        ("2R, 1D", "rrd"),
        ("rrUlLd", "rrUlLd"),
        ("r, r, U, l", "rrUl"),
        ("Moves: R", "r"),
        ("The answer is \\boxed{RRD}", "rrd"),
        ("(1,1) ↑ (0,1)", "u"),
        ("The answer is right, up", "ru"),
        ("Right, up is the answer", "ru"),
        # A line or item of its own.
        ("1. Right\n2) Up\n- Down\nLeft\n", "rudl"),
        ("Step 3: Left to (3,4)", "l"),
        ("3. Left (3,4)", "l"),
        ("- Step 3: then next up\n", "u"),
        ("1. Right (push)\nUp (push)\n", "RU"),
        ("Step 2: move the player up.", "u"),
        # Said, not walked.
        ("cannot move up, so go left", "[u]l"),
        ("I can't push it right", "[R]"),
        ("Moving up is blocked", "[u]"),
        ("go right but not down", "r"),
        ("If I push right, it is stuck", "(R)"),
        ("To push it up, I stand below", "(U)"),
        ("In order to move left, I turn", "(l)"),
        ("could go left or right", "(l)"),
        ("go left or right", "(l)"),
        ("I need to move left", "l"),
    ],
)
def test_moves(text, expected):
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("the cell to the left of the box is free", 1),
        ("the box from the right", 1),
        ("move to the cell on the left", 1),
        ("go to the left side", 1),
        ("Up: wall", 1),
        ("up-left corner", 2),
        ("the walls at left, right", 2),
        ("3 moves left", 1),
        ("The moves are up, down, left, right.", 0),
        ("look to the right", 1),
        ("left is a wall", 1),
        ("that's right", 1),
        ("Right. So we go on.", 0),
        ("Right, we go on.", 0),
        ("left and right", 0),
        ("U, D, L, R", 0),
        ("Moves: U D L R", 0),
        ("R1: wall. R2: wall. R3: wall", 0),
        ("LURD notation", 0),
        ("(1,1) → (1,2) → (2,2)", 0),
        ("It is a dull day", 0),
        ("Right 3, 4 then up.", 0),
        ("3. Left hand\n", 1),
        ("- Step 3: then next now up\n", 0),
        ("R0 U0", 0),
    ],
)
def test_no_moves(text, count):
    assert told(text) == ""
    assert places(text) == count


def test_a_long_line_without_stops_is_read_in_linear_time():
    """Twenty thousand chains in one clause: quadratic work would take minutes."""
    assert told("R3 to " * 20_000) == ""
    assert len(told("go up, " * 20_000)) == 20_000
