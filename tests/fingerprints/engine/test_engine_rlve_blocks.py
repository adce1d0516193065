"""The blocks of the `rlve` family from steps, types and marks that are given.

No text is read here, so that any sequence may come, of any length around those at which
a block of 64 steps ends.
"""

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import example, given, settings
from hypothesis import strategies as st

from routejax.fingerprints import continuous_rlve, engine, feature_names, patterns_rlve
from routejax.fingerprints.engine import rlve, rlve_answers, rlve_lengths
from routejax.fingerprints.engine import words as engine_words
from routejax.fingerprints.engine.rlve_types import MARK_NAMES
from routejax.fingerprints.label import Note
from routejax.fingerprints.lexicon import words
from routejax.fingerprints.rlve import GRAMMAR, VOCABULARY
from routejax.fingerprints.route import Route
from routejax.fingerprints.topology import topology
from routejax.fingerprints.tree import grow

FALLBACK = GRAMMAR.rules[-1]
ROLES = ("check", "evaluate", "branch", "hypothesize", "correct", "decompose", "answer")

# What a step may say: numbers as answers end with them, words that come back, lengths
# on either side of every class.
SHORT = [
    "\u2014",
    "a",
    "So 3",
    "so, 3!",
    "= 3.0",
    "3.",
    "1.2.3",
    "1.2.3.4",
    ".5",
    "0..7",
]
SHORT += [
    "v2.10 \u00e9\u6570",
    "five words of one step",
    "Five words, of one step",
    "1e5",
]
SHORT += ["one more of six words, here", "x " * 5 + "y", "\U0001f600 4", "12"]
LONG = ["w " * (n - 1) + "v" for n in (40, 41, 62, 63, 64, 65, 70, 1023, 1024, 1500)]


class Made(NamedTuple):
    """Per step its type, its text, and its marks as bits."""

    types: Sequence[int]
    texts: Sequence[str]
    marks: Sequence[int]


def reference(made: Made) -> np.ndarray:
    types = tuple(VOCABULARY[kind] for kind in made.types)
    named = [
        frozenset(name for k, name in enumerate(MARK_NAMES) if bits >> k & 1)
        for bits in made.marks
    ]
    notes = [
        Note(text, tuple(words(text)), kind, FALLBACK, marks)
        for text, kind, marks in zip(made.texts, types, named, strict=True)
    ]
    taken = Route(tuple(notes), types, grow(types, GRAMMAR.roles))
    blocks = [
        continuous_rlve.continuous(taken),
        topology(taken.types, taken.tree, VOCABULARY),
        patterns_rlve.patterns(taken),
    ]
    return np.concatenate(blocks).astype(np.float32)


@functools.cache
def rules() -> rlve.Rules:
    assert engine.front  # kernels are kept on disk
    return rlve.rules()


def kernels(made: Made) -> np.ndarray:
    parts = [text.encode() + b"\n" for text in made.texts]
    data = np.frombuffer(b"".join(parts), np.uint8)
    room = rlve.room(len(data) + 128, 1, len(parts))
    room.text[: len(data)], room.text[len(data) :] = data, 0
    at, steps = 0, room.steps
    for i, part in enumerate(parts):
        end = at + len(part) - 1
        said = engine_words.first_word(room.text, at, end)
        count, key = engine_words.look_over(room.text, at, said, end)
        steps.begin[i], steps.end[i], steps.said[i] = at, end, said
        steps.words[i], steps.key[i] = count, key
        steps.kind[i], steps.marks[i] = made.types[i], made.marks[i]
        at = end + 1
    out = np.zeros(1373, np.float32)
    rlve.row(len(parts), 0, len(data), rules(), room, out)
    return out


def agree(made: Made) -> np.ndarray:
    got, wanted = kernels(made), reference(made)
    columns = np.flatnonzero(got.view(np.uint32) != wanted.view(np.uint32))
    names = [feature_names("rlve")[k] for k in columns[:5]]
    assert not columns.size, (names, got[columns[:5]], wanted[columns[:5]])
    return wanted


def drawn(seed: int, steps: int) -> Made:
    """Steps of a few types, texts and marks, so that sequences of all kinds come."""
    rng = np.random.default_rng(seed)
    pool = [int(k) for k in rng.choice(len(VOCABULARY), rng.integers(1, 7), False)]
    pool += [VOCABULARY.index(k) for k in rng.choice(ROLES, rng.integers(0, 4))]
    texts = [*rng.choice(SHORT, rng.integers(1, 9)), *rng.choice(LONG, rng.integers(3))]
    rate = rng.choice([0.0, 0.02, 0.3]) * (rng.random(len(MARK_NAMES)) < 0.4)
    marked = rng.random((steps, len(MARK_NAMES))) < rate
    return Made(
        rng.choice(pool, steps).tolist(),
        rng.choice(texts, steps).tolist(),
        [sum(1 << k for k in np.flatnonzero(row).tolist()) for row in marked],
    )


