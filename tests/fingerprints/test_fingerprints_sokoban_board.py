"""Drawn boards: which lines are rows, and what stays of the text."""

import pytest

from routejax.fingerprints.sokoban_board import Board, take_out


def rows(text: str) -> list[tuple[str, ...]]:
    return [board.rows for board in take_out(text)[1]]


def test_a_board_is_taken_out_and_the_text_keeps_its_length():
    text = "Here:\n####\n#@$#\n####\nSo it is."
    plain, boards = take_out(text)
    assert boards == (Board(6, ("####", "#@$#", "####")),)
    assert plain == "Here:\n    \n    \n    \nSo it is."


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("#@ $.#", "#@ $.#"),
        ("  # . $ *  + #", "# . $ *  + #"),
        ("Row 3: #  $#", "#  $#"),
        ("3: #..#", "#..#"),
        ("12 | # _ O X #", "# _ O X #"),
        ("r4: `#-$-#`", "#-$-#"),
        ("> #@#", "#@#"),
        ("# _ √ P S #", "# _ √ P S #"),
        ("+ * - @ X $ % +", "+ * - @ X $ % +"),
        ("'# $#',", "# $#"),
        ("The third row is `#. #` again.", "#. #"),
    ],
)
def test_rows(line, row):
    assert rows(line) == [(row,)]
    assert "#" not in take_out(line)[0]


@pytest.mark.parametrize(
    "line",
    [
        "## Step 1",
        "###",
        "####",
        "# Title #1",
        "+---+---+",
        "1 + 2 + 3",
        "- - -",
        "***",
        "#@$.",
        "issue #3 and #4",
        "a `#` sign",
        "",
    ],
)
def test_no_rows(line):
    assert rows(line) == []
    assert take_out(line)[0] == line


def test_neighbouring_rows_are_one_board():
    text = "#####\n#@$.#\n#####\n\n#####\n# @*#\n#####\nor `#@#`\n#$#\n#.#"
    assert rows(text) == [
        ("#####", "#@$.#", "#####"),
        ("#####", "# @*#", "#####"),
        ("#@#",),
        ("#$#", "#.#"),
    ]
    plain, boards = take_out(text)
    assert [text[b.at] for b in boards] == ["#", "#", "`", "#"]
    assert len(plain) == len(text)
    assert plain.count("\n") == text.count("\n")


def test_walls_alone_are_rows_only_beside_others():
    assert rows("####\n####") == [("####", "####")]
    assert rows("####") == []
