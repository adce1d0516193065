"""The kernels read a text as the reference does: steps, rules, marks, words."""

import pytest

pytest.importorskip("numba")

import engine_texts as given_texts
from engine_texts import TEXTS, Kernels, by_reference, made
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.fingerprints import corpus, marks_corpus, marks_rlve, rlve

GRAMMARS = {
    "corpus": (corpus.GRAMMAR, [mark.name for mark in marks_corpus.MARKS]),
    "rlve": (rlve.GRAMMAR, [mark.name for mark in marks_rlve.MARKS]),
}

# Texts whose steps are known by hand, each about one thing that bytes make hard.
BY_HAND = {
    "": [],
    "\x00": [],
    "---\n\n!!": [],
    "So.\r\n\r\nWait.": ["So.", "Wait."],
    "One\x85\x85Two": ["One", "Two"],
    "One.\u2028Two.\xa0Three.": ["One.", "Two.", "Three."],
    "One\x00. Two": ["One\x00.", "Two"],
    "\u4e00\u3002\u3002 \u4e8c\uff1f\u4e09": [
        "\u4e00\u3002\u3002",
        "\u4e8c\uff1f",
        "\u4e09",
    ],
    "It\u2019s \u201cso.\u201d Yes.": ['It\'s "so."', "Yes."],
    "A. B.```x. Y\n\nZ. A```\nB": ["A. B.```x. Y\n\nZ. A```", "B"],
    "``` A. B\n\nCc. D": ["``` A. B", "Cc.", "D"],
    "$$ A. B $$ Cc. D": ["$$ A. B $$ Cc.", "D"],
    "\\\\[2pt] Aa. Bb\\]. Cc": ["\\\\[2pt] Aa.", "Bb\\].", "Cc"],
    "We add one, wait, no": ["We add one,", "wait, no"],
    "We add one,\n\nwait": ["We add one,", "wait"],
    "\\[ Aa. Bb\\]. Cc": ["\\[ Aa. Bb\\].", "Cc"],
    "e.g. Dr. No vs. 3": ["e.g. Dr. No vs. 3"],
    "1. One\n2. Two": ["1. One", "2. Two"],
    "Hmm\u2026 wait\u2026 no\u2026 So": ["Hmm\u2026", "wait\u2026 no\u2026", "So"],
}


@pytest.fixture(scope="module")
def kernels():
    return {name: Kernels(*grammar) for name, grammar in GRAMMARS.items()}


def agree(kernels, texts):
    for name, (by, _) in GRAMMARS.items():
        expected = [by_reference(text, by) for text in texts]
        for text, got, wanted in zip(
            texts, kernels[name].read(texts), expected, strict=True
        ):
            assert got == wanted, (name, text)


def test_steps_by_hand(kernels):
    got = kernels["corpus"].read(list(BY_HAND))
    assert [[step.text for step in row] for row in got] == list(BY_HAND.values())
    agree(kernels, list(BY_HAND))


@settings(deadline=None, max_examples=120)
@given(st.lists(TEXTS, max_size=6))
def test_any_texts(kernels, texts):
    agree(kernels, texts)


@pytest.mark.parametrize("seed", range(3))
def test_many_made_texts(kernels, seed):
    texts = made(seed, 150)
    agree(kernels, texts)
    steps = [step for row in kernels["corpus"].read(texts) for step in row]
    assert len(steps) > 1000
    assert len({step.rank for step in steps}) > 0.9 * len(corpus.GRAMMAR.rules)


def test_every_piece_beside_every_other(kernels):
    """Behind one and before another, as a sentence of its own."""
    some = [piece for pieces in given_texts.BETWEEN for piece in pieces[:9]]
    agree(kernels, [f"We add one{a}{b}wait. So" for a in some for b in some])


def test_every_cue_opens_and_ends_a_step_and_stands_within(kernels):
    frames = ("{}", "{}. So", "Okay, so {}'s", "We {}", "1. {}, no.", "x{}", "{}2 {}'d")
    cues = given_texts.CUES
    agree(kernels, [frame.replace("{}", c) for c in cues for frame in frames])


def test_the_words_of_a_cue_in_two_steps_are_no_cue(kernels):
    pairs = [cue.split() for cue in given_texts.CUES if " " in cue]
    texts = [". ".join(word.capitalize() for word in pair) for pair in pairs]
    agree(kernels, [*texts, *(text + "\n\nI. Think" for text in texts)])


def test_rows_do_not_touch(kernels):
    """What one row leaves open, another does not see, in whichever lane it runs."""
    texts = [
        "```",
        "wait",
        "",
        "$$ A. B",
        "no. C",
        ",",
        "Wait",
        "\\",
        "[ A. B",
        ".",
    ] * 7
    agree(kernels, texts)