EDGES = [n for edge in (64, 128, 192) for n in range(edge - 4, edge + 6)]


@settings(deadline=None, max_examples=120)
@given(st.integers(0, 1 << 32), st.sampled_from([*range(1, 12), *EDGES, 700]))
def test_drawn_steps(seed, steps):
    agree(drawn(seed, steps))


_STEP = st.tuples(
    st.integers(0, len(VOCABULARY) - 1),
    st.sampled_from([*SHORT, *LONG]),
    st.integers(0, (1 << len(MARK_NAMES)) - 1) | st.just(0),
)


@settings(deadline=None, max_examples=120)
@given(st.lists(_STEP, min_size=1, max_size=12))
def test_any_few_steps(steps):
    agree(Made(*zip(*steps, strict=True)))


def of(types: str) -> Made:
    kinds = [VOCABULARY.index(kind) for kind in types.split()]
    return Made(kinds, ["\u2014"] * len(kinds), [0] * len(kinds))


# What may stand across the end of a block of 64 steps.
ACROSS = (
    *("check answer", "answer check", "check correct", "correct check", "answer infer"),
    *("check evaluate check", "evaluate correct answer", "branch reason correct"),
    *(
        "branch reason reason branch",
        "branch infer correct",
        "hypothesize reason check",
    ),
    *("infer parse infer parse infer parse", "decompose reason check decompose answer"),
    *("decompose infer reason decompose", "correct reason reason evaluate"),
    *("check reason reason answer", "check reason correct", "branch branch correct"),
)


@pytest.mark.parametrize("types", ACROSS)
def test_across_the_end_of_a_block(types):
    for before in (*range(58, 66), *range(122, 130)):
        for behind in (0, 1, 3, 64):
            agree(of("reason " * before + types + " describe" * behind))


@pytest.mark.parametrize("kind", ["check", "evaluate", "branch", "answer", "decompose"])
@pytest.mark.parametrize("length", [63, 64, 65, 128, 129, 200])
def test_runs_longer_than_a_block(kind, length):
    for before in (0, 1, 63):
        agree(of("reason " * before + f"{kind} " * length))
        agree(of("reason " * before + f"{kind} " * length + "infer correct"))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
def test_paths_that_end_at_every_byte_of_a_block(size):
    """A path grows by the letters of its types; most steps have a leaf below."""
    for kind in ("infer", "reason", "track_progress", "calculate"):
        steps = [f"{kind} " * size + "check evaluate"] * 30 + ["branch correct"] * 3
        agree(of(" ".join(steps)))


def test_each_pattern_holds_and_does_not():
    """So that the tests above say something of every one."""
    seen = [agree(drawn(seed, 1 + seed % 90))[1309:] for seed in range(400)]
    held = np.array(seen)
    names = feature_names("rlve")[1309:]
    assert [n for n, low in zip(names, held.min(axis=0), strict=True) if low > 0] == []
    assert [
        n for n, high in zip(names, held.max(axis=0), strict=True) if not high
    ] == []


def test_spread_by_hand():
    """Lengths 1, 2, 6: 3 · 41 - 9²."""
    assert rlve_lengths.spread(3, 41, 9) == 42.0
    assert rlve_lengths.spread(1, 81, 9) == 0.0


@settings(deadline=None, max_examples=300)
@given(
    st.integers(1, (1 << 32) - 1),
    st.integers(0, (1 << 62) - 1),
    st.integers(0, (1 << 32) - 1),
)
@example(1 << 24, (1 << 40) + 1, 0)  # beyond 53 bits
@example((1 << 32) - 1, (1 << 62) - 1, 5)
@example(1 << 31, (1 << 33) + 1, 0)  # just at 64 bits
@example(3, ((1 << 62) - 1), (1 << 32) - 1)
@example(9, 4_099_276_460_824_345_259, 0)  # a little above a half, by lost bits
def test_spread_is_rounded_once(count, squares, total):
    exact = count * squares - total**2
    if exact >= 0:
        assert rlve_lengths.spread(count, squares, total) == float(exact)


def last_number(text: str) -> str:
    data = np.array([*b"77.7", *text.encode(), *b"8.8"], np.uint8)
    a, b = rlve_answers.last_number(data, 4, len(data) - 3)
    return data[a:b].tobytes().decode()


@settings(deadline=None, max_examples=200)
@given(st.text("01.. a-\u0663", max_size=14))
@example("1.2.3")
@example("1.2.3.4.")
@example("1..2")
@example("\u0663")
@example("")
def test_the_last_number(text):
    found = re.findall(r"\d++(?:\.\d++)?+", text, re.A)
    assert last_number(text) == (found[-1] if found else "")
