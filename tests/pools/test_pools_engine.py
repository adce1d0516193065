"""The compiled reader of spans gives what the plain one gives, on any text."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_cases import CASES, responses

from routejax.pools import found
from routejax.pools.found import find_all
from routejax.spans import MARKERS, Span, find

pytest.importorskip("numba")
REAL = responses()
CASE_TEXTS = [case.given for case in CASES.values() if isinstance(case.given, str)]
WHITE = [chr(c) for c in range(0x3001) if chr(c).isspace()]
LONG = ["x" * 63, "é" * 70, "a[b<c " * 20]
PIECES = [
    *(*MARKERS, "think\n", "\nanswer\n", *WHITE, *LONG),
    *("A", "€", "𝄞", "<", "[", "|", "<|", "</think", "\x1b", "\u200b"),
]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(["<think>", "</think>", "think\n", "\nanswer\n", " ", "A"]),
        st.sampled_from(PIECES),
        st.text(max_size=3),
    ),
    max_size=10,
).map("".join)


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr(found, "_FEW", -1)  # however small the texts


def spans(array):
    columns = (column.to_pylist() for column in find_all(array))
    return [Span(*row) for row in zip(*columns, strict=True)]


def test_the_cases_by_hand():
    expected = [case[1:] for case in CASES.values() if isinstance(case.given, str)]
    assert spans(pa.array(CASE_TEXTS)) == expected


@given(st.lists(TEXTS, max_size=6))
@settings(deadline=None, max_examples=150)
def test_any_texts(texts):
    assert spans(pa.array(texts, pa.string())) == [find(text) for text in texts]


def test_every_marker_beside_every_other():
    pairs = [f"A{one}B{two} C" for one in PIECES for two in PIECES]
    assert spans(pa.array(pairs)) == [find(text) for text in pairs]


def test_every_white_space_is_stripped_and_nothing_else():
    texts = [f"{c}A{c}</think>{c}4{c}" for c in [*WHITE, "\u200b", "\x1b", "\u2007x"]]
    assert spans(pa.array(texts)) == [find(text) for text in texts]
    assert len({*spans(pa.array(texts[: len(WHITE)]))}) == 1


def many_markers():
    texts = ["</think>" * n + "<|im_end|>" * n + "4" for n in (61, 62, 63, 64, 500)]
    for n in (60, 61, 62, 63, 64, 126, 127):
        texts += [f"think\n{'A<|im_end|>' * n}B\nanswer\n{'<|im_end|>C' * n}"]
    return texts


def test_more_markers_than_there_was_room_for():
    texts = many_markers()
    assert spans(pa.array(texts)) == [find(text) for text in texts]


@pytest.mark.parametrize("behind", [0, 1, 54, 55, 56, 63, 64, 65, 130])
def test_markers_at_every_place_of_a_block(behind):
    """Text is looked at in blocks: a marker may begin, end or be cut at any of them."""
    texts = []
    for ahead in range(140):
        before, after = "x" * ahead, "y" * behind
        texts += [
            f"think\n{before}\nanswer\n{after}",
            f"think\n{before}\nanswer{after}",
            f"think\n{before}\nan\nanswer\n{after}\nanswer\n",
            f"{before}</think>{after}",
            f"{before}</think{after}",
            f"{before}<[a]<</think>{after}",
            f"<think>{before}[</THINK]</think>{after}",
        ]
    assert spans(pa.array(texts)) == [find(text) for text in texts]


def test_closing_words_are_searched_for_by_two_bytes():
    """Which the text may hold at every place of a block without the rest of them."""
    texts = ["think\n" + "\na" * n + "\nanswer\n4" for n in range(70)]
    texts += ["think\n" + "\nanswer" * n + "\n4" for n in range(20)]
    assert spans(pa.array(texts)) == [find(text) for text in texts]


def test_a_few_texts_are_read_by_an_engine_that_is_there(monkeypatch):
    monkeypatch.setattr(found, "_FEW", 1 << 30)
    assert found.engine() is not None
    monkeypatch.setattr(found, "find", None)  # the plain one would fail
    assert spans(pa.array(["<think>A</think>4"])) == [Span("closed", "A", "4")]


def test_no_array_is_left_at_its_end():
    """Compiled code does not check that; the same code, not compiled, does."""
    program = (
        "import sys, pyarrow as pa\n"
        "from routejax.pools import found\n"
        "found._FEW = -1\n"
        "texts = sys.stdin.buffer.read().decode().split('\\0')\n"
        "found.find_all(pa.array(texts))\n"
    )
    short = [text for text in CASE_TEXTS if len(text) < 2000]
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        input="\0".join([*many_markers(), *short, *WHITE, "", "think\nA"]).encode(),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        check=True,
    )


@pytest.mark.skipif(not REAL, reason="the real traces are absent")
def test_real_traces():
    assert spans(pa.array(REAL)) == [find(text) for text in REAL]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str
)
def test_every_type_of_text_and_slices_of_it(kind):
    texts = ["<think>A</think>4", "", "é</think>5", "think\nB\nanswer\n6"]
    array = pa.array(texts, kind)
    assert spans(array) == [find(text) for text in texts]
    assert spans(array[1:3]) == [find(text) for text in texts[1:3]]
    assert spans(array[4:]) == []


def test_buffers_of_arrow_are_read_only_and_compiled_for():
    data = np.frombuffer(pa.py_buffer(b"<think>A</think>4"), np.uint8)
    offsets = np.frombuffer(pa.py_buffer(np.array([0, 17])), np.int64)
    engine = found.engine()
    before = len(engine._cut.signatures)
    texts = np.empty(17, np.uint8), np.empty(17, np.uint8)
    states, ends = engine.cut(data, offsets, *texts)
    assert not data.flags.writeable
    assert (before, len(engine._cut.signatures)) == (1, 1)
    assert (states.tolist(), ends.tolist()) == ([0], [[0, 1], [0, 1]])


def test_without_numba_the_plain_reader_does_it(monkeypatch):
    array = pa.array([*REAL[:50], "<think>A</think>4"])
    expected = spans(array)
    monkeypatch.setattr(found, "engine", lambda: None)
    assert spans(array) == expected
