"""Cues in a response by hand: which fire, where they lie, what the 13 features make."""

from itertools import chain
from math import log1p

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.fingerprints.lexicon import phrases, words
from routejax.fingerprints.omega_cues import (
    CUES,
    FAMILIES,
    FEATURES,
    cue_features,
    hits,
)

NAMES = [feature.name.removeprefix("cue/") for feature in FEATURES]


def nonzero(response: str) -> dict[str, float]:
    values = cue_features(response).tolist()
    return {name: v for name, v in zip(NAMES, values, strict=True) if v}


def families(text: str) -> list[str]:
    return [name for _, name in hits(text)]


def test_the_families_of_the_paper():
    names = "verification backtracking uncertainty alternative contradiction"
    families = [*names.split(), "enumeration"]
    assert list(FAMILIES) == families
    shares = [f"{share}/{n}" for share in ("composition", "late") for n in families]
    assert [*shares, "log_density"] == NAMES


def test_every_phrase_belongs_to_one_family():
    listed = [phrases(row[1]) for rows in CUES.values() for row in rows]
    said = [" ".join(words(phrase)) for phrase in chain.from_iterable(listed)]
    assert all(said)
    assert len(set(said)) == len(said)
    assert all(reason for rows in CUES.values() for reason, _ in rows)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_phrase_is_one_hit_of_its_family(name):
    for _, listed in CUES[name]:
        for phrase in phrases(listed):
            assert hits(f"zz {phrase.upper()}, zz") == [(3, name)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wait, no.", ["backtracking"]),
        ("Wait.", ["uncertainty"]),
        ("Double-check it", ["verification"]),
        ("wait \u2014 no", ["backtracking"]),
        ("check, check", ["verification", "verification"]),
        ("wait wait no", ["uncertainty", "backtracking"]),
        ("or maybe", ["alternative"]),
        ("case 1 and case 2", ["enumeration", "enumeration"]),
        ("checkered, awaiting", []),
        ("I got the wait. No is it", ["uncertainty"]),  # not over a sentence end
        ("wait\nno", ["backtracking"]),  # a wrapped line
        ("wait\n\nno", ["uncertainty"]),  # not over a blank line
        ("wait 3.5 no", ["uncertainty"]),
        ("in one by", []),  # a cue that breaks off
        ("", []),
    ],
)
def test_which_cues_fire(text, expected):
    assert families(text) == expected


def test_features():
    """40 characters; hits at 0 and 10 (first half), 20 (second half) and 30."""
    response = "check it, maybe it. maybe so,  dead end."
    assert hits(response) == [
        (0, "verification"),
        (10, "uncertainty"),
        (20, "uncertainty"),
        (31, "backtracking"),
    ]
    assert len(response) == 40
    assert nonzero(response) == pytest.approx(
        {
            "composition/verification": 1 / 4,
            "composition/uncertainty": 2 / 4,
            "composition/backtracking": 1 / 4,
            "late/uncertainty": 1 / 2,
            "late/backtracking": 1,
            "log_density": log1p(1000 * 4 / 8),
        }
    )


def test_the_second_half_begins_at_half_of_the_characters():
    late = "late/uncertainty"
    assert nonzero("aaaa maybe")[late] == 1  # at 5 of 10
    assert late not in nonzero("aaa maybe ")  # at 4 of 10
    assert late not in nonzero("aaaa maybe ")  # at 5 of 11
    assert late in nonzero("aaaaa maybe ")  # at 6 of 12


def test_characters_not_bytes_are_counted():
    assert "late/uncertainty" in nonzero("數數數數 maybe")
    assert "late/uncertainty" not in nonzero("maybe " + "數" * 4)


def test_no_hits_and_no_words():
    assert nonzero("") == nonzero(" \n ") == nonzero("The sum is 4.") == {}


def test_one_word_is_its_own_response():
    assert nonzero("check")["log_density"] == pytest.approx(log1p(1000))


def test_apostrophes_and_line_ends_do_not_matter():
    plain = "It can't be.\nMaybe 3.\nThat's wrong."
    fancy = plain.replace("'", "\u2019").replace("\n", "\r\n")
    assert nonzero(plain) == nonzero(fancy)
    assert nonzero(plain)["composition/contradiction"] == pytest.approx(1 / 3)
    assert nonzero(plain)["composition/backtracking"] == pytest.approx(1 / 3)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.sampled_from(
            ["wait", "no", "maybe", "check", "case", "1", ".", "\n\n", "數"]
        )
    )
)
def test_fractions_add_up(parts):
    values = cue_features(" ".join(parts))
    total = values[:6].sum()
    assert total == pytest.approx(0) or total == pytest.approx(1)
    assert (values[6:12] <= (values[:6] > 0)).all()
    assert (values[12] > 0) == (total > 0)
