"""A step's samples as rows of its file, and the writing of it (`rollout_files`).

The same step gives the same bytes, so one that is done again after a kill changes
nothing.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from routejax.envs import right_answer
from routejax.rollout import Rollout
from routejax.stages.grpo_source import Keep
from routejax.stages.rollout_files import FOLDER, SCHEMA, path
from routejax.tokenizer import Tokenizer
from routejax.workdir import write_parquet


def keeper(folder: Path, every: int, tokenizer: Tokenizer) -> Keep:
    """What writes the samples of a step; every `every`-th step has a file, 0: none.

    What a kill left half written in the folder is removed.
    """
    for leftover in (folder / FOLDER).glob(".*.tmp"):
        leftover.unlink()
    pieces = functools.cache(functools.partial(piece, tokenizer))

    def keep(
        step: int,
        rolled: Rollout,
        advantages: Float[np.ndarray, "Q G"],
        trained: Bool[np.ndarray, " Q"],
    ) -> None:
        if every and step % every == 0:
            found = table(step, rolled, advantages, trained, pieces)
            write_parquet(path(folder / FOLDER, step), found)

    return keep


def table(
    step: int,
    rolled: Rollout,
    advantages: Float[np.ndarray, "Q G"],
    trained: Bool[np.ndarray, " Q"],
    pieces: Callable[[int], str],
) -> pa.Table:
    """The rows of a step, samples of one problem after each other."""
    count, samples = len(rolled.texts), rolled.rewards.shape[1]

    def each(values: Iterable) -> list:
        return [value for value in values for _ in range(samples)]

    responses = [example.response for example in rolled.examples]
    columns = {
        "step": [step] * count,
        "problem": each(problem.id for problem in rolled.problems),
        "env": each(problem.env for problem in rolled.problems),
        "difficulty": each(problem.difficulty for problem in rolled.problems),
        "sample": [*range(samples)] * len(rolled.problems),
        "prompt": each(problem.prompt for problem in rolled.problems),
        "response": rolled.texts,
        "prompt_ids": [example.prompt for example in rolled.examples],
        "response_ids": responses,
        "logps": [
            logps[:length]
            for logps, length in zip(rolled.logps, rolled.lengths, strict=True)
        ],
        "reward": rolled.rewards.reshape(-1),
        "solved": rolled.solved.reshape(-1),
        "score": [verdict.score for verdict in rolled.verdicts],
        "answer": [verdict.answer for verdict in rolled.verdicts],
        "status": [verdict.status for verdict in rolled.verdicts],
        "expected": each(map(right_answer, rolled.problems)),
        "group": each(map(outcome, rolled.solved)),
        "advantage": advantages.reshape(-1),
        "trained": each(trained),
        "finish": np.where(rolled.truncated, "length", "stop"),
        "tokens": rolled.lengths,
    }
    known = {str(i): pieces(i) for i in sorted({i for ids in responses for i in ids})}
    metadata = {"pieces": json.dumps(known, ensure_ascii=False)}
    arrays = [pa.array(columns[field.name], field.type) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA.with_metadata(metadata))


def outcome(solved: Bool[np.ndarray, " G"]) -> str:
    if solved.all():
        return "all_correct"
    return "mixed" if solved.any() else "all_fail"


def piece(tokenizer: Tokenizer, token: int) -> str:
    """Text of one id inside a text; that of a control id is its name, or nothing.

    An id that is part of a character gives the replacement character.
    """
    if token in tokenizer.silent:
        names = {i: name for name, i in tokenizer.special.items()}
        return names.get(token, "")
    # Some tokenizers leave out the space of an id that begins the text.
    return tokenizer.join([token, token])[len(tokenizer.join([token])) :]
