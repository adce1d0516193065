"""SHA-256 of the kernels, of many labels of all lengths, beside hashlib's."""

import hashlib

import numpy as np
import pytest

pytest.importorskip("numba")

from routejax.fingerprints import engine  # noqa: F401
from routejax.fingerprints.engine import sha256


def taken(labels: list[bytes]) -> list[tuple[int, int]]:
    digests, lanes = sha256.digests(len(labels)), sha256.lanes()
    for number, label in enumerate(labels):
        line, chain = np.array([*label, *bytes(64)], np.uint8), sha256.START.copy()
        for at in range(0, len(label) - 63, 64):
            sha256.compress(chain, line, at)
        sha256.add(digests, lanes, number, chain, line, len(label))
    sha256.finish_all(digests, lanes, len(labels))
    pairs = zip(digests.number.tolist(), digests.ninth.tolist(), strict=True)
    return list(pairs)[: len(labels)]


def wanted(label: bytes) -> tuple[int, int]:
    digest = hashlib.sha256(label).digest()
    return int.from_bytes(digest[:8], "big"), digest[8]


def test_abc():
    """The digest of FIPS 180-4: ba7816bf 8f01cfea 41…"""
    assert taken([b"abc"]) == [(0xBA7816BF8F01CFEA, 0x41)]


def test_every_length():
    rng = np.random.default_rng(0)
    labels = [rng.bytes(length) for length in range(201)]
    assert taken(labels) == [wanted(label) for label in labels]


@pytest.mark.parametrize("count", [0, 1, sha256.LANES - 1, *range(8, 18)])
def test_lanes_that_stay_empty(count):
    """Long labels first: nothing of them is left in the lanes of shorter ones."""
    labels = [b"x" * (200 - 11 * k) for k in range(count)]
    assert taken(labels) == [wanted(label) for label in labels]


def test_a_length_of_more_than_two_bytes():
    label = b"a" * 40_000
    assert taken([label]) == [wanted(label)]


def test_the_start_is_left_as_it_is():
    before = sha256.START.copy()
    taken([b"x" * 100])
    assert np.array_equal(sha256.START, before)
