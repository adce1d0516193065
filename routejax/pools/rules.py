"""Which rows may be selected: a table of rules, each with its reason (paper A.2, C.4).

A rule looks at one row, or (`at_most`) counts rows with the same key and lets the first
so many pass. Only hashes of keys are remembered, so a pool of any size can be judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from routejax.spans import COMPLETE_STATES, split

LONGEST_CONVERSATION = 50_000  # characters over all messages (paper C.4)
PER_PROMPT = 8  # solutions to one prompt in the single-teacher pool (paper, table 7)
_KEY_BYTES = 16

Mask = Bool[np.ndarray, "N"]


class Rule(NamedTuple):
    """Why a row must pass, and which rows of a batch do.

    Attributes:
        reason: in words, of a row that fails.
        columns: of the stream that the rule looks at.
        passes: which rows pass; None for a rule that counts.
        key: the text whose equals are counted, `at_most` of which pass, the first ones.
    """

    reason: str
    columns: tuple[str, ...]
    passes: Callable[[pa.RecordBatch], Mask] | None = None
    key: str = ""
    at_most: int = 0


def keys(batch: pa.RecordBatch, rule: Rule) -> list[bytes]:
    """One hash of 16 bytes per row of what a counting rule counts."""
    texts = batch[rule.key].cast(pa.large_string())
    _, places, data = texts.buffers()
    ends = np.frombuffer(places, np.int64)[texts.offset :][: len(texts) + 1]
    view = memoryview(data or b"")
    return [
        hashlib.sha256(view[a:b]).digest()[:_KEY_BYTES]
        for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]


def _non_empty(batch: pa.RecordBatch) -> Mask:
    return _has_text(batch["prompt"]) & _has_text(batch["response"])


def _verified(batch: pa.RecordBatch) -> Mask:
    return _mask(batch["verified"].fill_null(False))


def _tagged(batch: pa.RecordBatch) -> Mask:
    found = (split(text) for text in batch["response"].to_pylist())
    passes = (bool(span.reasoning) and bool(span.answer) for span in found)
    return np.fromiter(passes, bool, batch.num_rows)


def _complete(batch: pa.RecordBatch) -> Mask:
    states = np.array([s in COMPLETE_STATES for s in batch["span"].dictionary.tolist()])
    known = states[batch["span"].indices.to_numpy()]
    return known & _not_empty(batch["reasoning"]) & _not_empty(batch["answer"])


def _single_turn(batch: pa.RecordBatch) -> Mask:
    return batch["turns"].to_numpy() == 2


def _short(batch: pa.RecordBatch) -> Mask:
    return batch["characters"].to_numpy() <= LONGEST_CONVERSATION


def _boxed(batch: pa.RecordBatch) -> Mask:
    return _matches(batch["response"], r"\\boxed\s*\{\s*[^\s}]")


def _steps(batch: pa.RecordBatch) -> Mask:
    listed = batch["steps"].to_pylist()
    usable = (bool(steps) and all(s and s.strip() for s in steps) for steps in listed)
    return np.fromiter(usable, bool, batch.num_rows)


def _has_text(column: pa.Array) -> Mask:
    """Which texts are not blank; any white space counts as blank."""
    filled = _matches(column, "[!-~]").copy()
    for row in np.flatnonzero(~filled):  # few: blank, or without an ASCII character
        filled[row] = bool(column[int(row)].as_py().strip())
    return filled


def _not_empty(column: pa.Array) -> Mask:
    return pc.call_function("binary_length", [column]).to_numpy() > 0


def _matches(column: pa.Array, pattern: str) -> Mask:
    options = pc.MatchSubstringOptions(pattern)
    return _mask(pc.call_function("match_substring_regex", [column], options))


def _mask(column: pa.BooleanArray) -> Mask:
    return column.to_numpy(zero_copy_only=False)


RULES: dict[str, Rule] = {
    "non_empty": Rule(
        "prompt or response is blank", ("prompt", "response"), _non_empty
    ),
    "verified": Rule(
        "the verifier did not accept the response", ("verified",), _verified
    ),
    # as rewards are paid: both markers stand in the response, nothing before them
    "complete_reasoning": Rule(
        "the response has no single, closed reasoning span with an answer after it",
        ("response",),
        _tagged,
    ),
    # as corpora are released: any pair of markers, the opening one may be a template's
    "complete_span": Rule(
        "the conversation has no single, closed reasoning with an answer after it",
        ("span", "reasoning", "answer"),
        _complete,
    ),
    "single_turn": Rule(
        "the conversation is not one user and one assistant turn",
        ("turns",),
        _single_turn,
    ),
    "at_most_50000_characters": Rule(
        "the messages have more than 50,000 characters", ("characters",), _short
    ),
    "boxed_answer": Rule("the response has no boxed answer", ("response",), _boxed),
    "usable_steps": Rule(
        "there are no step annotations, or one of them is blank", ("steps",), _steps
    ),
    "distinct_response": Rule(
        "an earlier row has the same response",
        ("response",),
        key="response",
        at_most=1,
    ),
    "at_most_8_per_prompt": Rule(
        "eight earlier rows answer the same prompt",
        ("prompt_id",),
        key="prompt_id",
        at_most=PER_PROMPT,
    ),
}

_RELEASED = ("non_empty", "single_turn", "complete_span")
# Rules of each testbed in the order in which they are asked.
TESTBEDS: dict[str, tuple[str, ...]] = {
    "rlve": ("non_empty", "verified", "complete_reasoning"),
    "omega": (
        *("non_empty", "verified", "boxed_answer", "usable_steps"),
        "distinct_response",
    ),
    "dolci": ("non_empty", "verified"),
    "single_teacher": ("non_empty", "verified", "at_most_8_per_prompt"),
    "sokoban": ("non_empty", "verified"),
    "openthoughts3": _RELEASED,
    "intellect3": _RELEASED,
    "nemotron_cascade2": (*_RELEASED, "at_most_50000_characters"),
}
