"""The `corpus` and `dolci` families: sizes, names, and what holds for any text."""

import hashlib
import re
import time
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.fingerprints import corpus
from routejax.fingerprints.continuous_corpus import continuous
from routejax.fingerprints.dense import dense
from routejax.fingerprints.patterns_corpus import patterns
from routejax.fingerprints.route import route
from routejax.fingerprints.route_hash import route_hash
from routejax.fingerprints.segment import segment
from routejax.fingerprints.topology import topology

PROMPT = "Sort 3 and 1, then add them."
TEXT = (
    "First, split the list. Take 3 and 1. So the smallest is 1. Wait, check again. "
    "1 < 3 holds. Therefore the order is 1 3."
)
LONG = TEXT + (
    "\n\nAlternatively, sort by 3 + 1 = 4. Wait, no. Let's verify: it's 1 3.\n"
    "```\nx = 1\n```\nMaybe 2, 3, 5, 7? To get 4, we add. The answer is \\boxed{4}.\n"
)
NAMES = [feature.name for feature in corpus.FEATURES]


def test_sizes_are_the_papers():
    sizes = {name: len(features) for name, features in corpus.BLOCKS.items()}
    assert sizes == {
        "continuous": 137,
        "tree": 430,
        "pattern": 64,
        "dense": 83,
        "hash": 1024,
    }
    assert len(corpus.FEATURES) == 1738
    assert len(corpus.DOLCI_FEATURES) == 631
    assert corpus.FEATURES[:631] == corpus.DOLCI_FEATURES
    assert list(corpus.DOLCI_BLOCKS) == ["continuous", "tree", "pattern"]


def test_names_are_unique_and_each_is_defined_in_one_line():
    assert len(set(NAMES)) == 1738
    assert all(re.fullmatch(r"[\w/>-]+", name) for name in NAMES)
    assert all(f.meaning and "\n" not in f.meaning for f in corpus.FEATURES)


def test_a_fingerprint_is_its_blocks_cast_once():
    row = corpus.compute(PROMPT, LONG, "4")
    assert (row.shape, row.dtype) == ((1738,), np.float32)
    taken = route(LONG, corpus.GRAMMAR)
    blocks = [
        continuous(taken),
        topology(taken.types, taken.tree, corpus.VOCABULARY, corpus.PATHS),
        patterns(taken),
        dense(PROMPT, LONG, "4", taken),
        route_hash(taken),
    ]
    assert np.array_equal(row, np.concatenate(blocks).astype(np.float32))
    assert len(set(taken.types)) == 9


def test_dolci_is_the_first_three_blocks():
    row = corpus.dolci_compute(LONG)
    assert (row.shape, row.dtype) == ((631,), np.float32)
    assert np.array_equal(row, corpus.compute(PROMPT, LONG, "4")[:631])


def test_the_short_example():
    """decomposition ─ commentary ─ deduction ┬ verification
    └ computation ─ deduction."""
    types = route(TEXT, corpus.GRAMMAR).types
    assert types == (
        *("decomposition", "commentary", "deduction", "verification"),
        *("computation", "deduction"),
    )
    named = dict(zip(NAMES, corpus.compute(PROMPT, TEXT, "1 3").tolist(), strict=True))
    assert named["frequency/deduction"] == pytest.approx(2 / 6)
    assert named["transition/sequential/deduction->verification"] == pytest.approx(0.5)
    assert named["shape/log_depth"] == pytest.approx(np.log(5))
    assert named["pattern/verifies"] == 1
    assert named["place/verification/first"] == pytest.approx(3 / 6)


