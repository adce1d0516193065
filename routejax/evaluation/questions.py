"""The problems of a set: of a benchmark's file, a file of problems, or a run's own.

Ids of benchmarks get the name of their reader in front, "aime2025/3", for files number
their questions alike; those of problems are hashes, the same in every file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from routejax.envs import Problem
from routejax.envs.benchmarks import problem_of, read_questions, subset
from routejax.errors import UserError
from routejax.evaluation.settings import PROBLEMS, RUN, Asked
from routejax.stages import problem_files
from routejax.stages.pool import read_problems
from routejax.workdir import content_hash


class Questions(NamedTuple):
    """A set that is asked.

    Attributes:
        problems: in order, without repeats of an id.
        notes: lines to tell the user.
    """

    asked: Asked
    problems: list[Problem]
    notes: list[str]

    @property
    def name(self) -> str:
        return self.asked.name

    @property
    def digest(self) -> str:
        """Of ids and prompts: equal where the same questions are asked in one order."""
        return content_hash([[one.id, one.prompt] for one in self.problems])


def read_set(asked: Asked, run: Path | None) -> Questions:
    """The questions of a set; `run` is the folder of the run that answers, if one does.

    Raises:
        UserError: the file cannot be read, has no question that is asked for, or one
            that nobody here can judge.
    """
    try:
        if asked.reads == RUN:
            assert run is not None
            found = _of_run(run, asked)
        elif asked.reads == PROBLEMS:
            found = _of_file(asked)
        else:
            found = _of_benchmark(asked)
    except UserError as error:
        raise UserError(f"set {asked.name}: {error}") from error
    return found


def _of_run(run: Path, asked: Asked) -> Questions:
    path = run / "pool" / "problems_evaluation.json"
    if not path.is_file():
        raise UserError(f"{run} has no {path.relative_to(run)}; is its run finished?")
    return Questions(asked, _within(read_problems(path), asked, path), [])


def _of_file(asked: Asked) -> Questions:
    assert asked.path is not None
    found = problem_files.read(asked.path)[asked.split]
    return Questions(asked, _within(found, asked, asked.path), [])


def _within(problems: Sequence[Problem], asked: Asked, path: Path) -> list[Problem]:
    if asked.subset:
        raise UserError(
            f"config.sets.{asked.name}.subset must be 0 for a file of problems, got "
            f"{asked.subset}; make a smaller file with python -m routejax.problems"
        )
    first, last = asked.difficulties
    found = [one for one in problems if first <= one.difficulty <= last]
    if not found:
        there = sorted({problem.difficulty for problem in problems})
        raise UserError(
            f"{path} has no question of split {asked.split} at difficulties {first} to "
            f"{last}; there are {', '.join(map(str, there)) or 'none'}"
        )
    return found


def _of_benchmark(asked: Asked) -> Questions:
    assert asked.path is not None
    read = read_questions(asked.path, asked.reads)
    questions = read.questions
    if not questions:
        raise UserError(f"{asked.path} has no question that a program can judge")
    if asked.subset:
        questions = subset(questions, asked.subset)
    problems = [problem_of(question) for question in questions]
    named = [
        dataclasses.replace(problem, id=f"{asked.reads}/{problem.id}")
        for problem in problems
    ]
    notes = []
    if read.full and len(read.questions) != read.full:
        notes.append(
            f"{asked.name}: {len(read.questions)} questions in {asked.path}, the "
            f"published set has {read.full}"
        )
    if read.unverified:
        notes.append(
            f"{asked.name}: {len(read.unverified)} rows of {asked.path} left out, "
            "which no program can judge"
        )
    return Questions(asked, named, notes)
