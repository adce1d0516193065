"""OMEGA: problems for reinforcement learning and for evaluation, apart by problem.

Within each setting (a problem family at its level) problems are put into an order by a
hash of their id, and the first go to evaluation; so both sides have all settings and no
problem in common. Questions with one prompt go to one side together. [ours: the order]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from routejax.envs.benchmarks.question import Question
from routejax.errors import UserError
from routejax.traces import content_id

SEED = 42


class Sides(NamedTuple):
    """Questions to train on and to evaluate on, in the order they were given."""

    rl: tuple[Question, ...]
    evaluation: tuple[Question, ...]


def split(questions: Sequence[Question], *, evaluation: int, seed: int = SEED) -> Sides:
    """`evaluation` problems, shared out over settings by size, and the rest for RL.

    A problem is a prompt; where several questions have it, it counts once. Every
    setting with two problems or more has one on each side at least.
    """
    settings = _settings(questions, seed)
    most = sum(len(problems) - 1 for problems in settings.values())
    least = sum(len(problems) > 1 for problems in settings.values())
    if not least <= evaluation <= most:
        raise UserError(
            f"evaluation must be in {least}..{most}, so that each of {len(settings)} "
            f"settings has problems on both sides; got {evaluation}"
        )
    counts = _shares({k: len(v) for k, v in settings.items()}, evaluation)
    chosen = {p for k, problems in settings.items() for p in problems[: counts[k]]}
    parts: tuple[list[Question], list[Question]] = ([], [])
    for question in questions:
        parts[_problem(question) in chosen].append(question)
    return Sides(tuple(parts[0]), tuple(parts[1]))


def subset(
    questions: Iterable[Question], n: int, *, seed: int = SEED
) -> tuple[Question, ...]:
    """The first n questions in the order of their hash; a larger n keeps them all."""
    ordered = sorted(questions, key=lambda q: content_id("subset", str(seed), q.id))
    if not 1 <= n <= len(ordered):
        raise UserError(f"n must be in 1..{len(ordered)} (questions), got {n}")
    return tuple(ordered[:n])


def _settings(questions: Sequence[Question], seed: int) -> dict[str, list[str]]:
    """Problems of each setting in the order of their hash."""
    found: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        if not question.meta.get("setting"):
            raise UserError(
                f"question {question.id!r} has no setting; the file needs a column "
                "`setting`, `setting_key` or `family`"
            )
        found[question.meta["setting"]].add(_problem(question))
    homes: dict[str, str] = {}
    for setting, problems in sorted(found.items()):
        for problem in problems:  # one prompt in two settings: the first has it
            homes.setdefault(problem, setting)
    return {
        setting: sorted(
            (p for p in problems if homes[p] == setting),
            key=lambda p: content_id("side", str(seed), p),
        )
        for setting, problems in sorted(found.items())
    }


def _problem(question: Question) -> str:
    return content_id("problem", " ".join(question.prompt.split()))


def _shares(sizes: dict[str, int], n: int) -> dict[str, int]:
    """n over settings in proportion to size, 1 to size − 1 each (0 of a size of 1).

    One at a time to the setting furthest below its share; ties by name.
    """
    total = sum(sizes.values())
    counts = {k: int(size > 1) for k, size in sizes.items()}
    for _ in range(n - sum(counts.values())):
        open_ = [k for k, size in sizes.items() if counts[k] < size - 1]
        k = max(open_, key=lambda k: (n * sizes[k] - total * counts[k], k))
        counts[k] += 1
    return counts
