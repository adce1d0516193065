"""Audits of ids: each mistake that spoilt a run somewhere is an error here."""

import dataclasses

import pytest

from routejax import tokenizer
from routejax.errors import UserError
from routejax.tokenizer import BOS, EOS, PAD, Turn

TEXTS = ["one two three.\n<think>four</think>", "five six"]


@pytest.fixture(scope="module")
def made():
    return tokenizer.train(TEXTS, size=60)


def test_turns_of_the_local_student_are_sound(made):
    for text in TEXTS:
        found = made.turn(text, text)
        tokenizer.require_sound(made, found, "row")
        assert found.prompt == made.prompt(text)
        assert found.response == made.response(text)


@pytest.mark.parametrize(
    ("prompt", "response", "words"),
    [
        ([], [9, EOS], "its prompt has no ids"),
        ([9], [9, EOS], r"wants BOS \(2\) first and it is not there"),
        ([BOS, BOS, 9], [9, EOS], r"BOS \(2\) is there 2 times instead of once"),
        ([BOS, 9], [BOS, 9, EOS], r"BOS \(2\) is there 2 times"),
        ([BOS, 9], [9], r"ends in id 9, not in one of \[3\]"),
        ([BOS, 9], [], "ends in id -1"),
        ([BOS, 9], [9, EOS, 9, EOS], "id 3, which ends a response, is inside it"),
        ([BOS, 9], [9, PAD, EOS], "padding is id 0, which the student is to learn"),
    ],
)
def test_unsound_turns(made, prompt, response, words):
    with pytest.raises(UserError, match=f"row r7 must not be learned: .*{words}"):
        tokenizer.require_sound(made, Turn(prompt, response), "r7")


def test_everything_wrong_is_in_one_message(made):
    with pytest.raises(UserError) as caught:
        tokenizer.require_sound(made, Turn([9, 9], [PAD, 9]), "r7")
    assert str(caught.value).count(";") >= 2


def test_padding_that_is_the_end_is_refused(made):
    same = dataclasses.replace(made, pad=EOS)
    with pytest.raises(UserError, match=r"padding is id 3.*choose another"):
        tokenizer.require_sound(same, same.turn("one", "two"), "r7")
    tokenizer.require_sound(
        dataclasses.replace(made, pad=None), made.turn("one", "two"), "r7"
    )


def test_any_stop_ends_a_response(made):
    other = dataclasses.replace(made, stops=(EOS, 9))
    tokenizer.require_sound(other, Turn([BOS, 8], [8, 9]), "r7")
    with pytest.raises(UserError, match="id 9, which ends"):
        tokenizer.require_sound(other, Turn([BOS, 8], [9, EOS]), "r7")


def test_a_beginning_that_is_also_an_end(made):
    """OLMo's is: it may end the response and begin the prompt."""
    same = dataclasses.replace(made, bos=EOS)
    tokenizer.require_sound(same, Turn([EOS, 8], [8, EOS]), "r7")
    with pytest.raises(UserError, match="instead of once"):
        tokenizer.require_sound(same, Turn([EOS, 8, EOS], [8, EOS]), "r7")


def test_control_ids_are_not_learned(made):
    other = dataclasses.replace(made, special={"<tool>": 9})
    with pytest.raises(UserError, match="control id 9 is inside its response"):
        tokenizer.require_sound(other, Turn([BOS, 8], [9, EOS]), "r7")


def test_a_vocabulary_larger_than_the_embedding(made):
    tokenizer.require_rows(made, made.size)
    with pytest.raises(
        UserError, match=rf"ids up to {made.size - 1}, .* {made.size - 1}"
    ):
        tokenizer.require_rows(made, made.size - 1)
    for beyond in ({"stops": (EOS, 500)}, {"bos": 500}, {"pad": 500}):
        with pytest.raises(UserError, match="ids up to 500"):
            tokenizer.require_rows(dataclasses.replace(made, **beyond), made.size)


def test_texts_that_do_not_come_back_are_refused(made):
    lossy = dataclasses.replace(made, join=lambda ids: "x")
    with pytest.raises(UserError, match=r"does not keep '\\n': it gives 'x'"):
        lossy.turn("", "two")
