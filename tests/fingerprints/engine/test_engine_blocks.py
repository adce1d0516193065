"""Masks of 64 bytes say of each byte what Python says of it."""

import sys

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.dispatcher import Dispatcher

from routejax.fingerprints import engine
from routejax.fingerprints.engine import blocks, said
from routejax.fingerprints.engine import words as engine_words
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.lexicon import words

SIGNS = b"\x00\x1fAZaz09 \n\x7f\x80\xff"
CLASSES = (b"abc", b"09", b"\xff", b"-")
_among, _bits = blocks.mask_of(SIGNS), blocks.mask_with(0b101)
_tally = blocks.tally_of(CLASSES)


@kernel
def among(text, at):
    return _among(text, at)


@kernel
def with_bits(text, at):
    return _bits(text, at)


@kernel
def unlike(text, at, other, to):
    return blocks.unlike(text, at, other, to)


@kernel
def copy(text, at, other, to):
    blocks.copy(text, at, other, to)


@kernel
def tally(text, at, live, counts):
    _tally(text, at, live, counts)


@kernel
def numbers(text, at, mask):
    return (
        blocks.eight(text, at),
        blocks.count(mask),
        blocks.lowest(mask),
        blocks.leading(mask),
    )


def bits(mask: int) -> list[bool]:
    return [bool(int(mask) >> k & 1) for k in range(64)]


texts = st.binary(min_size=80, max_size=80).map(
    lambda data: np.frombuffer(data, np.uint8).copy()
)
places = st.integers(0, 16)


@settings(max_examples=60, deadline=None)
@given(texts, texts, places, places)
def test_masks_and_copies(text, other, at, to):
    block = text[at : at + 64]
    assert bits(among(text, at)) == [byte in SIGNS for byte in block]
    assert bits(with_bits(text, at)) == [bool(byte & 5) for byte in block]
    other[to : to + 32] = block[:32]
    differs = [a != b for a, b in zip(block, other[to : to + 64], strict=True)]
    assert bits(unlike(text, at, other, to)) == differs
    before = other.copy()
    copy(text, at, other, to)
    before[to : to + 64] = block
    assert other.tolist() == before.tolist()


@settings(max_examples=60, deadline=None)
@given(texts, places, st.integers(0, 2**64 - 1))
def test_numbers(text, at, mask):
    eight, count, lowest, leading = numbers(text, at, np.uint64(mask))
    assert eight == int.from_bytes(text[at : at + 8].tobytes(), "little")
    assert count == mask.bit_count()
    assert leading == 64 - mask.bit_length()
    assert lowest == (64 if mask == 0 else (mask & -mask).bit_length() - 1)


def test_no_bit_at_all():
    text = np.zeros(64, np.uint8)
    assert numbers(text, 0, np.uint64(0)) == (0, 0, 64, 64)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 1000])
def test_below(length):
    assert bits(blocks.below(length)) == [k < length for k in range(64)]


@settings(max_examples=60, deadline=None)
@given(texts, places, st.integers(0, 2**64 - 1))
def test_tally(text, at, live):
    counts = np.full(len(CLASSES) + 2, 10, np.int64)
    tally(text, at, np.uint64(live), counts)
    here = [b for k, b in enumerate(text[at : at + 64].tolist()) if live >> k & 1]
    inside = [sum(byte in signs for byte in here) for signs in CLASSES]
    known = b"".join(CLASSES)
    other = sum(byte < 128 and byte not in known for byte in here)
    wide = sum(byte >= 192 for byte in here)
    assert (counts - 10).tolist() == [*inside, other, wide]


def test_spans_are_as_few_as_can_be():
    assert blocks.spans(b"dacbzxy0") == ((48, 48), (97, 100), (120, 122))
    assert blocks.spans(b"") == ()


def key_and_hash(step: str) -> tuple[int, int]:
    text = np.array([*step.encode(), *b"!x9" * 30], np.uint8)
    end = len(step.encode())
    _, key = engine_words.look_over(text, 0, 0, end)
    return int(key), int(said.hashed(text, 0, end))


PIECES = ["don", "'", "t", "x2", "3", " ", "So ", "---", "é", "A", "wordsofmanyletters"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from("- ,;é\n"))
def test_steps_of_the_same_words_share_key_and_hash(pieces, between):
    step = "".join(pieces)
    other = f"{between} ".join(words("§" + step)).upper()
    if words("§" + step) == words("§" + other):
        assert key_and_hash(step) == key_and_hash(other)


def test_hashes_tell_orders_apart_and_keys_lengths():
    steps = [
        "12 34",
        "34 12",
        "1 2 4 3",
        "abcdefgh",
        "abcdefgh0",
        "abcdefg",
        "b",
        "",
        "0",
    ]
    assert len({key_and_hash(step)[1] for step in steps}) == len(steps)
    assert key_and_hash("1 2")[0] != key_and_hash("1 22")[0]


def test_kernels_count_no_references():
    """Else every use of an array costs an atomic instruction (`kernel`)."""
    room = [m for name, m in sys.modules.items() if name.startswith(engine.__name__)]
    kernels = {
        found.py_func.__qualname__: found.targetoptions.get("_nrt", True)
        for module in room
        for found in vars(module).values()
        if isinstance(found, Dispatcher)
    }
    assert len(kernels) > 50
    assert {name for name, counts in kernels.items() if counts} == {"scan", "group"}
