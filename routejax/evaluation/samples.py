"""Samples on disk: written once, in parts, with what made them beside them.

    SET/sampling.json           `made_by`: all that decides a sample; `about`: the rest
    SET/samples/part_N.parquet  N from 0; a part is whole or absent

    problem_id, sample   which sample of which question, numbers from 0
    prompt_sha256        of the question's prompt
    response             the text
    finish               "stop"; "length": the limit came first; null: not known
    tokens               of the response, its end included; null: not known
    seed                 of the sampling; null: not known

Samples of other settings are refused, never mixed in. More samples of each question, or
more questions, go into further parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Int

from routejax.envs import Problem
from routejax.errors import UserError
from routejax.workdir import (
    as_json,
    differences,
    read_json,
    sha256,
    write_json,
    write_parquet,
)

SCHEMA = pa.schema(
    [
        ("problem_id", pa.string()),
        ("sample", pa.int32()),
        ("prompt_sha256", pa.string()),
        ("response", pa.large_string()),  # those of one part may pass 2 GB
        ("finish", pa.string()),
        ("tokens", pa.int32()),
        ("seed", pa.int64()),
    ]
)
FOLDER, RECORD = "samples", "sampling.json"
_PART = re.compile(r"part_(\d+)\.parquet", re.ASCII)
_SHOWN = 5  # differences named in one message


class Place(NamedTuple):
    """Where a part's rows belong: numbers of problems, of samples, and known ones."""

    problems: Int[np.ndarray, " N"]  # -1: a question that is not asked
    samples: Int[np.ndarray, " N"]


def parts(folder: Path) -> list[Path]:
    """Files of a set's samples, in order; half-written ones are removed."""
    found = {}
    for path in folder.glob(f"{FOLDER}/*"):
        if match := _PART.fullmatch(path.name):
            found[int(match[1])] = path
        elif path.name.startswith(".") and path.name.endswith(".tmp"):
            path.unlink()
    return [found[number] for number in sorted(found)]


def next_part(folder: Path) -> Path:
    """The name of a part after all that are there."""
    last = max((int(path.stem[5:]) for path in parts(folder)), default=-1)
    return folder / FOLDER / f"part_{last + 1:05d}.parquet"


def write_part(path: Path, rows: Mapping[str, Sequence[Any]]) -> None:
    arrays = [pa.array(rows[field.name], field.type) for field in SCHEMA]
    write_parquet(path, pa.Table.from_arrays(arrays, schema=SCHEMA))


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Rows of a part.

    Raises:
        UserError: it is damaged.
    """
    try:
        with pq.ParquetFile(path) as opened:
            return opened.read(columns=columns or SCHEMA.names)
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())
        raise UserError(
            f"{path} cannot be read ({said}); delete it and run the same command "
            "again: its samples are made anew"
        ) from error


def require_same(folder: Path, made_by: Mapping[str, Any]) -> None:
    """The set's samples, if it has any, were made by these settings.

    Raises:
        UserError: others made them; which differ.
    """
    record = folder / RECORD
    if not record.exists() or not parts(folder):
        return
    known, wanted = read_json(record)["made_by"], as_json(made_by)
    changed = list(differences(known, wanted, ("there", "now")))
    if changed:
        more = " …" if len(changed) > _SHOWN else ""
        raise UserError(
            f"{folder} has samples of other settings: "
            f"{'; '.join(changed[:_SHOWN])}{more}. Two are never mixed: choose another "
            "--workdir, or delete this folder"
        )


def write_record(
    folder: Path, made_by: Mapping[str, Any], about: Mapping[str, Any]
) -> None:
    """Says what makes the samples, before there are any."""
    require_same(folder, made_by)
    write_json(folder / RECORD, {"made_by": made_by, "about": about})


def prompt_sha256(problem: Problem) -> str:
    return sha256(problem.prompt.encode())


def places(path: Path, problems: Sequence[Problem]) -> Place:
    """Which question and number each row of a part has.

    Raises:
        UserError: a sample was made from another prompt than its question has now.
    """
    rows = read_part(path, ["problem_id", "sample", "prompt_sha256"])
    number = {problem.id: n for n, problem in enumerate(problems)}
    ids = rows["problem_id"].combine_chunks().dictionary_encode()
    known = np.array([number.get(i, -1) for i in ids.dictionary.to_pylist()], np.int64)
    at = known[ids.indices.to_numpy()] if len(rows) else np.zeros(0, np.int64)
    found = dict(zip(at.tolist(), rows["prompt_sha256"].to_pylist(), strict=True))
    for n, digest in found.items():
        if n >= 0 and prompt_sha256(problems[n]) != digest:
            raise UserError(
                f"{path}: samples of question {problems[n].id!r} were made from "
                "another prompt than it has now; choose another --workdir, or delete "
                "this set's folder"
            )
    return Place(at, rows["sample"].to_numpy())


def there(
    folder: Path, problems: Sequence[Problem], samples: int
) -> Bool[np.ndarray, "Q N"]:
    """Which of the first `samples` of each question are on disk.

    Raises:
        UserError: one is there twice.
    """
    count = np.zeros((len(problems), samples), np.int64)
    for path in parts(folder):
        found = places(path, problems)
        asked = (found.problems >= 0) & (found.samples < samples)
        np.add.at(count, (found.problems[asked], found.samples[asked]), 1)
        if count.max(initial=0) > 1:
            q, n = (int(x) for x in np.argwhere(count > 1)[0])
            raise UserError(
                f"{path} has sample {n} of question {problems[q].id!r}, which an "
                "earlier part has too; delete the later one"
            )
    return count > 0
