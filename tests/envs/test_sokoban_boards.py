"""Written boards: reading, drawing, what is refused, and the form for splits."""

import random

import pytest

from routejax.envs.sokoban.environment import key, prompt_of
from routejax.envs.sokoban.levels import puzzle
from routejax.envs.sokoban.notation import NOTATIONS, canonical, draw, parse
from routejax.errors import UserError
from routejax.fingerprints.sokoban_board import take_out

ROWS = ("######", "#-$.-#", "#-$+*#", "######")


def boards(number=20):
    for seed in range(number):
        yield puzzle(random.Random(seed), 1 + seed % 9).board


def test_every_sign_is_drawn_by_hand():
    assert draw(parse(ROWS), "ragen") == [
        "# # # # # #",
        "# _ X O _ #",
        "# _ X S √ #",
        "# # # # # #",
    ]
    assert draw(parse(("####", "#@*#", "####")), "ragen")[1] == "# P √ #"


def test_reading_undoes_drawing():
    assert tuple(draw(parse(ROWS))) == ROWS
    for board in boards():
        assert parse(draw(board)) == board


def test_floor_may_be_blank_and_what_is_outside_goes():
    spare = ("", "  ####", "###  #", "#@ $.##  ", "#####  #", "    ####")
    assert draw(parse(spare)) == ["######", "###--#", "#@-$.#", "######"]


REFUSED = {
    ("####", "#@x#", "####"): r"got 'x' in row 2, column 3",
    ("#####", "#-$.#", "#####"): "0 players",
    ("######", "#@@$.#", "######"): "2 players",
    ("####", "#@-#", "####"): "0 boxes and 0 goals",
    ("######", "#@$$.#", "######"): "2 boxes and 1 goals",
    ("#####", "#@$.-", "#####"): "must be closed.*open at row 2, column 5",
    ("#####", "#@$.#"): "must be closed",
    ("#######", "#@-#$.#", "#######"): "row 2, column 5 of .* is not",
    (): "0 players",
}


@pytest.mark.parametrize("rows", REFUSED, ids=str)
def test_what_is_no_board_is_refused_with_the_place(rows):
    with pytest.raises(UserError, match=REFUSED[rows]):
        parse(rows)


def turned(rows):
    return ["".join(column) for column in zip(*rows[::-1], strict=True)]


def test_the_eight_symmetries_have_one_form_and_other_boards_another():
    forms = set()
    for board in boards():
        rows, own = draw(board), set()
        for _ in range(4):
            rows = turned(rows)
            own |= {canonical(parse(rows)), canonical(parse(rows[::-1]))}
        assert own == {canonical(board)}
        forms |= own
    assert len(forms) >= 18


def test_the_form_holds_the_space_of_the_player_and_not_its_cell():
    one, same, other = (
        canonical(parse(("#######", row, "#######")))
        for row in ("#@-$-.#", "#-@$-.#", "#--$@.#")
    )
    assert one == same != other
    assert canonical(parse(("#####", "#@$.#", "#####"))) != canonical(
        parse(("#####", "#@.$#", "#####"))
    )


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_prompt_shows_board_legend_and_rules_and_its_key_is_of_the_board(notation):
    for board in boards(9):
        config = {"rows": draw(board), "notation": notation}
        prompt = prompt_of(config)
        assert "\n".join(draw(board, notation)) in prompt
        assert NOTATIONS[notation].legend in prompt
        assert "illegal" in prompt
        assert "<answer>" in prompt
        assert key(config) == key({**config, "notation": "xsb"})


@pytest.mark.parametrize("notation", NOTATIONS)
def test_the_fingerprints_find_the_drawn_boards(notation):
    for board in boards():
        rows = draw(board, notation)
        _, found = take_out("We have\n" + "\n".join(rows) + "\nand so on.")
        assert [list(one.rows) for one in found] == [rows]
