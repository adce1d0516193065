"""Tokens by hand: cells in every notation, signs of moves, ends of clauses."""

import pytest
from test_fingerprints_sokoban_traces import CELLS

from routejax.fingerprints.sokoban_notation import clauses


def tokens(text: str) -> list[tuple[str, object]]:
    return [
        (token.kind, token.value) for clause in clauses(text) for token in clause.tokens
    ]


def cells(text: str) -> list[object]:
    return [value for kind, value in tokens(text) if kind == "cell"]


@pytest.mark.parametrize("notation", CELLS)
def test_one_cell_in_every_notation(notation):
    shift = notation == "one-based"
    for row, column in ((2, 3), (0, 11), (10, 4)):
        said = CELLS[notation](row, column)
        assert cells(f"It is {said}, so") == [(row + shift, column + shift)]
        assert cells(f"It is {said}.") == [(row + shift, column + shift)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(2 , 3) {2; 3} (2|3)", [(2, 3)] * 3),
        ("column 3 of row 2, column 3 in row 2, col 3, row 2", [(2, 3)] * 3),
        ("row 2 and column 3; Row 2, in the column 3", [(2, 3)] * 2),
        ("(r2, c3) (c3, r2) (row=2, col=3) (row: 2, column: 3)", [(2, 3)] * 4),
        ("x = 3, y = 2; y=2, x=3; x: 3 y: 2; (y=2, x=3)", [(2, 3)] * 4),
        ("r2c3, R2 C3, r2,c3", [(2, 3)] * 3),
        ("[[2, 3], [4, 5]]", [(2, 3), (4, 5)]),
        ("(2,3)->(2,4)", [(2, 3), (2, 4)]),
        ("from 2,3 to 2, 4", [(2, 3), (2, 4)]),
        ("at 2,3 -> 2,4", [(2, 3), (2, 4)]),
        ("rows 2 and 3, row 2, row 3, r1 r2", []),
        ("(1, 2, 3) (123, 4) (1.5, 2) (-1, 2) (a, b)", []),
        ("moves 3, 4 and to 3, 4, 5", []),
        ("at 1,000 and 3,4", [(3, 4)]),
        ("your1c2", []),
    ],
)
def test_cells(text, expected):
    assert cells(text) == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("(x, y)", (3, 2)),
        ("(column, row)", (3, 2)),
        ("(col, row)", (3, 2)),
        ("(row, column)", (2, 3)),
        ("(r, c)", (2, 3)),
        ("(row, col), not (x, y)", (2, 3)),
        ("pairs", (2, 3)),
    ],
)
def test_declared_order_of_bare_pairs(declared, expected):
    assert cells(f"(2, 3) as {declared}") == [expected]
    assert cells(f"I use {declared}: at 2,3") == [expected]
    assert cells(f"I use {declared}: row 2, col 3; r2c3; g[2][3]") == [(2, 3)] * 3


def test_other_tokens():
    assert tokens("2. Up, RRu R2 → so ↑← box x2 - then: 7") == [
        ("item", "2."),
        ("way", "up"),
        ("link", ","),
        ("letters", "RRu"),
        ("counted", "R2"),
        ("link", "→"),
        ("word", "so"),
        ("arrows", "UL"),
        ("object", "box"),
        ("times", "x2"),
        ("dash", "-"),
        ("word", "then"),
        ("colon", ":"),
        ("number", "7"),
    ]
    assert tokens("⬆️⬇️ ➡️") == [("arrows", "UDR")]
    assert tokens("LURD dull lull Rudd r2") == [
        ("word", "lurd"),
        ("word", "dull"),
        ("word", "lull"),
        ("word", "rudd"),
        ("letters", "r"),
        ("number", "2"),
    ]


def test_clauses_end_at_sentences_and_lines():
    found = list(clauses("Go up. Then 3.5 left!\n\nNow (1,2)\n 3. Up"))
    assert [clause.words for clause in found] == [
        ["go", "up"],
        ["then", "3", "5", "left"],
        ["now"],
        ["up"],
    ]
    assert [clause.lined for clause in found] == [False, False, True, True]
    assert found[0].starts == [0, 3]
    assert found[3].tokens[0].kind == "item"
    assert list(clauses(" \n\n. ")) == []
