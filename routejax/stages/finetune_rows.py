"""Rows of any pool for fine-tuning a published student: some to train, some held out.

Rows come in an order of their own, by a hash of their prompt and then of themselves, so
that the order of files changes nothing and no prompt is on both sides. Rows that are
too long or that must not be learned are left out, and listed with the reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from routejax import pools
from routejax.errors import UserError
from routejax.packing import Example
from routejax.stages.sft import tokenised
from routejax.tokenizer import Tokenizer
from routejax.workdir import write_json, write_parquet

COLUMNS = ("id", "prompt_id", "prompt", "response")
SIDES = ("heldout", "train")  # the first prompts are held out


class Rows(NamedTuple):
    """What was chosen, and what was looked at before there were enough rows."""

    chosen: Mapping[str, list[Mapping[str, str]]]  # by side
    left_out: Mapping[str, list[str]]  # ids by reason


def write_rows(
    folder: Path,
    tokenizer: Tokenizer,
    *,
    paths: str,
    layout: str,
    testbed: str,
    train: int,
    heldout: int,
    row_tokens: int,
    seed: int,
) -> None:
    """Writes `train.parquet`, `heldout.parquet` and `left_out.json`.

    Args:
        paths, layout: of `pools.open_pool`.
        testbed: whose rules say which rows are eligible; a name of `pools.TESTBEDS`.
        train, heldout: rows of each side.
        row_tokens: longest row in ids, prompt and response.
        seed: of the order.

    Raises:
        UserError: there are not as many rows.
    """
    table, rejected = _eligible(paths, layout, testbed)
    found = _choose(
        _ordered(table, seed),
        tokenizer,
        {"heldout": heldout, "train": train},
        row_tokens,
    )
    short = {s: len(rows) for s, rows in found.chosen.items()}
    if short != {"heldout": heldout, "train": train}:
        reasons = {reason: len(ids) for reason, ids in found.left_out.items()}
        raise UserError(
            f"{heldout} held-out rows and {train} to train on were asked for, there "
            f"are {short['heldout']} and {short['train']} of {table.num_rows} eligible "
            f"ones; left out: {reasons}. Raise sft.row_tokens or ask for fewer"
        )
    for side, rows in found.chosen.items():
        write_parquet(folder / f"{side}.parquet", pa.Table.from_pylist(rows, _SCHEMA))
    write_json(folder / "left_out.json", {"rules": rejected, **found.left_out})


_SCHEMA = pa.schema([pa.field(name, pa.string()) for name in COLUMNS])


def _eligible(paths: str, layout: str, testbed: str) -> tuple[pa.Table, dict[str, int]]:
    """Eligible rows with `COLUMNS`, and how many each rule rejected."""
    rules = pools.TESTBEDS[testbed]
    pool = pools.open_pool(pools.parse_paths(paths), layout)
    memory = pools.Memory(tuple(rules))
    needed = pools.columns_for(rules)
    wanted = tuple(dict.fromkeys((*needed, *COLUMNS)))
    kept, counts = [], dict.fromkeys((*rules, "unreadable"), 0)
    for part in pool.parts():
        for batch in pool.read(part, wanted):
            failed = memory.settle(pools.judge(batch.rows.select(list(needed)), rules))
            for number in failed[failed >= 0].tolist():
                counts[rules[number]] += 1
            counts["unreadable"] += len(batch.unreadable)
            passed = batch.rows.filter(pa.array(failed < 0))
            kept.append(passed.select(list(COLUMNS)).cast(_SCHEMA))
    return pa.Table.from_batches(kept, _SCHEMA), counts


def _ordered(table: pa.Table, seed: int) -> Iterator[Mapping[str, str]]:
    def digest(text: str) -> str:
        return hashlib.sha256(f"{seed} {text}".encode()).hexdigest()

    prompts = [digest(text) for text in table["prompt_id"].to_pylist()]
    own = [digest(text) for text in table["id"].to_pylist()]
    for row in sorted(range(table.num_rows), key=lambda i: (prompts[i], own[i])):
        yield {name: table[name][row].as_py() for name in COLUMNS}


def _choose(
    rows: Iterator[Mapping[str, str]],
    tokenizer: Tokenizer,
    wanted: Mapping[str, int],
    row_tokens: int,
) -> Rows:
    """One row of each prompt, until both sides are full."""
    chosen: dict[str, list[Mapping[str, str]]] = {side: [] for side in SIDES}
    left_out: dict[str, list[str]] = {"too long": [], "not sound": []}
    seen: set[str] = set()
    for row in rows:
        side = next((s for s in SIDES if len(chosen[s]) < wanted[s]), None)
        if side is None:
            break
        if row["prompt_id"] in seen:
            continue
        reason = _refused(tokenizer, row, row_tokens)
        if reason:
            left_out[reason].append(row["id"])
        else:
            seen.add(row["prompt_id"])
            chosen[side].append(row)
    return Rows(chosen, left_out)


def _refused(tokenizer: Tokenizer, row: Mapping[str, str], most: int) -> str | None:
    try:
        found = examples(tokenizer, pa.Table.from_pylist([row], _SCHEMA))
    except UserError:
        return "not sound"
    return "too long" if sum(map(len, found[0])) > most else None


def examples(tokenizer: Tokenizer, table: pa.Table) -> list[Example]:
    """Rows of a side as ids that passed the audits."""
    return tokenised(tokenizer, table)
