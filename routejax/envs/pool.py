"""A pool of solver-written traces: verified solutions of SFT problems by many routes.

Every row is judged like a model's response. A row that is left out is counted under
its reason, with its id.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from routejax.envs.problem import Problem
from routejax.envs.registry import environment, judge, write_trace
from routejax.envs.splits import problem_set
from routejax.errors import UserError
from routejax.progress import Stage
from routejax.traces import Trace, content_id

REASONS = ("over max_words", "duplicate response", "not verified")


@dataclass(frozen=True)
class Pool:
    """Traces in the order written, and what was counted on the way.

    `counts` has `problems`, `written`, `verified`, `kept`, `rejected` (for each
    reason the ids of the rows left out) and `shortfalls` (see `ProblemSet`).
    """

    traces: list[Trace]
    counts: dict


def words(text: str) -> int:
    """Number of words and punctuation marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def strategies(env: str) -> list[tuple[str, str]]:
    """Every (route, manner) an environment's solutions can be written in."""
    routes = environment(env).routes
    return [(name, manner) for name in routes for manner in routes[name].manners]


def solver_pool(
    envs: Sequence[str],
    difficulties: Sequence[int],
    prompts_per_cell: int,
    traces_per_prompt: int,
    *,
    seed: int,
    max_words: int,
    progress: Stage | None = None,
) -> Pool:
    """Solutions of SFT problems, `traces_per_prompt` different strategies for each.

    A strategy is a (route, manner) pair; those of a prompt are drawn without
    replacement. `progress` counts prompts.
    """
    for env in envs:
        if not 1 <= traces_per_prompt <= len(strategies(env)):
            raise UserError(
                f"traces_per_prompt must be in 1..{len(strategies(env))} (routes times "
                f"manners of env {env!r}); got {traces_per_prompt}"
            )
    drawn = problem_set(envs, difficulties, prompts_per_cell, split="sft", seed=seed)
    traces: list[Trace] = []
    written, verified = 0, 0
    rejected: dict[str, list[str]] = {reason: [] for reason in REASONS}
    for done, problem in enumerate(drawn.problems, 1):
        seen = set()
        for trace in _solutions(problem, traces_per_prompt, seed):
            written += 1
            verified += bool(trace.verified)
            reason = _rejection(trace, max_words, seen)
            seen.add(trace.id)
            if reason:
                rejected[reason].append(trace.id)
            else:
                traces.append(trace)
        if progress:
            progress.update(done)
    counts = {
        "problems": len(drawn.problems),
        "written": written,
        "verified": verified,
        "kept": len(traces),
        "rejected": rejected,
        "shortfalls": drawn.shortfalls,
    }
    return Pool(traces, counts)


def _solutions(problem: Problem, number: int, seed: int) -> list[Trace]:
    """Judged solutions of one problem in `number` different strategies."""
    rng = random.Random(f"{seed}/{problem.id}")
    found = []
    for route, manner in rng.sample(strategies(problem.env), number):
        trace_seed = rng.randrange(2**31)
        response = write_trace(problem, route, manner, trace_seed)
        meta = {"config": problem.config, "trace_seed": trace_seed}
        found.append(
            Trace(
                id=content_id(problem.id, response),
                prompt_id=problem.id,
                prompt=problem.prompt,
                response=response,
                group=problem.env,
                source=f"solver/{route}",
                verified=judge(problem, response).solved,
                env=problem.env,
                difficulty=problem.difficulty,
                seed=problem.seed,
                strategy=f"{route}/{manner}",
                meta=json.dumps(meta, sort_keys=True),
            )
        )
    return found


def _rejection(trace: Trace, max_words: int, seen: set[str]) -> str | None:
    """Why a row is left out of the pool, or None."""
    if not trace.verified:
        return "not verified"
    if trace.id in seen:
        return "duplicate response"
    return "over max_words" if words(trace.response) > max_words else None
