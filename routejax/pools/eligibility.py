"""Which rows may be selected: a table of rules, each with its reason (paper A.2).

A row is rejected by the first rule of a testbed that it fails, and every rejected row
is returned with that rule: none disappears. Left out: the cap on rows per prompt, which
belongs to selection.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from routejax.errors import UserError
from routejax.spans import split

REJECTED_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
    ]
)


class Rule(NamedTuple):
    """Why a row must pass, and which rows of a pool table do."""

    reason: str
    passes: Callable[[pa.Table], Bool[np.ndarray, "N"]]


def _non_empty(table: pa.Table) -> Bool[np.ndarray, "N"]:
    return _has_text(table["prompt"]) & _has_text(table["response"])


def _verified(table: pa.Table) -> Bool[np.ndarray, "N"]:
    return table["verified"].fill_null(False).to_numpy()


def _complete_reasoning(table: pa.Table) -> Bool[np.ndarray, "N"]:
    spans = (split(text.as_py()) for text in table["response"])
    passes = (bool(span.reasoning) and bool(span.answer) for span in spans)
    return np.fromiter(passes, bool, len(table))


RULES: dict[str, Rule] = {
    "non_empty": Rule("prompt or response is blank", _non_empty),
    "verified": Rule("the verifier did not accept the response", _verified),
    "complete_reasoning": Rule(
        "the response has no single, closed reasoning span with an answer after it",
        _complete_reasoning,
    ),
}

# Rules of each testbed in the order in which they are asked.
TESTBEDS: dict[str, tuple[str, ...]] = {
    "rlve": ("non_empty", "verified", "complete_reasoning"),
}


def eligible(table: pa.Table, rules: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """The rows that pass all `rules`, and the others, both in the order of `table`.

    The second table has the columns `id`, `row` (position in `table`) and `rule` (the
    first rule of `rules` that the row fails).

    Raises:
        UserError: a rule that does not exist.
    """
    unknown = [name for name in rules if name not in RULES]
    if unknown:
        raise UserError(
            f"rules must be among {', '.join(RULES)}, got {', '.join(unknown)}"
        )
    failed = np.full(len(table), -1)
    for number, name in enumerate(rules):
        failed[(failed < 0) & ~RULES[name].passes(table)] = number
    rows = np.flatnonzero(failed >= 0)
    names = [rules[number] for number in failed[rows]]
    columns = [table["id"].take(rows).combine_chunks(), rows, names]
    rejected = pa.table(dict(zip(REJECTED_SCHEMA.names, columns, strict=True)))
    return table.filter(pa.array(failed < 0)), rejected.cast(REJECTED_SCHEMA)


def rejection_counts(rejected: pa.Table, rules: Sequence[str]) -> dict[str, int]:
    """How many rows each rule rejected, zeros among them, in the order of `rules`."""
    names = rejected["rule"].to_pylist()
    return {name: names.count(name) for name in rules}


def _has_text(column: pa.ChunkedArray) -> Bool[np.ndarray, "N"]:
    filled = (bool(text.as_py().strip()) for text in column)
    return np.fromiter(filled, bool, len(column))
