"""Which steps of a row say the same words, whatever lies between the words.

Few steps share a key with another one; only those are hashed, found by their hash and
compared word by word, so that the answer is exact. Words are those of `lexicon.words`.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import kernel
from routejax.fingerprints.engine.signs import ALNUM, KIND, folded, has, packed
from routejax.fingerprints.engine.words import word_end

_alnum = blocks.mask_of(np.flatnonzero(KIND & ALNUM).tolist())
_ONE, _MIX = np.uint64(1), np.uint64(0x9E3779B97F4A7C15)


@kernel
def _next_word(text, i, end):
    while i < end and not has(text[i], ALNUM):
        i += 1
    return i


@kernel
def same(text, a, a_end, b, b_end):
    """Whether the words from place `a` are those from place `b`."""
    if a_end - a == b_end - b and _equal(text, a, b, b_end):
        return True
    while True:
        a, b = _next_word(text, a, a_end), _next_word(text, b, b_end)
        if a >= a_end or b >= b_end:
            return a >= a_end and b >= b_end
        a_stop, b_stop = word_end(text, a, a_end), word_end(text, b, b_end)
        if a_stop - a != b_stop - b:
            return False
        while a < a_stop:
            if folded(text[a]) != folded(text[b]):
                return False
            a += 1
            b += 1


@kernel
def _equal(text, a, b, b_end):
    """Whether the bytes from `a` are those of text[b:b_end]."""
    for at in range(b, b_end, blocks.WIDTH):
        if blocks.unlike(text, a + at - b, text, at) & blocks.below(b_end - at) != 0:
            return False
    return True


@kernel
def at_least(text, i, end, count):
    """Whether `count` words begin in text[i:end]."""
    for _ in range(count):
        i = _next_word(text, i, end)
        if i >= end:
            return False
        i = word_end(text, i, end)
    return True


@kernel
def number(text, steps, n, table, group, before):
    """Per step its group (steps of one group say the same), and the step before it in
    the group or -1.

    `table` is room for the least power of two above 2n integers. Keys of steps whose
    key another one has become hashes.
    """
    size = 2
    while size <= 2 * n:
        size *= 2
    shared = _share_keys(steps.key, n, table[:size], before)
    if shared:
        table[:size] = -1
    groups = 0
    for i in range(n):
        found = np.int32(-1)
        if before[i]:
            steps.key[i] = hashed(text, steps.said[i], steps.end[i])
            found = _find(text, steps, i, table[:size])
        before[i] = found
        if found < 0:
            group[i] = groups
            groups += 1
        else:
            group[i] = group[found]


@kernel
def _share_keys(keys, n, table, shared):
    """Marks the steps whose key another one has; whether there are any."""
    table[:] = -1
    shared[:n] = 0
    mask = np.uint64(table.size - 1)
    found = False
    for i in range(n):
        slot = keys[i] & mask
        while table[slot] >= 0 and keys[table[slot]] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = i
        else:
            shared[i] = shared[table[slot]] = 1
            found = True
    return found


@kernel
def _find(text, steps, i, table):
    """The last step before `i` that says the same, or -1; `i` takes its place."""
    said, ends, keys = steps.said, steps.end, steps.key
    mask = np.uint64(table.size - 1)
    slot = keys[i] & mask
    while True:
        last = table[slot]
        if last < 0:
            break
        if keys[last] == keys[i] and same(
            text, said[last], ends[last], said[i], ends[i]
        ):
            break
        slot = (slot + np.uint64(1)) & mask
    table[slot] = i
    return last


@kernel
def hashed(text, begin, end):
    """A hash of letters and digits, whatever lies between them: by runs of up to eight,
    which fill one word of the hash after another."""
    total, held, bits = _MIX, np.uint64(0), np.uint64(0)
    for at in range(begin, end, blocks.WIDTH):
        todo = _alnum(text, at) & blocks.below(end - at)
        while todo != 0:
            first = blocks.lowest(todo)
            length = min(blocks.lowest(~(todo >> first)), np.uint64(8))
            todo &= ~(((_ONE << length) - _ONE) << first)
            begins = at + np.int64(first)
            run = packed(text, begins, begins + np.int64(length))
            held |= run << bits
            bits += length << np.uint64(3)
            if bits >= 64:
                total = (total ^ held) * _MIX
                total ^= total >> np.uint64(32)
                bits -= np.uint64(64)
                held = (run >> _ONE) >> ((length << np.uint64(3)) - bits - _ONE)
    total = (total ^ held) * _MIX
    return total ^ (total >> np.uint64(29))
