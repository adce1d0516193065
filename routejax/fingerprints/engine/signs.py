"""What single bytes are, as tables, and small tests of bytes that several files ask.

All texts here are plain (`plain`): the only white space is a space or a line break.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import inlined, kernel

# Bits of a byte's kind.
LOWER, UPPER, DIGIT, WHITE, WIDE = 1, 2, 4, 8, 16
CLOSER, MARK_PREFIX, UNDERSCORE = 32, 64, 128
LETTER, ALNUM = LOWER | UPPER, LOWER | UPPER | DIGIT

_LOWER = np.uint64(0x2020202020202020)  # letters to lower case, digits stay

KIND = np.zeros(256, np.uint8)
KIND[ord("a") : ord("z") + 1] = LOWER
KIND[ord("A") : ord("Z") + 1] = UPPER
KIND[ord("0") : ord("9") + 1] = DIGIT
KIND[[ord(" "), ord("\n")]] = WHITE
KIND[128:] = WIDE
for _sign in "\"')]}*_`":
    KIND[ord(_sign)] |= CLOSER
for _sign in "\n *#>(-":
    KIND[ord(_sign)] |= MARK_PREFIX
KIND[ord("_")] |= UNDERSCORE


@inlined
def has(byte, bits):
    """Whether the byte is of one of the kinds."""
    return (KIND[byte] & bits) != 0


@inlined
def folded(byte):
    """A letter in lower case; other bytes stay."""
    return byte | 32 if (KIND[byte] & UPPER) != 0 else byte


@kernel
def says(text, at, end, literal):
    """Whether text[at:end] begins with `literal`, byte for byte."""
    if at + literal.size > end:
        return False
    for k in range(literal.size):
        if text[at + k] != literal[k]:
            return False
    return True


@inlined
def skip_white(text, at, end):
    """The first place from `at` that is no white space."""
    while at < end and (text[at] == 32 or text[at] == 10):
        at += 1
    return at


@inlined
def packed(text, begin, end):
    """Up to eight letters, digits or apostrophes as one number, in lower case; 0 if
    none or longer. Eight bytes from `begin` on are read."""
    if end - begin > 8 or end == begin:
        return np.uint64(0)
    unused = np.uint64(8 * (8 - (end - begin)))
    return (blocks.eight(text, begin) | _LOWER) & (~np.uint64(0) >> unused)


def pack(word: str) -> np.uint64:
    """`packed` of a word of at most eight bytes."""
    assert len(word.encode()) <= 8, f"{word!r} is longer than eight bytes"
    return np.uint64(int.from_bytes(word.lower().encode(), "little"))


@inlined
def among(value, values):
    """Whether a small array holds the value; all are looked at, several at once."""
    found = False
    for k in range(values.size):
        found |= values[k] == value
    return found
