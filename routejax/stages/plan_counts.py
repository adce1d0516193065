"""Counts by hand: parameters, bytes per device, floating-point operations of a step.

Nothing here compiles. N is the number of parameters, M those that multiply (all but an
embedding that is only looked up, and norms), T the tokens of a step:

    model FLOPs   6·M·T + 12·L·H·C·pairs
    done again    2·B·T + 4·L·H·C·pairs (full remat) + 2·V·E·T (logits in chunks)
                  + 2·L·H·C·pairs (attention in blocks: the scores)
    prefill       2·B·Q·P + 2·V·E·Q + 4·L·H·C·pairs (Q prompts of P tokens)
    decoding      2·M·N·R + 4·L·H·C·N·R·(P + R) (N responses of R tokens; every token
                  is compared with the whole cache, of which it sees a part)

where B is M without the output matrix and, of what is done again in families with norms
before the blocks, without the last map of the MLP, whose result nothing needs again. A
matrix product of one token costs 2 per weight forward and 4 backward; attention costs
2·2·H·C per pair of tokens (scores, then values) forward and twice that backward.
`pairs` are those of one layer, averaged: T(T + 1)/2 of a causal row of length T, fewer
under a window. These are estimates of what must be held and done; `plan` puts what the
compiler says beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Sizes(NamedTuple):
    """One student; the letters are those of `routejax.__init__`."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    mlp_width: int
    tied: bool
    windows: tuple[int | None, ...]  # of every layer; None sees the whole row
    norms: int  # parameters of all norms


class Parts(NamedTuple):
    """Parameters by what they do."""

    embedding: int
    head: int  # 0 where the embedding serves
    blocks: int  # matrices of all layers
    norms: int

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def multiplied(self) -> int:
        """Weights that every token is multiplied with."""
        return self.blocks + (self.head or self.embedding)


def parameters(s: Sizes) -> Parts:
    attention = s.width * s.head_width * (2 * s.heads + 2 * s.kv_heads)
    matrices = attention + 3 * s.width * s.mlp_width
    table = s.vocabulary * s.width
    return Parts(table, 0 if s.tied else table, s.layers * matrices, s.norms)


def pairs(length: int, window: int | None) -> int:
    """(query, key) pairs of a causal row, each query seeing at most `window` keys."""
    if window is None or window >= length:
        return length * (length + 1) // 2
    return window * (window + 1) // 2 + (length - window) * window


class Flops(NamedTuple):
    """Of one pass over some rows."""

    weights: float
    attention: float

    @property
    def total(self) -> float:
        return self.weights + self.attention


def forward(s: Sizes, rows: float, length: int) -> Flops:
    """Of `rows` full rows with logits at every token."""
    count = parameters(s)
    seen = sum(pairs(length, window) for window in s.windows)
    return Flops(
        weights=2.0 * count.multiplied * rows * length,
        attention=4.0 * s.heads * s.head_width * seen * rows,
    )


def training(s: Sizes, rows: float, length: int) -> Flops:
    """Forward and backward: three forwards."""
    once = forward(s, rows, length)
    return Flops(3 * once.weights, 3 * once.attention)


def prefill(s: Sizes, rows: float, length: int) -> Flops:
    """Of `rows` prompts with logits at the last token of each."""
    once, count = forward(s, rows, length), parameters(s)
    left_out = 2.0 * (count.multiplied - count.blocks) * rows * (length - 1)
    return Flops(once.weights - left_out, once.attention)


def decoding(
    s: Sizes, rows: float, start: int, new: int, *, whole_cache: bool
) -> Flops:
    """Of `new` tokens, one after the other, in each of `rows` rows of `start` tokens.

    Args:
        whole_cache: every token is compared with all `start + new` columns of every
            layer, seen or not; else with those that it sees.
    """
    length = start + new
    seen = sum(pairs(length, window) - pairs(start, window) for window in s.windows)
    if whole_cache:
        seen = s.layers * length * new
    return Flops(
        weights=2.0 * parameters(s).multiplied * rows * new,
        attention=4.0 * s.heads * s.head_width * seen * rows,
    )


def done_again(
    s: Sizes,
    rows: float,
    length: int,
    *,
    blocks: bool,
    last_map: bool,
    head: bool,
    scores: bool,
) -> Flops:
    """What a backward pass computes a second time.

    Args:
        blocks: layers are done again from their inputs.
        last_map: also the MLP's last map, whose output a norm after it needs.
        head: logits are made in chunks and not kept.
        scores: attention keeps no array of pairs.
    """
    count, once = parameters(s), forward(s, rows, length)
    kept = 0 if last_map else s.layers * s.width * s.mlp_width
    weights = blocks * (count.blocks - kept) + head * s.vocabulary * s.width
    attention = (blocks + 0.5 * scores) * once.attention
    return Flops(2.0 * weights * rows * length, attention)


def block_pairs(length: int, window: int | None, block: int) -> int:
    """Pairs of blocks that attention in blocks works on, in a row of one example."""
    count = math.ceil(length / block)
    if window is None:
        return count * (count + 1) // 2
    first = (max(0, (i * block - window + 1) // block) for i in range(count))
    return sum(i + 1 - at for i, at in enumerate(first))


def cache_bytes(
    s: Sizes, rows: float, slots: int, *, shards: int = 1, itemsize: int = 2
) -> float:
    """Keys and values of `rows` sequences of `slots` tokens, per device."""
    each = 2 * s.layers * s.kv_heads * s.head_width * itemsize
    return each * rows * slots / shards


def saved_bytes(
    s: Sizes, rows: float, length: int, *, tensor: int = 1, itemsize: int = 2
) -> float:
    """Activations that full remat keeps for the backward pass, per device.

    The input of every block, and what one block needs while it is done again: queries,
    keys, values and output, three MLP activations, and the slopes of all these.
    """
    tokens = rows * length
    inputs = s.layers * s.width
    inner = (2 * s.heads + 2 * s.kv_heads) * s.head_width + 3 * s.mlp_width
    return tokens * itemsize * (inputs + 2 * s.width + 2 * inner / tensor)


def table_bytes(s: Sizes, *, tensor: int = 1, itemsize: int = 2) -> float:
    """The embedding and the output matrix of one pass on every device.

    Each gathered in the dtype of use, the second also in float32, and their two slopes
    in float32 before they are summed over the devices.
    """
    return s.vocabulary * s.width * (2 * itemsize + 3 * 4) / tensor


def windows(layers: int, pattern: Sequence[int | None]) -> tuple[int | None, ...]:
    """The pattern repeated over the layers."""
    return tuple(pattern[i % len(pattern)] for i in range(layers))


def shares(mesh: Mapping[str, int]) -> tuple[int, int]:
    """Devices that divide the parameters, and those that divide the rows."""
    rows = mesh["replica"] * mesh["data"] * mesh["fsdp"]
    return mesh["fsdp"] * mesh["tensor"], rows
