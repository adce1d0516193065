"""Programs as an environment: a config with tests, a verdict on the last program.

Solved means that all tests pass; the score is the share that do, for information. The
answer of the verdict says what came of them. A program that fails in whatever way is a
wrong answer; status error is left for tests that cannot be used.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NoReturn

from routejax.envs.code.program import LONGEST, program
from routejax.envs.code.questions import suite_of
from routejax.envs.code.running import Limits
from routejax.envs.code.testing import PASSED, Result, results
from routejax.envs.judging import limits, sandbox
from routejax.envs.problem import Environment, Verdict
from routejax.errors import UserError


def judge(config: dict, response: str) -> Verdict:
    """The verdict on a response; to be asked through `judging.Judges` only.

    Those refuse to run programs without a sandbox, unless they are told to.
    """
    tests, found = suite_of(config), program(response)
    if found is None:
        return Verdict(False, 0.0, None, "no_answer")
    if len(found) > LONGEST:
        return Verdict(False, 0.0, f"a program of {len(found)} characters", "unparsed")
    limits.hide()
    allowed = Limits(**config.get("limits", {}))
    return verdict(results(tests, found, allowed=allowed, bwrap=sandbox.found()))


def verdict(found: Sequence[Result]) -> Verdict:
    """Solved where all results are; unparsed where the program does not compile."""
    passed = sum(result.outcome == PASSED for result in found)
    answer = f"{passed} of {len(found)} tests passed"
    wrong = [(n, r) for n, r in enumerate(found, 1) if r.outcome != PASSED]
    for number, result in wrong[:1]:
        answer += f"; test {number}: {': '.join(filter(None, result))}"
    broken = bool(wrong) and all(r.outcome == "syntax error" for r in found)
    status = "unparsed" if broken else "answered"
    return Verdict(bool(found) and not wrong, passed / len(found), answer, status)


def _no_problems(rng: random.Random, difficulty: int) -> NoReturn:
    raise UserError(
        "problems of `code` are read from files, not generated: "
        "routejax.envs.benchmarks.read_questions"
    )


ENVIRONMENTS = (
    Environment(
        "code",
        "programs and their tests, from files",
        _no_problems,
        judge,
        form="```python\n{}\n```",
        isolated=True,
        programs=True,
        modules=(f"{sandbox.__name__}:found",),
    ),
)
"""The one environment, `code`."""
