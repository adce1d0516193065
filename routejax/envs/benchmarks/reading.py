"""A file of a known benchmark as questions, each with a place in the file to name.

Every row becomes a question or an error: a benchmark with holes would be another
benchmark. Only rows that no program can judge (in mixtures) are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from routejax.envs.benchmarks.files import Row, read_rows
from routejax.envs.benchmarks.known import ID, KNOWN, Known, Read
from routejax.envs.benchmarks.mixture import SOURCES, UNVERIFIED, mixture
from routejax.envs.benchmarks.question import KINDS, Cells, Question, text
from routejax.errors import UserError
from routejax.traces import content_id

MIXTURE = "mixture"
_SHOWN = 5  # places named in one message


@dataclass(frozen=True)
class Questions:
    """What a file holds.

    Attributes:
        name: the benchmark, a key of `KNOWN` or "mixture".
        questions: in the order of the file.
        full: how many questions the published set has; 0 if that is not one number.
        duplicates: questions whose prompt stands earlier in the file; they are kept,
            for published sets have them (OMEGA-500 two).
        unverified: ids of rows left out because no program can judge them.
    """

    name: str
    questions: tuple[Question, ...]
    full: int
    duplicates: int
    unverified: tuple[str, ...] = ()


def read_questions(
    path: str | Path, name: str, *, sources: Mapping[str, str] | None = None
) -> Questions:
    """The questions of a file.

    Args:
        path: JSONL, JSON, CSV or Parquet.
        name: a key of `KNOWN`, or "mixture" for prompts that name their sources.
        sources: for a mixture, kinds of sources besides `SOURCES`.

    A `UserError` names the file, the row and the columns: an unknown benchmark, a
    missing column or answer, equal ids, an empty or damaged file, an unknown source.
    """
    known = _known(name, sources)
    found: list[tuple[Row, Question]] = []
    for number, row in enumerate(read_rows(path), 1):
        try:
            cells = Cells(row.where, row.cells)
            question = _question(name, number, cells, known)
        except UserError as error:
            raise UserError(f"{path} as {name}: {error}") from None
        found.append((row, question))
    _require_one_each(path, found)
    questions = [q for _, q in found if q.kind != UNVERIFIED]
    prompts = {content_id("question", question.prompt) for question in questions}
    return Questions(
        name,
        tuple(questions),
        known.rows,
        len(questions) - len(prompts),
        tuple(q.id for _, q in found if q.kind == UNVERIFIED),
    )


def _known(name: str, sources: Mapping[str, str] | None) -> Known:
    if name == MIXTURE:
        kinds = set((sources or {}).values()) - set(KINDS)
        if kinds:
            raise UserError(
                f"kinds of sources must be among {', '.join(KINDS)}; got "
                f"{', '.join(sorted(kinds))}"
            )
        return Known(
            "Mixture of sources", "", 0, mixture(SOURCES | dict(sources or {}))
        )
    if name not in KNOWN:
        near = get_close_matches(name, KNOWN, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        names = ", ".join((*KNOWN, MIXTURE))
        raise UserError(f"the benchmark must be one of {names}; got {name!r}{hint}")
    return KNOWN[name]


def _question(name: str, number: int, cells: Cells, known: Known) -> Question:
    read: Read = known.read(cells)
    column = next((column for column in ID if cells.get(column) is not None), None)
    identity = text(cells[column]) if column else f"{name}-{number - 1}"
    meta = {k: v for k, v in read.meta.items() if k != column}
    if not identity.strip():
        raise UserError(f"{cells.where}: the id is blank in column {column!r}")
    if not read.prompt:
        raise UserError(f"{cells.where}: the question is blank")
    if read.gold is not None and not read.gold.strip():
        raise UserError(f"{cells.where}: the answer is blank")
    return Question(identity, read.prompt, read.gold, read.kind or known.kind, meta)


def _require_one_each(path: str | Path, found: list[tuple[Row, Question]]) -> None:
    """Equal ids would be scored as one question."""
    places: dict[str, list[str]] = {}
    for row, question in found:
        places.setdefault(question.id, []).append(row.where)
    twice = {k: v for k, v in places.items() if len(v) > 1}
    if twice:
        shown = "; ".join(
            f"{k!r} in {', '.join(v[:_SHOWN])}" for k, v in [*twice.items()][:_SHOWN]
        )
        raise UserError(f"{path}: {len(twice)} ids stand in several rows: {shown}")
