"""The samples that a set still lacks, asked of the student part by part.

The randomness of a sample is a function of seed, question and the sample's number, so
it does not matter in which part or after which kill it was made, or beside how many
others: the numbers 8 to 15 come to what they are among 16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from routejax import processes
from routejax.envs import Problem
from routejax.evaluation import samples
from routejax.evaluation.questions import Questions
from routejax.evaluation.students import Answering, decoding_of, made_by
from routejax.models import Params
from routejax.progress import track
from routejax.rollout import Decoding, Sampled, sampled
from routejax.stages.evaluate import STEP


class Part(NamedTuple):
    """Samples to be made together: the same numbers of each of some problems."""

    problems: tuple[int, ...]
    first: int
    count: int

    @property
    def size(self) -> int:
        return len(self.problems) * self.count


def lacking(there: Bool[np.ndarray, "Q N"], problems_per_part: int) -> list[Part]:
    """Parts that together have every sample that is not there, once."""
    found: dict[tuple[int, int], list[int]] = {}
    for q, row in enumerate(there):
        for first, count in _gaps(row):
            found.setdefault((first, count), []).append(q)
    return [
        Part(tuple(own[at : at + problems_per_part]), first, count)
        for (first, count), own in sorted(found.items())
        for at in range(0, len(own), problems_per_part)
    ]


def _gaps(row: Bool[np.ndarray, " N"]) -> list[tuple[int, int]]:
    """First and length of each stretch that is missing."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], row, [True]]).astype(int)))
    starts, ends = edges[::2], edges[1::2]
    return [(int(a), int(b - a)) for a, b in zip(starts, ends, strict=True)]


def sample_set(
    who: Answering,
    questions: Questions,
    folder: Path,
    *,
    problems_per_part: int,
    params: Callable[[], Params],
) -> None:
    """Every sample of the set that is asked for is on disk.

    Several processes sample together, and the first one writes. `params` is called only
    where something is missing.

    Raises:
        UserError: the folder has samples of other settings.
    """

    def plan() -> tuple[list[Part], int]:
        samples.require_same(folder, made_by(who, questions))
        wanted = questions.asked.samples
        there = samples.there(folder, questions.problems, wanted)
        todo = lacking(there, problems_per_part)
        if todo:
            samples.write_record(folder, made_by(who, questions), who.about)
        return todo, int(there.sum())

    todo, done = processes.first_does(plan)
    if not todo:
        return
    total = done + sum(part.size for part in todo)
    decoding, seed = decoding_of(who, questions), who.decoding["seed"]
    loaded = params()
    with (
        track(
            who.run.console,
            f"{questions.name} samples",
            total,
            "samples",
            done,
            counted="tokens",
        ) as progress,
        processes.held() as asked,
    ):
        for part in todo:
            problems = [questions.problems[n] for n in part.problems]
            made = _made(who, loaded, problems, part, decoding, seed)
            if processes.first():
                rows = _rows(made, part, seed)
                samples.write_part(samples.next_part(folder), rows)
            done += part.size
            progress.update(done, counts={"tokens": float(made.lengths.sum())})
            if asked():
                return  # on leaving, the signal is raised


def _made(
    who: Answering,
    params: Params,
    problems: Sequence[Problem],
    part: Part,
    decoding: Decoding,
    seed: int,
) -> Sampled:
    return sampled(
        who.run.student,
        params,
        who.run.tokenizer,
        problems,
        samples=part.count,
        first=part.first,
        seed=seed,
        step=STEP,
        decoding=decoding,
        mesh=who.run.mesh,
    )


def _rows(made: Sampled, part: Part, seed: int) -> dict[str, Sequence]:
    each = [problem for problem in made.problems for _ in range(part.count)]
    digests = {one.id: samples.prompt_sha256(one) for one in made.problems}
    numbers = range(part.first, part.first + part.count)
    return {
        "problem_id": [problem.id for problem in each],
        "sample": [*numbers] * len(made.problems),
        "prompt_sha256": [digests[problem.id] for problem in each],
        "response": made.texts,
        "finish": ["length" if cut else "stop" for cut in made.truncated],
        "tokens": made.lengths.tolist(),
        "seed": [seed] * len(each),
    }
