"""From questions to verdicts: as problems for `judging`, or at once.

`problem_of` makes of any question what a rollout samples and a worker judges; `judge`
decides a response to a question of mathematics or multiple choice here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from routejax.envs import answers, code, instructions, registry
from routejax.envs.benchmarks.question import KINDS, Question
from routejax.envs.problem import DIFFICULTIES, Problem, Verdict
from routejax.errors import UserError


def judge(question: Question, response: str) -> Verdict:
    """Whether the response answers the question, within its tolerance if it has one.

    A `UserError` for a question of another kind, which names who judges it.
    """
    if question.kind not in ("math", "choice") or question.gold is None:
        raise UserError(
            f"question {question.id!r} of kind {question.kind!r} is judged by "
            f"{KINDS.get(question.kind, 'nobody here')!r}, not by its answer"
        )
    tolerance = question.meta.get("tolerance")
    return answers.judge(
        question.gold, response, kind=question.kind, tolerance=tolerance
    )


def problem_of(question: Question) -> Problem:
    """The question as a problem of the environment that judges it, with the same id.

    Benchmarks have no difficulties, so it is of the first one.

    Raises:
        UserError: nobody here judges its kind, its tests or instructions are none, or
            there is no such environment.
    """
    if question.kind not in _CONFIGS:
        raise UserError(
            f"question {question.id!r} is of kind {question.kind!r}, which no "
            f"environment here judges; there are {', '.join(_CONFIGS)}"
        )
    env = KINDS[question.kind]
    try:
        config = _CONFIGS[question.kind](question)
        if question.kind == "rlve":
            env = f"{env}:{config['task']}"
        registry.environment(env)
    except UserError as error:
        raise UserError(f"question {question.id!r}: {error}") from None
    return Problem(question.id, env, DIFFICULTIES[0], 0, question.prompt, config)


def _answer(question: Question) -> dict[str, Any]:
    config = {"gold": question.gold}
    if "tolerance" in question.meta:
        config["tolerance"] = question.meta["tolerance"]
    return config


def _instructions(question: Question) -> dict[str, Any]:
    return instructions.config_of(question.kind, question.prompt, question.meta)


def _code(question: Question) -> dict[str, Any]:
    return code.config_of(question.kind, question.prompt, question.meta)


def _rlve(question: Question) -> dict[str, Any]:
    return {"task": question.meta["environment"], "config": question.meta["config"]}


_CONFIGS: dict[str, Callable[[Question], dict[str, Any]]] = {
    **dict.fromkeys(("math", "choice"), _answer),
    **dict.fromkeys(("ifeval", "ifbench"), _instructions),
    **dict.fromkeys(("code_functions", "code_stdio", "humaneval"), _code),
    "rlve": _rlve,
}
