"""Tokens of documents to bucket counts and to projected TF-IDF, compiled by numba.

Numba widens int32 to int64 unless every step is narrowed again, which `int32(...)`
does, and makes a float of an unsigned and a signed integer, so constants are uint64.
"""

from typing import no_type_check

import numpy as np
from numba import int32, njit, uint64

_HOW = {"nogil": True, "cache": True, "error_model": "numpy"}
_STEP = uint64(0x9E3779B97F4A7C15)
UNIT = 2**20  # weights of a document are integers, the length of all of them is this


@njit(**_HOW)
@no_type_check
def mixed(state):
    """The output of SplitMix64 in this state (Steele, Lea and Flood, 2014)."""
    z = (state ^ (state >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@njit(**_HOW)
@no_type_check
def gather(tokens, shift, counts, seen):
    """Counts unigrams and bigrams by bucket; how many buckets were `seen`, in order.

    `counts` must be zero; the caller sets what was counted back to zero.
    """
    found = 0
    for i in range(len(tokens)):
        for width in range(1 if i == 0 else 2):
            if width == 0:
                key = (uint64(tokens[i]) + uint64(1)) << uint64(32)
            else:
                key = (uint64(tokens[i - 1]) + uint64(1)) << uint64(32)
                key = key + uint64(tokens[i]) + uint64(1)
            bucket = np.int64(mixed(key + _STEP) >> shift)
            if counts[bucket] == 0:
                seen[found] = bucket
                found += 1
            counts[bucket] += 1
    return found


@njit(**_HOW)
@no_type_check
def add_documents(tokens, starts, shift, counts, seen, documents):
    """Adds one to `documents` for every bucket of each document."""
    for d in range(len(starts) - 1):
        found = gather(tokens[starts[d] : starts[d + 1]], shift, counts, seen)
        for i in range(found):
            documents[seen[i]] += 1
            counts[seen[i]] = 0


@njit(**_HOW)
@no_type_check
def project(tokens, starts, shift, idf, seed, counts, seen, out):
    """Writes the projected TF-IDF of each document to its row of `out`.

    All sums over buckets are of integers, so their order does not matter. The signs of
    a bucket are made when it is met: 32 columns share a step, each of another half
    word, so the inner loop is one vector instruction after the other.
    """
    halves = (out.shape[1] + 31) // 32
    words = (halves + 1) // 2
    signs = np.empty(2 * words, np.int32)
    sums = np.empty((32, halves), np.int32)
    weights = np.empty(len(seen))
    for d in range(len(starts) - 1):
        found = gather(tokens[starts[d] : starts[d + 1]], shift, counts, seen)
        square = 0.0
        for i in range(found):
            bucket = seen[i]
            weights[i] = (1.0 + np.log(np.float64(counts[bucket]))) * idf[bucket]
            square += weights[i] * weights[i]
            counts[bucket] = 0
        rate = UNIT / np.sqrt(square) if found else 0.0
        sums[:] = 0
        total = 0
        for i in range(found):
            weight = int32(np.rint(weights[i] * rate))
            total += weight
            state = seed + uint64(seen[i]) * uint64(words) * _STEP
            for j in range(words):
                state = state + _STEP
                word = mixed(state)
                signs[2 * j] = int32(word & uint64(0xFFFFFFFF))
                signs[2 * j + 1] = int32(word >> uint64(32))
            for bit in range(32):
                up = int32(bit)
                for j in range(halves):
                    mask = int32(int32(signs[j] << up) >> int32(31))
                    sums[bit, j] = int32(sums[bit, j] + int32(weight & mask))
        for column in range(out.shape[1]):
            plus = np.int64(sums[column // halves, column % halves])
            out[d, column] = 2 * plus - total
