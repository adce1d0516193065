"""SHA-256 (FIPS 180-4) of labels, of eight of them at once.

A label is hashed block by block; its chain is the eight words that follow from all
blocks so far. Most labels end in their first block. Last blocks wait in `Lanes` until
eight have come, and are taken together: each word is then a vector with a lane per
label, which costs no more than one label. LLVM finds the vectors of the machine.
`hashlib` is what the tests compare with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8, UInt32, UInt64
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import kernel

LANES = 8


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
_K = [int(word) for word in _roots(3, 64)]
_PADDING = np.array([128] + 64 * [0], np.uint8)  # what follows a label
_WORD, _ROW = ir.IntType(32), ir.VectorType(ir.IntType(32), 16)


class Lanes(NamedTuple):
    """Last blocks of labels, one behind the other, which are filled in this order, and
    the chains before them, a column each; `own` is room for one chain."""

    block: UInt8[np.ndarray, "9*64"]
    chain: UInt32[np.ndarray, "8*8"]
    own: UInt32[np.ndarray, "8"]


class Digests(NamedTuple):
    """Per label the first 64 bits of its digest, big-endian, and byte 8."""

    number: UInt64[np.ndarray, "labels"]
    ninth: UInt8[np.ndarray, "labels"]


def lanes() -> Lanes:
    return Lanes(
        np.zeros(64 * LANES + 64, np.uint8),
        np.zeros(8 * LANES, np.uint32),
        np.zeros(8, np.uint32),
    )


def digests(count: int) -> Digests:
    """Room for `count` labels, and for the lanes that are empty."""
    return Digests(
        np.empty(count + LANES, np.uint64), np.empty(count + LANES, np.uint8)
    )


class _Rounds:
    """The compression function as instructions on words or vectors of words."""

    def __init__(self, builder: ir.IRBuilder, kind: ir.Type) -> None:
        self.builder, self.kind = builder, kind

    def constant(self, value: int) -> ir.Constant:
        if isinstance(self.kind, ir.VectorType):
            return ir.Constant(self.kind, [value] * self.kind.count)
        return ir.Constant(self.kind, value)

    def turned(self, x: Any, n: int) -> Any:
        low = self.builder.lshr(x, self.constant(n))
        return self.builder.or_(low, self.builder.shl(x, self.constant(32 - n)))

    def moved(self, x: Any, n: int) -> Any:
        return self.builder.lshr(x, self.constant(n))

    def xor(self, x: Any, y: Any, z: Any) -> Any:
        return self.builder.xor(self.builder.xor(x, y), z)

    def sum(self, x: Any, *others: Any) -> Any:
        for other in others:
            x = self.builder.add(x, other)
        return x

    def compressed(self, chain: list[Any], words: list[Any]) -> list[Any]:
        """The chain that follows when 16 words are taken in."""
        w = list(words)
        for t in range(16, 64):
            x, y = w[t - 15], w[t - 2]
            s0 = self.xor(self.turned(x, 7), self.turned(x, 18), self.moved(x, 3))
            s1 = self.xor(self.turned(y, 17), self.turned(y, 19), self.moved(y, 10))
            w.append(self.sum(w[t - 16], s0, w[t - 7], s1))
        both, either = self.builder.and_, self.builder.or_
        a, b, c, d, e, f, g, h = chain
        for t in range(64):
            s1 = self.xor(self.turned(e, 6), self.turned(e, 11), self.turned(e, 25))
            chosen = self.builder.xor(g, both(e, self.builder.xor(f, g)))
            t1 = self.sum(h, w[t], self.constant(_K[t]), chosen, s1)
            s0 = self.xor(self.turned(a, 2), self.turned(a, 13), self.turned(a, 22))
            majority = either(both(a, b), both(c, either(a, b)))
            h, g, f, e, d, c, b = g, f, e, self.builder.add(d, t1), c, b, a
            a = self.sum(t1, majority, s0)
        new = (a, b, c, d, e, f, g, h)
        return [self.sum(x, y) for x, y in zip(chain, new, strict=True)]


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any, to: Any) -> Any:
    """Where `to` begins `at` elements into the array."""
    data = context.make_array(kind)(context, builder, array).data
    at = ir.Constant(ir.IntType(64), at) if isinstance(at, int) else at
    place = builder.gep(data, [at])
    return builder.bitcast(place, to.as_pointer())


def _reads(builder: Any, words: Any) -> Any:
    """Words of bytes in the order of memory, as big-endian numbers."""
    name = "llvm.bswap.v16i32"
    kind = ir.FunctionType(_ROW, [_ROW])
    known = builder.module.globals.get(name)
    return builder.call(known or ir.Function(builder.module, kind, name), [words])


def _columns(builder: Any, rows: list[Any]) -> list[Any]:
    """Eight rows of 16 words as 16 columns of eight, by three perfect shuffles."""

    def shuffled(a: Any, b: Any, order: list[int]) -> Any:
        kind = ir.VectorType(_WORD, len(order))
        return builder.shuffle_vector(a, b, ir.Constant(kind, order))

    low = [k // 2 + 16 * (k % 2) for k in range(16)]
    high = [k + 8 for k in low]
    for _ in range(3):
        pairs = zip(rows[:4], rows[4:], strict=True)
        rows = [shuffled(a, b, order) for a, b in pairs for order in (low, high)]
    halves = (list(range(8)), list(range(8, 16)))
    return [shuffled(row, row, half) for row in rows for half in halves]


def _of_lanes(typing, chain, block):  # type: ignore[no-untyped-def]
    """Takes the blocks of all lanes into their chains."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = ir.VectorType(_WORD, LANES)
        chain_of, block_of = zip(signature.args, args, strict=True)
        places = [
            _place(context, builder, *chain_of, LANES * k, kind) for k in range(8)
        ]
        rows = [
            builder.load(_place(context, builder, *block_of, 64 * k, _ROW), align=1)
            for k in range(LANES)
        ]
        words = _columns(builder, [_reads(builder, row) for row in rows])
        old = [builder.load(place, align=4) for place in places]
        new = _Rounds(builder, kind).compressed(old, words)
        for place, word in zip(places, new, strict=True):
            builder.store(word, place, align=4)
        return context.get_dummy_value()

    return types.void(chain, block), generate


