"""Examples of unequal length in rows of one length, without attention across examples.

First-fit decreasing: longest example first, into the first row with room, so the same
examples always give the same rows. The number of rows is rounded up to a multiple, so
that few shapes are compiled. Nothing is cut: an example longer than a row is an error,
because its caller has to decide, count and report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from routejax.errors import UserError


class Example(NamedTuple):
    """Token ids of one prompt and its response, with EOS if the response ended."""

    prompt: Sequence[int]
    response: Sequence[int]


class Packed(NamedTuple):
    """Rows of examples. Padding has segment 0, example -1 and is no response."""

    tokens: Int[np.ndarray, "B T"]
    segments: Int[np.ndarray, "B T"]  # 1, 2, … within a row
    positions: Int[np.ndarray, "B T"]  # 0, 1, … within an example
    response: Bool[np.ndarray, "B T"]  # tokens the loss is about
    example: Int[np.ndarray, "B T"]  # index into the packed examples


def pack(
    examples: Sequence[Example], *, row_tokens: int, row_multiple: int = 1
) -> Packed:
    """All examples in rows of `row_tokens`; the row count is a multiple of the given.

    Raises:
        UserError: an example does not fit in a row, or has no prompt, so that nothing
            in its row would predict its first response token.
    """
    for number, example in enumerate(examples):
        if not len(example.prompt):
            raise UserError(
                f"example {number} has no prompt tokens; begin it with BOS at least"
            )
    rows = assign([len(e.prompt) + len(e.response) for e in examples], row_tokens)
    height = max(1, -(-len(rows) // row_multiple)) * row_multiple
    shape = (height, row_tokens)
    packed = Packed(
        tokens=np.zeros(shape, np.int32),
        segments=np.zeros(shape, np.int32),
        positions=np.zeros(shape, np.int32),
        response=np.zeros(shape, bool),
        example=np.full(shape, -1, np.int32),
    )
    for r, members in enumerate(rows):
        at = 0
        for segment, index in enumerate(members, 1):
            prompt, response = examples[index]
            length = len(prompt) + len(response)
            here = slice(at, at + length)
            packed.tokens[r, here] = [*prompt, *response]
            packed.segments[r, here] = segment
            packed.positions[r, here] = np.arange(length)
            packed.response[r, at + len(prompt) : at + length] = True
            packed.example[r, here] = index
            at += length
    return packed


def assign(lengths: Sequence[int], row_tokens: int) -> list[list[int]]:
    """Example indices per row, by first-fit decreasing; equal lengths by index."""
    rows: list[list[int]] = []
    free: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        length = lengths[index]
        if length > row_tokens:
            raise UserError(
                f"an example has {length} tokens but a row holds {row_tokens}; "
                "raise row_tokens or leave the example out"
            )
        fitting = (r for r, room in enumerate(free) if length <= room)
        r = next(fitting, len(rows))
        if r == len(rows):
            rows.append([])
            free.append(row_tokens)
        rows[r].append(index)
        free[r] -= length
    return rows
