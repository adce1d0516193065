"""Rows of any pool for fine-tuning a published student: some to train, some held out.

Rows come in an order of their own, by a hash of their prompt and then of themselves, so
that the order of files changes nothing and no prompt is on both sides. Rows that are
too long or that must not be learned are left out, and listed with the reason; what
is written here are the pool's own texts.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from rich.console import Console

from routejax import pools
from routejax.errors import UserError
from routejax.progress import track
from routejax.stages.sft import Learned, tokenised
from routejax.tokenizer import Tokenizer
from routejax.workdir import write, write_json, write_parquet

COLUMNS = ("id", "prompt_id", "prompt", "response")
SIDES = ("heldout", "train")  # the first prompts are held out
REASONS = ("too long", "not sound")  # of rows that a rule of the testbed lets pass


class Rows(NamedTuple):
    """What was chosen, and what was looked at before there were enough rows."""

    chosen: Mapping[str, list[Mapping[str, str]]]  # by side
    opened: Mapping[str, int]  # rows of a side whose reasoning nothing opened
    left_out: list[LeftOut]


class LeftOut(NamedTuple):
    """A row that was looked at and not taken."""

    id: str
    reason: str  # of REASONS
    why: str


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
    console: Console,
) -> None:
    """Writes `train.parquet`, `heldout.parquet`, `left_out.jsonl` and `counts.json`.

    `counts.json` has the rows of each side, in how many the reasoning had to be opened
    (`sft.opening`), and how many were rejected by which rule or left out for which
    reason; `left_out.jsonl` has the latter one by one.

    Args:
        paths, layout: of `pools.open_pool`.
        testbed: whose rules say which rows are eligible; a name of `pools.TESTBEDS`.
        train, heldout: rows of each side.
        row_tokens: longest row in ids, prompt and response.
        seed: of the order.
        console: where progress goes.

    Raises:
        UserError: there are not as many rows.
    """
    wanted = {"heldout": heldout, "train": train}
    table, rejected = _eligible(paths, layout, testbed, console)
    found = _choose(_ordered(table, seed), tokenizer, wanted, row_tokens, console)
    rows = {side: len(chosen) for side, chosen in found.chosen.items()}
    reasons = Counter(one.reason for one in found.left_out)
    left_out = {reason: reasons[reason] for reason in REASONS}
    if rows != wanted:
        said = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        raise UserError(
            f"{heldout} held-out rows and {train} to train on were asked for, there "
            f"are {rows['heldout']} and {rows['train']} of other prompts among "
            f"{table.num_rows:,} eligible ones; left out are {said} "
            f"(sft.row_tokens is {row_tokens}). Raise sft.row_tokens or ask for fewer"
        )
    for side, chosen in found.chosen.items():
        write_parquet(folder / f"{side}.parquet", pa.Table.from_pylist(chosen, _SCHEMA))
    lines = (json.dumps(one._asdict()) + "\n" for one in found.left_out)
    write(folder / "left_out.jsonl", "".join(lines))
    counts = {"rows": rows, "thoughts_opened": found.opened}
    write_json(
        folder / "counts.json", {**counts, "rejected": rejected, "left_out": left_out}
    )


_SCHEMA = pa.schema([pa.field(name, pa.string()) for name in COLUMNS])


def _eligible(
    paths: str, layout: str, testbed: str, console: Console
) -> tuple[pa.Table, dict[str, int]]:
    """Eligible rows with `COLUMNS`, and how many each rule rejected."""
    rules = pools.TESTBEDS[testbed]
    pool = pools.open_pool(pools.parse_paths(paths), layout)
    memory = pools.Memory(tuple(rules))
    needed = pools.columns_for(rules)
    wanted = tuple(dict.fromkeys((*needed, *COLUMNS)))
    kept, counts = [], dict.fromkeys((*rules, "unreadable"), 0)
    parts = list(pool.parts())
    with track(console, "pool", len(parts), "parts") as progress:
        for done, part in enumerate(parts, 1):
            for batch in pool.read(part, wanted):
                judged = pools.judge(batch.rows.select(list(needed)), rules)
                failed = memory.settle(judged)
                for number in failed[failed >= 0].tolist():
                    counts[rules[number]] += 1
                counts["unreadable"] += len(batch.unreadable)
                passed = batch.rows.filter(pa.array(failed < 0))
                kept.append(passed.select(list(COLUMNS)).cast(_SCHEMA))
            progress.update(done)
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
    console: Console,
) -> Rows:
    """One row of each prompt, until both sides are full."""
    chosen: dict[str, list[Mapping[str, str]]] = {side: [] for side in SIDES}
    opened: dict[str, int] = dict.fromkeys(SIDES, 0)
    left_out: list[LeftOut] = []
    seen: set[str] = set()
    with track(console, "rows", sum(wanted.values()), "rows") as progress:
        for row in rows:
            side = next((s for s in SIDES if len(chosen[s]) < wanted[s]), None)
            if side is None:
                break
            if row["prompt_id"] in seen:
                continue
            made = _made(tokenizer, row, row_tokens)
            if isinstance(made, LeftOut):
                left_out.append(made)
            else:
                seen.add(row["prompt_id"])
                chosen[side].append(row)
                opened[side] += made.opened
            note = f"{len(left_out)} left out"
            progress.update(sum(map(len, chosen.values())), note)
    return Rows(chosen, opened, left_out)


def _made(tokenizer: Tokenizer, row: Mapping[str, str], most: int) -> Learned | LeftOut:
    try:
        found = tokenised(tokenizer, pa.Table.from_pylist([row], _SCHEMA))
    except UserError as error:
        return LeftOut(row["id"], "not sound", str(error))
    length = sum(map(len, found.examples[0]))
    if length > most:
        return LeftOut(row["id"], "too long", f"{length} tokens")
    return found