# Every feature that is not zero of the conversation of two steps below.
CONTINUOUS = {
    "frequency/computation": 1 / 2,
    "frequency/verification": 1 / 2,
    "rate/computation->verification": 1,
    "behaviour/verification": log(2),
    "graph/types": 2 / 10,
    "graph/density": 1 / 90,
    "graph/hub": 1,
    "graph/changes": 1,
    "steps/log_mean": log(4),
    "steps/log_median": log(3),
    "steps/log_deviation": log(2),
    "steps/log_longest": log(5),
    "steps/short": 1,
    "tree_shape/slim": 1,
    "tree_shape/wide": 1 / 2,
}
TREE = {
    "transition/sequential/computation->verification": 1,
    "edge/computation/sequential": 1,
    "tier/shallow/computation": 1,
    "tier/shallow/nodes": 1 / 2,
    "tier/middle/verification": 1,
    "tier/middle/nodes": 1 / 2,
    "tier/middle/leaves": 1,
    "path/23": 1,  # SHA-256 of "path/CV": 9e5bd0bf20fa6f2f mod 40
    "shape/log_nodes": log(3),
    "shape/log_depth": log(2),
    "shape/log_leaves": log(2),
    "shape/log_width": log(2),
    "shape/log_children": log(2),
    "shape/leaves": 1 / 2,
    "shape/mean_depth": 1 / 2,
    "shape/mean_leaf_depth": 1,
    "shape/trunk": 1 / 2,
}
PATTERN = dict.fromkeys(
    (
        "pattern/computation_led",
        "pattern/verifies",
        "pattern/verifies_often",
        "pattern/no_conclusion",
    ),
    1,
)
# Of 22 characters 11 are lower case, 5 spaces, and 2 each capitals, digits, full stops.
EVENNESS = 11 / 22 * log(2) + 5 / 22 * log(22 / 5) + 3 * 2 / 22 * log(11)
DENSE = {
    "size/reasoning/log_characters": log(23),
    "size/reasoning/log_words": log(7),
    "size/reasoning/log_lines": log(2),
    "size/reasoning/log_paragraphs": log(2),
    "size/answer/log_characters": log(2),
    "size/answer/log_words": log(2),
    "size/answer/log_lines": log(2),
    "size/answer/log_paragraphs": log(2),
    "size/reasoning/log_word": log(1 + 22 / 6),
    "size/answer/log_word": log(2),
    "size/reasoning/share": 22 / 23,
    "size/answer/share": 1 / 23,
    "size/reasoning/log_steps": log(3),
    "share/reasoning/upper": 2 / 22,
    "share/reasoning/digit": 2 / 22,
    "share/reasoning/punctuation": 2 / 22,
    "share/answer/digit": 1,
    "entropy/reasoning": EVENNESS / log(24),
    "entropy/types": log(2) / log(10),
    "place/computation/last": 1 / 2,
    "place/computation/mean": 1 / 4,
    "place/verification/first": 1 / 2,
    "place/verification/last": 1,
    "place/verification/mean": 3 / 4,
    "marker/doubt/first": 1,
    "marker/asked/first": 1,
}
WITHOUT = {
    f"place/{kind}/{name}": value
    for kind in corpus.VOCABULARY
    if kind not in ("computation", "verification")
    for name, value in (("first", 1), ("mean", 1 / 2))
}
LABELS = (
    "ngram/computation",
    "ngram/verification",
    "ngram/computation>verification",
    "node/computation/1",
    "node/verification/0",
    "edge/computation>verification/sequential",
    "path/CV",
)


def test_every_feature_of_a_conversation_of_two_steps():
    got = corpus.compute("", "Add 3 and 4. Check it.", "7").tolist()
    expected = CONTINUOUS | TREE | PATTERN | DENSE | WITHOUT
    for label in LABELS:
        digest = hashlib.sha256(label.encode()).digest()
        name = f"hash/{int.from_bytes(digest[:8], 'big') % 1024:04d}"
        sign = -1 if digest[8] % 2 else 1
        expected[name] = expected.get(name, 0) + sign / sqrt(7)
    named = {n: v for n, v in zip(NAMES, got, strict=True) if v}
    assert named == pytest.approx(expected)


def test_prompt_and_answer_enter_the_dense_block_alone():
    one = corpus.compute(PROMPT, LONG, "4")
    other = corpus.compute("Why?", LONG, "Because of 4.")
    places = np.flatnonzero(one != other)
    assert places.size
    names = [NAMES[i] for i in places]
    of_texts = re.compile("(size|share|entropy)/(prompt|answer|reasoning/share)")
    assert all(of_texts.match(name) for name in names)


@pytest.mark.parametrize("text", ["", " \n\n ", "---", "...\n\n!!"])
def test_no_steps_are_all_zero(text):
    assert not corpus.compute(PROMPT, text, "4").any()
    assert not corpus.dolci_compute(text).any()


def test_spelling_does_not_matter():
    fancy = LONG.replace("'", "\u2019").replace("\n", "\r\n").replace("So ", "So\u00a0")
    assert fancy != LONG
    plain = corpus.compute(LONG, LONG, LONG)
    assert np.array_equal(corpus.compute(fancy, fancy, fancy), plain)


PIECES = st.sampled_from(
    [*re.findall(r"\S+\s*", LONG), *"é數\ud800\x00\u2028", "\n\n", "$$", "```"]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=60).map("".join), st.text(max_size=30))


@settings(deadline=None, max_examples=100)
@given(TEXTS, TEXTS, TEXTS)
def test_every_conversation_has_finite_features_in_their_range(prompt, text, answer):
    row = corpus.compute(prompt, text, answer)
    assert np.isfinite(row).all()
    assert row.any() == bool(segment(text))
    assert (row[:714] >= 0).all()
    assert set(np.unique(row[567:631])) <= {0, 1}
    named = zip(NAMES[:714], row.tolist(), strict=False)
    free = re.compile("log_|behaviour/")
    assert all(value <= 1 + 1e-6 for name, value in named if not free.search(name))


def test_time_is_linear():
    """200 KB without a paragraph and with one step after another; seconds if not."""
    piece = "So x is 3. Wait, check it. Maybe not. "
    begin = time.process_time()
    row = corpus.compute(PROMPT, piece * (200_000 // len(piece)), "4")
    assert time.process_time() - begin < 3
    assert np.isfinite(row).all()
