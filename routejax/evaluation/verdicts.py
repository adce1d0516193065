"""Verdicts on samples, in files of their own, so that a better verifier judges again.

    SET/verdicts/part_N.parquet  of the samples in `samples/part_N.parquet`, row by row

    problem_id, sample   as there
    solved               right, and not cut off
    answer, status       of the verifier (`envs.Verdict`)

A part's metadata says which samples were judged, by which verifier (the code of
`routejax.envs` and the versions of the packages it asks) and against which answers.
Where one of these is another now, the part is judged again and nothing is sampled.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from routejax import envs
from routejax.envs import Problem, judging
from routejax.envs.judging import Judges
from routejax.errors import UserError
from routejax.evaluation import samples
from routejax.evaluation.questions import Questions
from routejax.progress import track
from routejax.stages.run import Run
from routejax.workdir import code_hash, content_hash, write_parquet

SCHEMA = pa.schema(
    [
        ("problem_id", pa.string()),
        ("sample", pa.int32()),
        ("solved", pa.bool_()),
        ("answer", pa.string()),
        ("status", pa.string()),
    ]
)
FOLDER = "verdicts"
_KEY = b"judged"  # of the metadata
# Packages whose versions can decide a verdict.
_PACKAGES = ("math-verify", "if-verifiable", "reasoning-gym", "rlve-gym", "sympy")


class Changed(NamedTuple):
    """What another verifier came to on samples that were judged before."""

    judged: int
    now_solved: int
    no_longer: int


@functools.cache
def verifier() -> str:
    """Hash of all code that decides a verdict."""
    found = {"code": code_hash(Path(envs.__file__).parent)}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return content_hash(found)


def judge_set(
    run: Run, questions: Questions, folder: Path, *, at_once: int, anew: bool
) -> Changed:
    """Every sample of the set has a verdict of this verifier.

    Args:
        at_once: responses that are handed to the judges together.
        anew: judges those that have one again, for what a time limit or a machine
            decided.
    """
    files = samples.parts(folder)
    _remove_others(folder, files)
    todo = []
    for file in files:
        key = _key(file, questions)
        if anew or _known(folder / FOLDER / file.name) != key:
            todo.append((file, key))
    if not todo:
        return Changed(0, 0, 0)
    total = sum(pq.read_metadata(file).num_rows for file, _ in todo)
    name, done, changed = f"{questions.name} verdicts", 0, Changed(0, 0, 0)
    by_id = {problem.id: problem for problem in questions.problems}
    with track(run.console, name, total, "verdicts") as progress:
        for file, key in todo:
            rows: list[dict[str, Any]] = []
            for batch in _batches(file, at_once):
                rows += _judged(run.judges, batch, by_id)
                done += len(batch)
                progress.update(done)
            path = folder / FOLDER / file.name
            changed = _added(changed, _before(path), rows)
            made = SCHEMA.with_metadata({_KEY: key})
            write_parquet(path, pa.Table.from_pylist(rows, made))
    return changed


def read(folder: Path, file: Path) -> pa.Table:
    """The verdicts on the samples of a part."""
    return pq.read_table(folder / FOLDER / file.name)


def _key(file: Path, questions: Questions) -> str:
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    known = {
        *samples.read_part(file, ["problem_id"])["problem_id"].unique().to_pylist()
    }
    asked = [[p.id, p.env, p.config] for p in questions.problems if p.id in known]
    return content_hash([digest, verifier(), asked])


def _known(path: Path) -> str | None:
    try:
        found = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return None
    return found.get(_KEY, b"").decode()


def _remove_others(folder: Path, files: Sequence[Path]) -> None:
    """Verdicts on samples that are no longer there, and half-written ones."""
    names = {file.name for file in files}
    for path in folder.glob(f"{FOLDER}/*"):
        if path.name not in names:
            path.unlink()


def _batches(file: Path, size: int) -> Iterable[list[dict[str, Any]]]:
    columns = ["problem_id", "sample", "response", "finish"]
    rows = samples.read_part(file, columns)
    for first in range(0, len(rows), size):
        yield rows.slice(first, size).to_pylist()


def _judged(
    judges: Judges, rows: Sequence[Mapping[str, Any]], by_id: Mapping[str, Problem]
) -> list[dict[str, Any]]:
    """Verdicts in order; a question that is no longer asked has none."""
    asked = [row for row in rows if row["problem_id"] in by_id]
    verdicts = judges.judge(
        [judging.request(by_id[row["problem_id"]], row["response"]) for row in asked]
    )
    found = []
    for row, verdict in zip(asked, verdicts, strict=True):
        kept = {"problem_id": row["problem_id"], "sample": row["sample"]}
        # A response that was cut off has not been given, whatever it says so far.
        kept["solved"] = bool(verdict.solved) and row["finish"] != "length"
        found.append({**kept, "answer": verdict.answer, "status": verdict.status})
    return found


def _before(path: Path) -> dict[tuple[str, int], bool]:
    """Earlier verdicts of a part, by question and number."""
    if _known(path) is None:
        return {}
    rows = pq.read_table(path, columns=["problem_id", "sample", "solved"])
    columns = (rows[name].to_pylist() for name in rows.column_names)
    return {(i, n): solved for i, n, solved in zip(*columns, strict=True)}


def _added(
    changed: Changed,
    before: Mapping[tuple[str, int], bool],
    rows: Sequence[Mapping[str, Any]],
) -> Changed:
    pairs = [
        (before[row["problem_id"], row["sample"]], row["solved"])
        for row in rows
        if (row["problem_id"], row["sample"]) in before
    ]
    was, now = np.array(pairs, bool).reshape(-1, 2).T
    return Changed(
        changed.judged + len(pairs),
        changed.now_solved + int((~was & now).sum()),
        changed.no_longer + int((was & ~now).sum()),
    )


def require_complete(questions: Questions, folder: Path, listed: str = "") -> None:
    """Every question has all the samples that are asked for.

    Raises:
        UserError: some have fewer; how many questions, and one of them.
    """
    asked = questions.asked.samples
    found = samples.there(folder, questions.problems, asked)
    counts = found.sum(1)
    lacking = np.flatnonzero(counts < asked)
    if len(lacking):
        worst = int(lacking[counts[lacking].argmin()])
        least = int(counts.min())
        block = f"--config.sets.{questions.name}"
        fewer = f" or ask for fewer: {block}.samples={least}"
        if max(questions.asked.passes, default=0) > least:
            fewer += f" {block}.passes={least},"
        raise UserError(
            f"set {questions.name}: {len(lacking)} of {len(counts)} questions have "
            f"fewer than {asked} samples; {questions.problems[worst].id} has {least}. "
            f"Add the others{fewer if least else ''}{listed}"
        )
