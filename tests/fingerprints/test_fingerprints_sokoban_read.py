"""Readings by hand: roles of cells, the walk, objects, lines, cues."""

import pytest
from test_fingerprints_sokoban_traces import CELLS, ROUTES, tour

from routejax.fingerprints import sokoban_read
from routejax.fingerprints.lexicon import phrases, words
from routejax.fingerprints.sokoban_cues import CUES, OBJECTS, ROLES
from routejax.fingerprints.sokoban_read import read


def roles(text: str) -> list[tuple[tuple[int, int], str]]:
    return [(named.cell, named.role) for named in read(text).named]


def walk(text: str) -> list[tuple[int, int]]:
    return read(text).walk


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Player at (1,1), box at (1,2), goal (1,3).", ["player", "box", "goal"]),
        ("Player (1,1) box (1,2) goal (1,3)", ["player", "box", "goal"]),
        ("(1,1) is a wall, (1,2): floor, (1,3) - box", ["wall", "floor", "box"]),
        ("(1,1) wall, (1,2) empty, (1,3) box", ["wall", "floor", "box"]),
        ("Boxes: (1,1), (1,2) and (1,3)", ["box"] * 3),
        ("The box moves from (1,1) to (1,2). Then (1,3).", ["box", "box", ""]),
        ("Go to (1,1), next to the box. See (1,2), (1,3)", ["", "", ""]),
        ("I am at (1,1), box 1 at (1,2), box A is at (1,3)", ["player", "box", "box"]),
        ("Goals:\n- (1,1)\n- (1,2)\nthen (1,3)", ["goal", "goal", ""]),
        ("Goals:\n- (1,1)\nSo wait.\n- (1,2)\n(1,3)", ["goal", "", ""]),
        ("Walls:\n(1,1), (1,2)\nPlayer: (1,3)", ["wall", "wall", "player"]),
    ],
)  # fmt: skip
def test_roles(text, expected):
    assert roles(text) == list(zip([(1, 1), (1, 2), (1, 3)], expected, strict=True))


def test_the_walk_goes_through_cells_of_the_player_and_of_no_object():
    text = "Player at (1,1), box at (1,2), goal at (5,5). See (2,1). Wall at (9,9)."
    assert walk(text) == [(1, 1), (2, 1)]
    assert walk("(1,1), (1,1), (1,2) then (1,1)") == [(1, 1), (1, 2), (1, 1)]


def test_moves_go_on_from_where_the_mover_stands():
    assert walk("Player at (1,1), box at (5,5). Move right, then down.") == tour(
        (1, 1), "rd"
    )
    assert walk("Player at (1,1). Move right to (1,2). Push down: (2,2).") == tour(
        (1, 1), "rd"
    )
    assert walk("Player at (1,1). Go right. I cannot go down. If I go up, no.") == tour(
        (1, 1), "r"
    )


def test_moves_without_a_start_are_placed_by_the_first_cell():
    assert walk("RRD") == tour((0, 0), "rrd")
    assert walk("Right, right, down, to (3,4). Then (3,5)") == [
        *tour((2, 2), "rrd"),
        (3, 5),
    ]


@pytest.mark.parametrize(
    ("text", "goes_back"),
    [
        ("Solution: RRRD", True),
        ("The full sequence is RRRD", True),
        ("\\boxed{RRRD}", True),
        ("The answer is right, right, right, down", True),
        ("Solution:\n1. Right\n2. Right\n3. Right\n4. Down", True),
        ("RRRD", False),
        ("The answer is RRR", False),
    ],
)
def test_a_whole_plan_starts_where_the_player_was_first(text, goes_back):
    found = walk(f"Player at (1,1). Move down, down.\n{text}")
    ways = "rrrd" if not text.endswith("RRR") else "rrr"
    start = (1, 1) if goes_back else (3, 1)
    again = tour(start, ways)
    assert found == [*tour((1, 1), "dd"), *(again if goes_back else again[1:])]


def test_a_plan_starts_at_the_player_though_others_were_named_before_and_after():
    text = "See (9,9). Player at (1,1). Now the player is at (4,4). Solution: RRRD"
    assert walk(text) == [(9, 9), (1, 1), (4, 4), *tour((1, 1), "rrrd")]


def test_a_plan_without_a_player_starts_where_the_walk_began():
    assert walk("See (2,2), (2,3). Solution: RRRD") == [
        (2, 2),
        (2, 3),
        *tour((2, 2), "rrrd"),
    ]


@pytest.mark.parametrize("ways", ["rrdd", "rrddlluu", "uurruuldd"])
def test_every_notation_gives_the_same_walk_up_to_its_origin(ways):
    def moved(cells):
        return [(r - cells[0][0], c - cells[0][1]) for r, c in cells]

    for say in CELLS.values():
        cells = [say(r, c) for r, c in tour((12, 12), ways)]
        assert moved(walk(" -> ".join(cells))) == tour((0, 0), ways)
    for write in ROUTES.values():
        assert walk(write(ways)) == tour((0, 0), ways)
        started = walk(f"Player at (7,9).\n{write(ways)}")
        assert started == tour((7, 9), ways)


def test_drawn_boards_are_no_moves():
    drawn = "######\n# LURD#\n#RRRU#\n######"
    assert walk(drawn.replace("LURD", "$ @.").replace("RRRU", "  . ")) == []
    assert read("####\n#@ #\n####\nGo up.").walk == tour((0, 0), "u")


def test_objects_labels_lines_and_brief_clauses():
    text = (
        "The player (1,1) and box A (1,2). Row 3 and row 4. Column 2.\n"
        "First box, box 2, the other box, box B."
    )
    found = read(text)
    assert [role for _, role in found.objects] == ["player", *["box"] * 5]
    assert text[found.objects[1][0] :].startswith("box A")
    assert found.labels == ["A", "1", "2", "+", "B"]
    assert (found.rows, found.columns) == ([3, 4], [2])
    assert found.brief == [5]  # the player and box a
    assert (found.clauses, found.words) == (4, len(text.split()))


def test_places_and_cues():
    text = "The cell on the left. It is a deadlock. A corner, the corner."
    found = read(text)
    assert found.places == 1
    assert found.cues == {"deadlock": [22], "corner": [40, 40]}
    assert text[22:].startswith("It is")


def test_every_phrase_is_found_under_its_activity():
    for tag, (what, listed) in CUES.items():
        assert what
        for phrase in phrases(listed):
            assert tag in read(f"Zz {phrase.title()}, zz").cues, (tag, phrase)
    assert set(OBJECTS.values()) == set(ROLES)


def test_no_phrase_of_an_activity_holds_another_of_it():
    for _, listed in CUES.values():
        spaced = [f" {' '.join(words(phrase))} " for phrase in phrases(listed)]
        assert not [(a, b) for a in spaced for b in spaced if a != b and a in b]
        assert len(set(spaced)) == len(spaced)


def test_the_walk_is_cut_at_its_limit(monkeypatch):
    monkeypatch.setattr(sokoban_read, "LIMIT", 10)
    assert len(walk("R" * 50)) == 10
    assert len(walk("(1,1) (1,2) " * 50)) == 10
    assert walk("(1,1) (1,2) " * 4 + "RRRRR") == [*[(1, 1), (1, 2)] * 4, (1, 3), (1, 4)]


def test_nothing():
    for text in ("", " \n\n", "Hello there."):
        found = read(text)
        assert not any([found.named, found.moves, found.walk, found.cues, found.boards])
