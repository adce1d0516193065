"""Words of a step and cues in them, by hand."""

import pytest

from routejax.fingerprints.lexicon import Cue, hits, lexicon, phrases, words

TABLE = lexicon(
    [Cue("check", 1), Cue("wait no", 2), Cue("so", 3, opens=True), Cue("let's", 4)],
    openers={"okay", "so", "now"},
)


def found(step: str) -> list[int]:
    return hits(words(step), TABLE)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("Double-CHECK it", ["double", "check", "it"]),
        ("don't we'll x_1 3.5", ["don't", "we'll", "x", "1", "3", "5"]),
        ("12. Add 3", ["add", "3"]),
        ("b) Add 3", ["add", "3"]),
        ("**2.** Add", ["add"]),
        ("- (1) add", ["add"]),
        ("3.5 is it", ["3", "5", "is", "it"]),
        ("123. Add", ["123", "add"]),
        ("naïve 數 'quoted'", ["na", "ve", "quoted"]),
        ("\u212aelvin İt", ["elvin", "t"]),  # letters that only fold to ASCII
        ("...", []),
    ],
)
def test_words(step, expected):
    assert words(step) == expected


def test_punctuation_between_the_words_of_a_cue_does_not_matter():
    assert found("Wait, no.") == found("WAIT -- no!") == found("but wait no") == [2]


def test_a_cue_is_whole_words():
    assert found("checkered checks, waiting no, wait none") == []


def test_an_opening_cue_needs_openers_before_it():
    assert found("So it is") == [3]
    assert found("Okay, now so it is") == [3]
    assert found("1. So it is") == [3]
    assert found("It is so") == []
    assert found("so, so") == [3, 3]


def test_hits_come_in_order_and_with_repeats():
    assert found("check, wait, no, check; let's") == [1, 2, 1, 4]


def test_phrases_of_a_list():
    assert phrases("one two,\n  three,, ") == ("one two", "three")
