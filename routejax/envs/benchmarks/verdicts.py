"""Verdicts on responses to questions of kinds "math" and "choice"."""

from __future__ import annotations

from routejax.envs import answers
from routejax.envs.benchmarks.question import KINDS, Question
from routejax.envs.problem import Verdict
from routejax.errors import UserError


def judge(question: Question, response: str) -> Verdict:
    """Whether the response answers the question, within its tolerance if it has one.

    A `UserError` for a question of another kind, which names who judges it.
    """
    if KINDS.get(question.kind) != "answers" or question.gold is None:
        raise UserError(
            f"question {question.id!r} of kind {question.kind!r} is judged by "
            f"{KINDS.get(question.kind, 'nobody here')!r}, not by its answer"
        )
    tolerance = question.meta.get("tolerance")
    return answers.judge(
        question.gold, response, kind=question.kind, tolerance=tolerance
    )
