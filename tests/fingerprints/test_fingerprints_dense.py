"""The dense block by hand: counts of texts, entropies, places of types and markers."""

import string
from collections import Counter
from math import log, log1p

import fingerprints_routes
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.fingerprints.dense import (
    CLASS_NAMES,
    CLASSES,
    FEATURES,
    GROUPS,
    Counts,
    count,
    dense,
    entropy,
)
from routejax.fingerprints.route import Route
from routejax.fingerprints.rules_corpus import ROLES
from routejax.fingerprints.segment import normalise
from routejax.fingerprints.tree import grow

NAMES = [feature.name for feature in FEATURES]


def made(types: str, *texts_and_marks) -> Route:
    taken = fingerprints_routes.made(types, *texts_and_marks)
    return taken._replace(tree=grow(taken.types, ROLES))


def features(prompt: str, reasoning: str, answer: str, route: Route):
    return dict(zip(NAMES, dense(prompt, reasoning, answer, route), strict=True))


def counted(text: str) -> tuple[dict[str, int], int, int, int]:
    found = count(text)
    classes = zip(CLASS_NAMES, found.classes, strict=True)
    return {n: c for n, c in classes if c}, *found[1:]


def test_sizes_of_the_parts():
    heads = Counter(name.split("/")[0] for name in NAMES)
    sizes = {"size": 18, "share": 24, "entropy": 7, "place": 30, "marker": 4}
    assert heads == sizes
    assert len(NAMES) == len(set(NAMES)) == 83


def test_the_table_of_classes():
    assert len(CLASS_NAMES) == 24
    listed = "".join(CLASSES.values())
    assert len(listed) == len(set(listed))
    unlisted = set(string.printable) - set(listed)
    assert unlisted == set("#%&@|~\t\r\x0b\x0c")
    assert {name for names in GROUPS.values() for name in names} <= set(CLASS_NAMES)


def test_counts_of_a_text():
    text = "So x^2 = 9.\n \n\n  Is it -3? \\(y\\)\u2019s 數é#\x00\n"
    assert counted(text) == (
        {
            "lower": 7,
            "upper": 2,
            "digit": 3,
            "space": 10,
            "newline": 4,
            "minus": 1,
            "equals": 1,
            "script": 1,
            "backslash": 2,
            "round": 2,
            "stop": 1,
            "question": 1,
            "quote": 1,
            "other": 2,
            "non_ascii": 2,
        },
        9,
        2,
        2,
    )


@pytest.mark.parametrize(
    ("text", "words", "lines", "paragraphs"),
    [
        ("", 0, 0, 0),
        (" \n \n", 0, 0, 0),
        ("a", 1, 1, 1),
        ("a\nb c", 3, 2, 1),
        ("\n\na\n \t\nb\n\n\n\nc\nd", 4, 4, 3),
        ("a\r\n\r\nb\u2028c\u3000d", 4, 3, 2),
    ],
)
def test_words_lines_and_paragraphs(text, words, lines, paragraphs):
    assert count(text)[1:] == (words, lines, paragraphs)


@settings(deadline=None, max_examples=200)
@given(st.text())
def test_counts_of_every_text_by_another_way(text):
    plain = normalise(text)
    found = count(text)
    assert found.characters == len(plain)
    assert found.words == len(plain.split())
    assert found.lines == sum(bool(line.split()) for line in plain.splitlines())
    beyond = CLASS_NAMES.index("non_ascii")
    assert found.classes[beyond] == sum(ord(char) > 127 for char in plain)
    assert found.paragraphs <= found.lines <= found.words


def test_characters_are_the_sum_of_the_classes():
    assert Counts((1, 2, 3), 0, 0, 0).characters == 6


def test_entropy():
    assert entropy([1, 1, 2, 0]) == pytest.approx(
        (0.5 * log(2) + 0.5 * log(4)) / log(4)
    )
    assert entropy([3, 3]) == pytest.approx(1)
    assert entropy([0, 0]) == 0


@pytest.mark.parametrize("times", [*range(100), 10**6 + 3])
def test_entropy_of_one_kind_is_exactly_nothing(times):
    """log n − (n log n) / n alone would leave 4e-16 at n = 6 and nothing at n = 5."""
    assert entropy([0, times, 0]) == 0


