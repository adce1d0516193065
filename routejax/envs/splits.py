"""Sets of distinct problems, disjoint between training and evaluation by content.

The split of a problem is a hash of its environment and prompt, or of the key that its
environment gives it, so two sets of different splits cannot share a question whatever
seeds drew them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from routejax.envs.problem import Problem
from routejax.envs.registry import environment, make_problem
from routejax.errors import UserError
from routejax.traces import content_id

# Upper ends of the splits' shares of all questions, in hundredths (our choice).
SPLITS = {"sft": 50, "rl": 80, "evaluation": 100}


@dataclass(frozen=True)
class ProblemSet:
    """Distinct problems, and by how many each "env/difficulty" fell short."""

    problems: list[Problem]
    shortfalls: dict[str, int]


def split_of(problem: Problem) -> str:
    """The split this question belongs to."""
    key = environment(problem.env).key
    parts = (key(problem.config),) if key else (problem.env, problem.prompt)
    draw = int(content_id("split", *parts)[:8], 16) % 100
    return next(name for name, end in SPLITS.items() if draw < end)


def problem_set(
    envs: Sequence[str],
    difficulties: Sequence[int],
    per_cell: int,
    *,
    split: str,
    seed: int,
) -> ProblemSet:
    """`per_cell` distinct problems of one split per environment and difficulty.

    Order: environments and difficulties as given, then as drawn. A question is used
    once in a set even where two difficulties of one size could draw it. A cell gives
    up after 200 + 50 x `per_cell` draws (small difficulties have few questions), and
    what it lacks is counted in `shortfalls`.
    """
    if split not in SPLITS:
        raise UserError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
    if per_cell < 1:
        raise UserError(f"per_cell must be at least 1; got {per_cell}")
    problems: dict[str, Problem] = {}
    shortfalls = {}
    for env in envs:
        for difficulty in difficulties:
            wanted = len(problems) + per_cell
            rng = random.Random(f"{seed}/{split}/{env}/{difficulty}")
            for _ in range(200 + 50 * per_cell):
                if len(problems) == wanted:
                    break
                problem = make_problem(env, difficulty, rng.randrange(2**31))
                if split_of(problem) == split:
                    problems.setdefault(problem.id, problem)
            if len(problems) < wanted:
                shortfalls[f"{env}/{difficulty}"] = wanted - len(problems)
    return ProblemSet(list(problems.values()), shortfalls)
