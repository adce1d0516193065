"""Where a text is cut, by hand; nothing is lost; long degenerate texts end."""

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.fingerprints.segment import normalise, segment

SUBSTANCE = re.compile(r"[A-Za-z0-9]|[^\x00-\x7f]")

CASES = {
    # Sentence ends.
    "sentences": ("One is odd. Two is even! Is it? Yes", 4),
    "digit opens": ("It is odd. 4 is even.", 2),
    "mathematics opens": ("It holds. $x = 1$ follows. \\(y\\) too.", 3),
    "closing quote": ('He said "stop." Then he went.', 2),
    "bold": ("**It holds.** Next one.", 2),
    "lower case continues": ("Compare a vs. b, resp. c.", 1),
    "decimals": ("We get 3.14 and 2.5, i.e. more.", 1),
    "abbreviations": ("See Dr. Lee, cf. Prof. Kim vs. Mr. Fox.", 1),
    "initials": ("In the U.S. Supreme Court, e.g. Roe.", 1),
    "before numbers": ("By Fig. 3 and Eq. (2), no. 5 of Sec. $a$ holds.", 1),
    "not before numbers": ("The answer is no. So it fails.", 2),
    "ellipsis": ("Let it be... Something else… Then more.", 1),
    "factorial": ("We know 5! = 120 and n! (that grows) here.", 1),
    "exclamation": ("It works! So we stop.", 2),
    "option letters": ("Choices: low, B. High, C. None.", 1),
    "full stops of Chinese": ("首先计算。等等，不对！所以是七。", 3),
    # Line breaks.
    "blank line": ("one\n\ntwo\n \nthree", 3),
    "wrapped prose": ("the sum of\nboth numbers\nis 4", 1),
    "rows": ("1 0 1\n0 1 0\n1 1 1", 1),
    "capital line": ("Input: 1 2\nOutput: 2 1", 2),
    "numbered list": ("1. First item.\n2. Second item.\n   - sub. point\n10) Last.", 4),
    "bullets": ("- one\n- two\n* three", 3),
    "step labels": ("Step 1. Add them. Step 2. Sort them.", 2),
    "heading": ("some text\n## Part\nmore text", 2),
    # Discourse markers.
    "marker after comma": ("Three is smaller than four, so we take three.", 2),
    "marker with too little before": ("Okay, so we take three.", 1),
    "so that": ("We sort the list first, so that it is easy.", 1),
    "marker after ellipsis": ("Maybe it is 3... wait, no.", 2),
    "marker in lower case": ("It is 3. so we stop.", 2),
    "marker after dash": ("It is three here — wait, no.", 2),
    "no marker inside a word": ("It is three here, solid as rock.", 1),
    # Stretches that are never cut.
    "fence": ("Run it:\n```python\nx = 1.\n\nFor i in a. Go\n```\nSo it prints.", 3),
    "fence left open": ("```\nA = 1. B = 2\n\nThen it ends. Done.", 3),
    "after a fence": ("```\nx\n```\nand then it prints.", 2),
    "display": ("\\[\nx = 1\n\n y = 2. Z\n\\]\nThus done.", 2),
    "dollars": ("We get $$a = 1.\n\nB = 2$$ here. Done.", 2),
    "align": ("\\begin{align}a.\n\nB\\end{align} holds. Done.", 2),
    "tool call": ('<tool_call>{"a": "One. Two"}</tool_call> ran. Done.', 2),
    "latex line break": ("a \\\\[2pt] b. Then c \\] ends.", 2),
    # No steps.
    "empty": ("", 0),
    "blank": (" \n\t\n ", 0),
    "rule": ("one\n\n---\n\ntwo", 2),
}


@pytest.mark.parametrize(("text", "count"), CASES.values(), ids=CASES)
def test_number_of_steps(text, count):
    assert len(segment(text)) == count


def test_cuts_of_a_short_trace():
    text = "First, split it. Take 3 and 1, so 1 < 3 holds. Wait, check: 1 < 3."
    assert segment(text) == [
        "First, split it.",
        "Take 3 and 1,",
        "so 1 < 3 holds.",
        "Wait, check: 1 < 3.",
    ]


def test_dots_that_end_no_sentence():
    text = (
        "We use e.g. 3.14, \\ldots, Eq. (2), x_1.\\frac{1}{2} i.e. the U.S. case "
        "vs. Dr. Lee. Then stop."
    )
    assert segment(text) == [text.removesuffix(" Then stop."), "Then stop."]


def test_spelling_of_spaces_quotes_and_breaks_does_not_matter():
    plain = "Let's see.\n\n\"It\" is 4, so we can't stop here."
    fancy = (
        "Let\u2019s\u00a0see.\r\n\r\n\u201cIt\u201d is\u20094, so we can\u2018t "
        "stop\u3000here."
    )
    assert segment(fancy) == segment(plain)
    assert segment(plain.replace("\n", "\r")) == segment(plain)


def test_every_white_space_becomes_a_space_or_a_newline():
    spaces = [chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace()]
    assert {normalise(space) for space in spaces} == {" ", "\n"}


PIECES = st.sampled_from(
    [*"aB1.!?,;:- \n\r’“…。()[]$`\\*#é\ud800", "so ", "wait ", "\n\n", "```", "\\["]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


@settings(deadline=None, max_examples=200)
@given(st.one_of(TEXTS, st.text()))
def test_steps_hold_all_substance_in_order(text):
    steps = segment(text)
    plain = normalise(text)
    assert normalise(plain) == plain
    assert SUBSTANCE.findall("".join(steps)) == [
        sign for sign in SUBSTANCE.findall(plain) if not sign.isspace()
    ]
    assert all(step == step.strip() and SUBSTANCE.search(step) for step in steps)


@pytest.mark.parametrize(
    "block",
    ["a b. ", "x", ".", "?)", ",\nso", "\\[ ", "```\n", " ", "\n", "**", "1. ", "($"],
)
def test_long_degenerate_texts_end(block):
    text = block * (200_000 // len(block))
    assert len("".join(segment(text))) <= len(text)