def _of_one(typing, chain, block, at):  # type: ignore[no-untyped-def]
    """Takes the 64 bytes of `block` from `at` on into the eight words of `chain`."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        chain_of, block_of = zip(signature.args[:2], args[:2], strict=True)
        places = [_place(context, builder, *chain_of, k, _WORD) for k in range(8)]
        row = builder.load(_place(context, builder, *block_of, args[2], _ROW), align=1)
        row = _reads(builder, row)
        words = [builder.extract_element(row, ir.Constant(_WORD, k)) for k in range(16)]
        old = [builder.load(place) for place in places]
        new = _Rounds(builder, _WORD).compressed(old, words)
        for place, word in zip(places, new, strict=True):
            builder.store(word, place)
        return context.get_dummy_value()

    return types.void(chain, block, types.int64), generate


_compress_lanes: Any = intrinsic(_of_lanes)
_compress: Any = intrinsic(_of_one)


@kernel
def compress(chain, block, at):
    """Takes the 64 bytes of `block` from `at` on into `chain`, eight words."""
    _compress(chain, block, at)


@kernel
def finish_all(digests, lanes, labels):
    """Hashes the lanes of the last labels, if there are any."""
    waiting = labels % LANES
    if waiting:
        _take(digests, lanes, labels - waiting)


@kernel
def _take(digests, lanes, first):
    """Hashes all lanes, whose labels are numbered from `first` on."""
    chain = lanes.chain
    _compress_lanes(chain, lanes.block)
    for k in range(LANES):
        high = np.uint64(chain[k]) << np.uint64(32)
        digests.number[first + k] = high | np.uint64(chain[LANES + k])
        digests.ninth[first + k] = chain[2 * LANES + k] >> np.uint32(24)


@kernel
def add(digests, lanes, label, chain, line, length):
    """Hashes this label, the bytes line[:length], or lets it wait for others.

    `chain` is that of its whole blocks. Labels are numbered from 0 on; the digests are
    there after `finish_all`. 64 bytes can be read from anywhere in `line`.
    """
    lane, rest = label % LANES, length & 63
    block, chains, at = lanes.block, lanes.chain, 64 * lane
    blocks.copy(line, length - rest, block, at)
    blocks.copy(_PADDING, 0, block, at + rest)
    if rest < 56:
        for k in range(8):
            chains[LANES * k + lane] = chain[k]
    else:
        own = lanes.own
        for k in range(8):
            own[k] = chain[k]
        compress(own, block, at)
        for k in range(8):
            chains[LANES * k + lane] = own[k]
        blocks.copy(_PADDING, 1, block, at)
    for k in range(4):
        block[at + 60 + k] = np.uint8((length >> (21 - 8 * k)) & 255)
    block[at + 63] = np.uint8((length << 3) & 255)
    if lane == LANES - 1:
        _take(digests, lanes, label + 1 - LANES)
