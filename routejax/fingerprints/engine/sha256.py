"""SHA-256 (FIPS 180-4), so that labels can be hashed as they grow.

A state is eight words of chain, the block begun and the length so far; a longer label
continues the state of a shorter one. `hashlib` is what the tests compare with.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


def _roots(power: int, count: int) -> np.ndarray:
    """The first 32 bits of the fractional parts of the roots of the first primes."""
    primes = [
        p for p in range(2, 312) if all(p % q for q in range(2, math.isqrt(p) + 1))
    ]
    words = []
    for prime in primes[:count]:
        scaled = prime << (32 * power)
        root = math.isqrt(scaled) if power == 2 else _cube_root(scaled)
        words.append(root & 0xFFFFFFFF)
    return np.array(words, np.uint32)


def _cube_root(value: int) -> int:
    low, high = 0, 1 << (value.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= value else (low, middle - 1)
    return low


START = _roots(2, 8)
_K = _roots(3, 64)


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _turned(x, n):
    return (x >> np.uint32(n)) | (x << np.uint32(32 - n))


@njit(nogil=True, cache=True, error_model="numpy")
def compress(chain, block, w):
    """Takes the 64 bytes of `block` into `chain`; `w` is room for 64 words."""
    for i in range(16):
        w[i] = (
            (np.uint32(block[4 * i]) << np.uint32(24))
            | (np.uint32(block[4 * i + 1]) << np.uint32(16))
            | (np.uint32(block[4 * i + 2]) << np.uint32(8))
            | np.uint32(block[4 * i + 3])
        )
    for i in range(16, 64):
        x, y = w[i - 15], w[i - 2]
        s0 = _turned(x, 7) ^ _turned(x, 18) ^ (x >> np.uint32(3))
        s1 = _turned(y, 17) ^ _turned(y, 19) ^ (y >> np.uint32(10))
        w[i] = np.uint32(w[i - 16] + s0 + w[i - 7] + s1)
    a, b, c, d = chain[0], chain[1], chain[2], chain[3]
    e, f, g, h = chain[4], chain[5], chain[6], chain[7]
    for i in range(64):
        s1 = _turned(e, 6) ^ _turned(e, 11) ^ _turned(e, 25)
        t1 = np.uint32(h + s1 + ((e & f) ^ (~e & g)) + _K[i] + w[i])
        s0 = _turned(a, 2) ^ _turned(a, 13) ^ _turned(a, 22)
        t2 = np.uint32(s0 + ((a & b) ^ (a & c) ^ (b & c)))
        h, g, f = g, f, e
        e = np.uint32(d + t1)
        d, c, b = c, b, a
        a = np.uint32(t1 + t2)
    chain[0] += a
    chain[1] += b
    chain[2] += c
    chain[3] += d
    chain[4] += e
    chain[5] += f
    chain[6] += g
    chain[7] += h


@njit(nogil=True, cache=True, error_model="numpy")
def extend(chain, block, length, flat, begin, end, w):
    """Adds the bytes flat[begin:end]; the length then."""
    for k in range(begin, end):
        block[length & 63] = flat[k]
        length += 1
        if length & 63 == 0:
            compress(chain, block, w)
    return length


@njit(nogil=True, cache=True, error_model="numpy")
def finish(chain, block, length, w):
    """The first eight bytes of the digest as a big-endian number, and byte 8.

    `chain` and `block` are used up.
    """
    at = length & 63
    block[at] = 128
    for k in range(at + 1, 64):
        block[k] = 0
    if at >= 56:
        compress(chain, block, w)
        block[:] = 0
    bits = np.uint64(length) << np.uint64(3)
    for k in range(8):
        block[56 + k] = np.uint8((bits >> np.uint64(56 - 8 * k)) & np.uint64(255))
    compress(chain, block, w)
    number = (np.uint64(chain[0]) << np.uint64(32)) | np.uint64(chain[1])
    return number, np.uint8(chain[2] >> np.uint32(24))
