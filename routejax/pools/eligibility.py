"""Eligible rows, and the rejected ones with the rule that each fails.

A row is rejected by the first rule of a testbed that it fails, and every rejected row
is returned with that rule: none disappears. For a whole table, `eligible`. For a
stream, `judge` any batch in any order and on any worker, then `Memory.settle` the
verdicts in the order of the pool: only rules that count rows need the order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Int8

from routejax.errors import UserError
from routejax.pools.canonical import beyond
from routejax.pools.rules import RULES, keys
from routejax.pools.stream import STREAM_SCHEMA, Unreadable

REJECTED_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
        pa.field("file", pa.string()),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
UNREADABLE = "unreadable"
_PASSED = 127  # behind the number of every rule


class Verdicts(NamedTuple):
    """What the rows of a batch are worth before rows of other batches are known.

    `failed` is the number of the first rule that looks at one row alone and that the
    row fails, 127 if there is none; `keys` are hashes of the rows, by counting rule.
    """

    failed: Int8[np.ndarray, "N"]
    keys: Mapping[str, Sequence[bytes]]


@dataclasses.dataclass(frozen=True)
class Memory:
    """What counting rules must remember of the rows before: hashes, and how many."""

    rules: tuple[str, ...]
    seen: dict[str, dict[bytes, int]] = dataclasses.field(default_factory=dict)

    def settle(self, verdicts: Verdicts) -> Int8[np.ndarray, "N"]:
        """The number of the first rule that each row fails, -1 for eligible rows.

        A counting rule counts the rows that passed all rules before it.
        """
        failed = verdicts.failed.copy()
        for number, name in enumerate(self.rules):
            if name in verdicts.keys:
                seen = self.seen.setdefault(name, {})
                for row in np.flatnonzero(failed > number).tolist():
                    key = verdicts.keys[name][row]
                    seen[key] = seen.get(key, 0) + 1
                    if seen[key] > RULES[name].at_most:
                        failed[row] = number
        return np.where(failed == _PASSED, np.int8(-1), failed)


def columns_for(rules: Sequence[str]) -> tuple[str, ...]:
    """The columns of a stream that rules look at, with those that name a row.

    Raises:
        UserError: a rule that does not exist.
    """
    _check(rules)
    needed = {"id", "row"} | {c for name in rules for c in RULES[name].columns}
    return tuple(name for name in STREAM_SCHEMA.names if name in needed)


def judge(batch: pa.RecordBatch, rules: Sequence[str]) -> Verdicts:
    """How the rows of a batch with `columns_for(rules)` fare under rules.

    Raises:
        UserError: a rule that does not exist.
    """
    _check(rules)
    failed = np.full(batch.num_rows, _PASSED, np.int8)
    counted = {}
    for number, name in enumerate(rules):
        rule = RULES[name]
        if rule.passes is None:
            counted[name] = keys(batch, rule)
        else:
            failed[(failed == _PASSED) & ~rule.passes(batch)] = number
    return Verdicts(failed, counted)


def rejected_rows(
    batch: pa.RecordBatch,
    failed: Int8[np.ndarray, "N"],
    rules: Sequence[str],
    file: str | None = None,
) -> pa.Table:
    """The rows that fail a rule as a table with `REJECTED_SCHEMA`."""
    rows = np.flatnonzero(failed >= 0)
    names = [rules[int(number)] for number in failed[rows]]
    columns: dict[str, Any] = {
        "id": batch["id"].take(pa.array(rows)),
        "row": batch["row"].take(pa.array(rows)),
        "rule": names,
        "file": pa.repeat(pa.scalar(file, pa.string()), len(rows)),
        "reason": [RULES[name].reason for name in names],
    }
    return pa.table(columns, schema=REJECTED_SCHEMA)


def unreadable_rows(rows: Iterable[Unreadable], file: str | None = None) -> pa.Table:
    """Rows that could not be read as a table with `REJECTED_SCHEMA`.

    Their rule is `unreadable/` and what was wrong with them.
    """
    listed = [
        {**row._asdict(), "rule": f"{UNREADABLE}/{row.rule}", "file": file}
        for row in rows
    ]
    return pa.Table.from_pylist(listed, REJECTED_SCHEMA)


def eligible(table: pa.Table, rules: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """The rows that pass all `rules`, and the others, both in the order of `table`.

    `table` has the canonical columns, and may have others of the stream. The second
    table has `REJECTED_SCHEMA`; its `row` is the position in `table`.

    Raises:
        UserError: a rule that does not exist.
    """
    memory, wanted = Memory(tuple(rules)), columns_for(rules)
    settled, rejected, first = [], [REJECTED_SCHEMA.empty_table()], 0
    for batch in table.to_batches(max_chunksize=4096):
        columns = {name: batch[name] for name in batch.schema.names}
        columns["row"] = pa.array(np.arange(first, first + batch.num_rows))
        missing = [name for name in wanted if name not in columns]
        columns |= beyond(columns, missing)
        stream = pa.RecordBatch.from_pydict({name: columns[name] for name in wanted})
        failed = memory.settle(judge(stream, rules))
        rejected.append(rejected_rows(stream, failed, rules))
        settled.append(failed)
        first += batch.num_rows
    passes = np.concatenate([np.empty(0, np.int8), *settled]) < 0
    return table.filter(pa.array(passes)), pa.concat_tables(rejected)


def rejection_counts(rejected: pa.Table, rules: Sequence[str]) -> dict[str, int]:
    """How many rows each rule rejected, zeros among them, in the order of `rules`.

    Rules beside those that are asked for, such as of unreadable rows, follow by name.
    """
    names = rejected["rule"].to_pylist()
    others = sorted({*names} - {*rules})
    return {name: names.count(name) for name in (*rules, *others)}


def _check(rules: Sequence[str]) -> None:
    unknown = [name for name in rules if name not in RULES]
    if unknown:
        raise UserError(
            f"rules must be among {', '.join(RULES)}, got {', '.join(unknown)}"
        )
