"""Plain texts and their counts: `segment.normalise` and `dense.count`, on bytes."""

import sys

import numpy as np
import pytest

pytest.importorskip("numba")

from engine_texts import ODD, TEXTS, WHITE, made
from hypothesis import given, settings

from routejax.fingerprints import (
    dense,
    engine,  # noqa: F401
)
from routejax.fingerprints.engine import texts as plain
from routejax.fingerprints.segment import normalise

GUARD = 7  # bytes before and behind a text, of which nothing may change


def counted(text: str) -> tuple[str, dense.Counts]:
    """The plain text and its counts; what lies around it in memory is a trap."""
    given_bytes = text.encode()
    around = [0xE2, 0x80, 0xA8, 10, 10, 65, 65]
    data = np.array([*around, *given_bytes, 10, 65, 10, 10], np.uint8)
    out = np.full(len(given_bytes) + 2 * GUARD + 64, 254, np.uint8)
    counts = np.full(plain.COUNTS, 9, np.int64)
    end = plain.plain_text(data, GUARD, GUARD + len(given_bytes), out, GUARD, counts)
    assert GUARD <= end <= GUARD + len(given_bytes)
    assert set(out[:GUARD].tolist()) == set(out[-GUARD:].tolist()) == {254}
    *classes, words, lines, paragraphs = counts.tolist()
    found = dense.Counts(tuple(classes), words, lines, paragraphs)
    return out[GUARD:end].tobytes().decode(), found


def agree(text: str) -> None:
    assert counted(text) == (normalise(text), dense.count(text)), text


def test_by_hand():
    text, counts = counted("\r\nIt\u2019s  3 \u2028\u2028 A\xa0b\r")
    assert text == "\nIt's  3 \n\n A b\n"
    assert (counts.words, counts.lines, counts.paragraphs) == (4, 2, 2)
    named = dict(zip(dense.CLASS_NAMES, counts.classes, strict=True))
    assert {k: v for k, v in named.items() if v} == {
        **{"lower": 3, "upper": 2, "digit": 1, "space": 5, "newline": 4},
        "quote": 1,
    }


def test_every_character_alone_and_among_others():
    """All that are replaced lie below U+10000; of the rest one in 997."""
    chars = [chr(c) for c in range(0x10000) if not 0xD800 <= c < 0xE000]
    chars += [chr(c) for c in range(0x10000, sys.maxunicode + 1, 997)]
    agree("".join(chars))
    agree("a".join(chars))
    agree("\n x".join(chars[:0x3100]))


@pytest.mark.parametrize("text", ["", "\r", "\n", " ", "\r\n", "a", "\x00", "\u2028"])
def test_the_shortest(text):
    agree(text)


def test_every_kind_of_white_space_at_every_end():
    for white in [*WHITE, *ODD]:
        for text in (
            white,
            f"{white}a",
            f"a{white}",
            f"a{white}{white}b",
            f"\r{white}",
        ):
            agree(text)


def test_every_length():
    """Four bytes are copied at a time, eight are looked over for line breaks."""
    for length in range(40):
        for sign in "a\n\r\u2028\xa0\u00e9":
            for place in range(length):
                agree("b" * place + sign + "c" * (length - place - 1))


@settings(deadline=None, max_examples=150)
@given(TEXTS)
def test_any_text(text):
    agree(text)


def test_made_texts():
    agree("\n".join(made(0, 200)))
