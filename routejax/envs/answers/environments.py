"""Mathematics and multiple choice as environments: a config with gold and tolerance.

Their problems come from files (`benchmarks`), so they generate none. Mathematics is
isolated because of math-verify; `quick` is our own rules, which decide nearly all.
"""

from __future__ import annotations

import random
from typing import NoReturn

from routejax.envs.answers import symbolic
from routejax.envs.answers.verdicts import decide, judge
from routejax.envs.problem import Environment, Verdict
from routejax.errors import UserError


def _math(config: dict, response: str) -> Verdict:
    tolerance = config.get("tolerance")
    return judge(config["gold"], response, kind="math", tolerance=tolerance)


def _quick(config: dict, response: str) -> Verdict | None:
    tolerance = config.get("tolerance")
    found = decide(config["gold"], response, kind="math", tolerance=tolerance)
    return found if isinstance(found, Verdict) else None


def _choice(config: dict, response: str) -> Verdict:
    return judge(config["gold"], response, kind="choice")


def _no_problems(rng: random.Random, difficulty: int) -> NoReturn:
    raise UserError(
        "problems of `math` and `choice` are read from files, not generated: "
        "routejax.envs.benchmarks.read_questions"
    )


_BOX = "\\boxed{{{}}}"
ENVIRONMENTS = (
    Environment(
        "math",
        "answers in mathematics, from files",
        _no_problems,
        _math,
        form=_BOX,
        isolated=True,
        modules=(f"{symbolic.__name__}:warm",),
        quick=_quick,
        require=symbolic.require,
    ),
    Environment(
        "choice", "multiple choice, from files", _no_problems, _choice, form=_BOX
    ),
)
