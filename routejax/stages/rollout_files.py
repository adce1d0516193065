"""The samples of GRPO on disk: `rollouts/step_N.parquet`, one row a sample.

    step          N, from 1, as in metrics.jsonl
    problem       id; env and difficulty of it
    sample        number of the sample among those of its problem
    prompt        the question; prompt_ids are the ids that the student was given
    response      the text; response_ids the ids that were sampled, their end included
    logps         log-probability of each of these, of the sampler, nats
    reward        what the advantage is made from
    solved        what the verifier says; and the rest of its verdict: score, answer,
                  status
    expected      an answer that is right, where the environment knows one; there may be
                  others
    group         outcome of the samples of the problem: all_fail, mixed, all_correct
    advantage     within the group
    trained       whether the update has this sample; what has not is of a group that is
                  not mixed
    finish        "stop", or "length" where the limit came first
    tokens        number of response_ids

The file's metadata has the text of each id that was sampled (`pieces`), so that it can
be read where the tokenizer is not. `stages.rollout_rows` writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from routejax.errors import UserError

FOLDER = "rollouts"
SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("problem", pa.string()),
        ("env", pa.string()),
        ("difficulty", pa.int32()),
        ("sample", pa.int32()),
        ("prompt", pa.string()),
        ("response", pa.string()),
        ("prompt_ids", pa.list_(pa.int32())),
        ("response_ids", pa.list_(pa.int32())),
        ("logps", pa.list_(pa.float32())),
        ("reward", pa.float64()),
        ("solved", pa.bool_()),
        ("score", pa.float64()),
        ("answer", pa.string()),
        ("status", pa.string()),
        ("expected", pa.string()),
        ("group", pa.string()),
        ("advantage", pa.float64()),
        ("trained", pa.bool_()),
        ("finish", pa.string()),
        ("tokens", pa.int32()),
    ]
)
_NAME = re.compile(r"step_([1-9]\d*)\.parquet", re.ASCII)


def path(folder: Path, step: int) -> Path:
    return folder / f"step_{step}.parquet"


def found(root: Path) -> dict[tuple[str, int], dict[int, Path]]:
    """Files of each arm and seed of a run, by step in order."""
    runs = {}
    for folder in sorted(root.glob(f"arms/*/seed_*/grpo/{FOLDER}")):
        if not folder.is_dir():
            continue
        seed = folder.parent.parent.name.removeprefix("seed_")
        names = ((file, _NAME.fullmatch(file.name)) for file in folder.iterdir())
        steps = {int(match[1]): file for file, match in names if match}
        if steps and seed.isdecimal():
            arm = folder.parent.parent.parent.name
            runs[arm, int(seed)] = dict(sorted(steps.items()))
    return dict(sorted(runs.items()))


def read(file: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a step's file, all columns or some.

    Raises:
        UserError: it is damaged, has other columns, or no rows.
    """
    wanted = SCHEMA.names if columns is None else [*columns]
    try:
        with pq.ParquetFile(file) as opened:
            rows = opened.read(columns=wanted)
    except (OSError, ValueError) as error:  # pyarrow's own are of both kinds
        said = " ".join(str(error).split())
        raise UserError(
            f"{file} cannot be read ({said}); take the file away to see the other steps"
        ) from error
    if lacking := [name for name in wanted if name not in rows.column_names]:
        raise UserError(
            f"{file} is no file of rollouts: it has no column {', '.join(lacking)}"
        )
    for name in wanted:
        if rows.schema.field(name).type != SCHEMA.field(name).type:
            raise UserError(
                f"{file} is no file of rollouts: its column {name} holds "
                f"{rows.schema.field(name).type}, not {SCHEMA.field(name).type}"
            )
    if not len(rows):
        raise UserError(f"{file} has no rows; take it away to see the other steps")
    return rows


def pieces_of(rows: pa.Table) -> Mapping[str, str]:
    """Text of each id that was sampled, by the id in digits; none where it is lost."""
    try:
        found = json.loads((rows.schema.metadata or {}).get(b"pieces", b"{}"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
