"""SHA-256 of the kernels, of whole labels and of labels that grow, beside hashlib's."""

import hashlib

import numpy as np
import pytest

pytest.importorskip("numba")

from routejax.fingerprints import engine  # noqa: F401
from routejax.fingerprints.engine import sha256


def taken(pieces: list[bytes]) -> tuple[int, int]:
    chain, block = sha256.START.copy(), np.empty(64, np.uint8)
    words, length = np.empty(64, np.uint32), 0
    for piece in pieces:
        flat = np.array([*piece, 0], np.uint8)
        length = sha256.extend(chain, block, length, flat, 0, len(piece), words)
    number, ninth = sha256.finish(chain, block, length, words)
    return int(number), int(ninth)


def wanted(text: bytes) -> tuple[int, int]:
    digest = hashlib.sha256(text).digest()
    return int.from_bytes(digest[:8], "big"), digest[8]


def test_abc():
    """The digest of FIPS 180-4: ba7816bf 8f01cfea 41…"""
    assert taken([b"abc"]) == (0xBA7816BF8F01CFEA, 0x41)


def test_every_length():
    rng = np.random.default_rng(0)
    for length in range(201):
        text = rng.bytes(length)
        cut = int(rng.integers(length + 1))
        assert taken([text]) == taken([text[:cut], text[cut:]]) == wanted(text), length


def test_the_start_is_left_as_it_is():
    before = sha256.START.copy()
    taken([b"x" * 100])
    assert np.array_equal(sha256.START, before)