def test_sizes():
    """7, 24 and 2 characters."""
    got = features(
        "a b\n\ncd", "e f\ng\n\nh\n \ni jklmnop qrs", "z!", made("setup " * 9)
    )
    sizes = {k.removeprefix("size/"): v for k, v in got.items() if k[:5] == "size/"}
    assert sizes == pytest.approx(
        {
            "prompt/log_characters": log1p(7),
            "prompt/log_words": log1p(3),
            "prompt/log_lines": log1p(2),
            "prompt/log_paragraphs": log1p(2),
            "reasoning/log_characters": log1p(24),
            "reasoning/log_words": log1p(7),
            "reasoning/log_lines": log1p(4),
            "reasoning/log_paragraphs": log1p(3),
            "answer/log_characters": log1p(2),
            "answer/log_words": log1p(1),
            "answer/log_lines": log1p(1),
            "answer/log_paragraphs": log1p(1),
            "prompt/log_word": log1p(7 / 3),
            "reasoning/log_word": log1p(24 / 7),
            "answer/log_word": log1p(2),
            "reasoning/share": 24 / 33,
            "answer/share": 2 / 33,
            "reasoning/log_steps": log1p(9 / 3),
        }
    )


def test_shares_and_entropies_of_the_texts():
    got = features("Ab\n", "é2+=^\\$([{.,;", "", made("setup"))
    shares = {k: v for k, v in got.items() if k.startswith("share/") and v}
    assert shares == pytest.approx(
        {
            "share/prompt/upper": 1 / 3,
            "share/prompt/newline": 1 / 3,
            "share/reasoning/digit": 1 / 13,
            "share/reasoning/operator": 3 / 13,
            "share/reasoning/latex": 2 / 13,
            "share/reasoning/bracket": 3 / 13,
            "share/reasoning/punctuation": 3 / 13,
            "share/reasoning/non_ascii": 1 / 13,
        }
    )
    assert got["entropy/prompt"] == pytest.approx(log(3) / log(24))
    # eleven classes once, the class of [ and { twice
    of_reasoning = (11 * log(13) + 2 * log(13 / 2)) / 13
    assert got["entropy/reasoning"] == pytest.approx(of_reasoning / log(24))
    assert got["entropy/answer"] == 0


def test_entropies_of_the_route():
    """Pairs: setup-setup, setup-computation ×2, computation-setup, computation-
    exploration; the last third is computation, exploration; one edge explores."""
    got = features(
        "", "x", "", made("setup setup computation setup computation exploration")
    )
    names = ("types", "pairs", "late_types", "edges")
    thirds = 3 / 6 * log(6 / 3) + 2 / 6 * log(6 / 2) + 1 / 6 * log(6)
    pairs = 2 / 5 * log(5 / 2) + 3 / 5 * log(5)
    edges = 4 / 5 * log(5 / 4) + 1 / 5 * log(5)
    assert [got[f"entropy/{name}"] for name in names] == pytest.approx(
        [thirds / log(10), pairs / log(100), log(2) / log(10), edges / log(3)]
    )


def test_places_of_types_and_markers():
    marks = {1: ["doubt"], 2: ["asked"], 4: ["asked", "doubt"]}
    route = made("setup deduction setup setup deduction", (), marks)
    got = features("", "x", "", route)
    rest = {"first": 1, "last": 0, "mean": 1 / 2}
    places = {
        "setup": {"first": 0, "last": 4 / 5, "mean": (0.5 + 2.5 + 3.5) / 3 / 5},
        "deduction": {"first": 1 / 5, "last": 1, "mean": (1.5 + 4.5) / 2 / 5},
    }
    for name in NAMES:
        head, kind, end = [*name.split("/"), ""][:3]
        if head == "place":
            assert got[name] == pytest.approx(places.get(kind, rest)[end]), name
    assert got["marker/doubt/first"] == 1 / 5
    assert got["marker/doubt/last"] == 1
    assert got["marker/asked/first"] == 2 / 5
    assert got["marker/asked/last"] == 1
    without = features("", "x", "", made("setup"))
    assert (without["marker/asked/first"], without["marker/asked/last"]) == (1, 0)


def test_no_steps():
    assert dense("a prompt", "---", "an answer", made("")) == [0] * 83
