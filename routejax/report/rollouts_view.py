"""Samples of RL as people look at them: what a step came to, and which ones to show.

Works on an index, a table of the small columns of all files, so that a run of any
length is looked at without its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

# Columns of a file that the index has, besides `run` and `row`.
COLUMNS = (
    *("step", "problem", "env", "difficulty", "reward", "group", "tokens"),
    *("status", "finish"),
)
GROUPS = {"all_fail": "all fail", "mixed": "mixed", "all_correct": "all correct"}
FILTERS = ("all-fail", "mixed", "all-correct", "longest", "truncated", "unparsed")
READABLE = "answered"  # status of an answer that the verifier could read


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One sample; the fields are columns of `stages.rollout_files`.

    Attributes:
        run: arm and seed, in words.
        pieces: text of each id of the response.
    """

    run: str
    step: int
    problem: str
    env: str
    difficulty: int
    sample: int
    prompt: str
    response: str
    response_ids: Sequence[int]
    pieces: Sequence[str]
    logps: Sequence[float]
    reward: float
    solved: bool
    answer: str | None
    status: str
    expected: str | None
    group: str
    advantage: float
    trained: bool
    finish: str
    tokens: int


class StepLine(NamedTuple):
    """What the samples of one step came to; shares of prompts and of samples."""

    run: str
    step: int
    prompts: int
    samples: int
    reward: float
    all_fail: float
    mixed: float
    all_correct: float
    tokens: float  # mean
    longest: int
    truncated: float
    unparsed: float


def index(parts: Iterable[tuple[str, pa.Table]]) -> pa.Table:
    """The rows of all files, each with the name of its run and its row in the file.

    A file has the samples of one step, those of a problem after each other.
    """
    found = []
    for run, rows in parts:
        names = pa.array([run] * len(rows)).dictionary_encode()
        places = pa.array(np.arange(len(rows)))
        found.append(rows.append_column("run", names).append_column("row", places))
    return pa.concat_tables(found, promote_options="default").unify_dictionaries()


def steps(rows: pa.Table) -> Iterator[StepLine]:
    """A line per run and step, in the order of the index."""
    for part in _cut(rows, ("run", "step")):
        groups = _column(part, "group")[_starts(part)]
        tokens = _column(part, "tokens")
        yield StepLine(
            run=part["run"][0].as_py(),
            step=part["step"][0].as_py(),
            prompts=len(groups),
            samples=len(part),
            reward=float(np.mean(_column(part, "reward"))),
            all_fail=float(np.mean(groups == "all_fail")),
            mixed=float(np.mean(groups == "mixed")),
            all_correct=float(np.mean(groups == "all_correct")),
            tokens=float(tokens.mean()),
            longest=int(tokens.max()),
            truncated=float(np.mean(_column(part, "finish") == "length")),
            unparsed=float(np.mean(_column(part, "status") != READABLE)),
        )


def chosen(rows: pa.Table, name: str | None) -> Int[np.ndarray, " n"]:
    """Places in the index of what a filter lets through, those to show first in front.

    Newest steps first; of `longest`, the longest, and all of them.
    """
    step, tokens = _column(rows, "step"), _column(rows, "tokens")
    places = np.flatnonzero(_passes(rows, name))
    if name == "longest":
        return places[np.argsort(-tokens[places], kind="stable")]
    return places[np.argsort(-step[places], kind="stable")]


def _passes(rows: pa.Table, name: str | None) -> Bool[np.ndarray, " n"]:
    if name == "truncated":
        return _column(rows, "finish") == "length"
    if name == "unparsed":
        return _column(rows, "status") != READABLE
    group = (name or "").replace("-", "_")
    if group in GROUPS:
        return _column(rows, "group") == group
    return np.ones(len(rows), bool)


def fitting(rows: pa.Table, places: Int[np.ndarray, " n"], budget: int) -> list[int]:
    """Places in the index of whole groups that fit into `budget` tokens, in order.

    Groups are those that have one of `places`. Where not all fit, whole steps are
    taken, the last of each run first, then the first, then ever more between them; of
    a step that does not fit, the first groups; at least one group in any case.
    """
    wanted = np.zeros(len(rows), bool)
    wanted[places] = True
    tokens = _column(rows, "tokens")
    starts = np.flatnonzero(_starts(rows))
    ends = np.append(starts[1:], len(rows))
    per_step: dict[str, dict[int, list[tuple[int, int]]]] = {}
    for a, b in zip(starts.tolist(), ends.tolist(), strict=True):
        if wanted[a:b].any():
            run, step = rows["run"][a].as_py(), rows["step"][a].as_py()
            per_step.setdefault(run, {}).setdefault(step, []).append((a, b))
    taken: list[int] = []
    left = budget
    for groups in _in_turn([_spread([*found.values()]) for found in per_step.values()]):
        for a, b in groups:
            left -= int(tokens[a:b].sum()) + (b - a) * _OVERHEAD
            if left < 0 and taken:
                return sorted(taken)
            taken += range(a, b)
    return sorted(taken)


_OVERHEAD = 20  # tokens that the rest of a sample is worth


def _spread(items: Sequence) -> list:
    """The last, the first, then the middles of ever smaller gaps."""
    order, gaps = [len(items) - 1, 0], [(0, len(items) - 1)]
    for low, high in gaps:  # grows
        middle = (low + high) // 2
        if low < middle:
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return [items[i] for i in dict.fromkeys(order)]


def _in_turn(lists: Sequence[list]) -> Iterator:
    for turn in range(max(map(len, lists), default=0)):
        yield from (found[turn] for found in lists if turn < len(found))


def _cut(rows: pa.Table, names: Sequence[str]) -> Iterator[pa.Table]:
    """The table in runs of rows that agree in some columns."""
    places = np.flatnonzero(_differ(rows, names))
    for a, b in zip(places, np.append(places[1:], len(rows)), strict=True):
        yield rows.slice(a, b - a)


def _starts(rows: pa.Table) -> Bool[np.ndarray, " n"]:
    """Whether a row is the first of its group."""
    return _differ(rows, ("run", "step", "problem"))


def _differ(rows: pa.Table, names: Sequence[str]) -> Bool[np.ndarray, " n"]:
    found = np.zeros(len(rows), bool)
    found[:1] = True
    for name in names:
        values = _column(rows, name)
        found[1:] |= values[1:] != values[:-1]
    return found


def _column(rows: pa.Table, name: str) -> np.ndarray:
    return rows[name].to_numpy(zero_copy_only=False)
