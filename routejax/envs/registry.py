"""The environments that exist, and the three things one does with them.

`make_problem` draws a problem, `judge` decides a response, `write_trace` writes a
response that follows a route. A fixed seed gives the same bytes in any process.
"""

from __future__ import annotations

import random
import re

from routejax.envs import (
    ab,
    brackets,
    count,
    countdown,
    distinct,
    fence,
    modsum,
    reverse,
    sort,
    walk,
)
from routejax.envs.problem import DIFFICULTIES, Environment, Problem, Verdict
from routejax.envs.wording import respond
from routejax.errors import UserError
from routejax.spans import split
from routejax.traces import content_id

_ALL = (
    *(sort, modsum, brackets, ab, walk, countdown, count, reverse),
    *(distinct, fence),  # variants of sort and walk
)
ENVS: dict[str, Environment] = {m.ENVIRONMENT.name: m.ENVIRONMENT for m in _ALL}

LONGEST_ANSWER = 1000  # characters; the longest right answer has fewer than 40


def environment(name: str) -> Environment:
    """The environment of that name; a `UserError` lists those that exist."""
    if name not in ENVS:
        raise UserError(f"env must be one of {', '.join(ENVS)}; got {name!r}")
    return ENVS[name]


def make_problem(env: str, difficulty: int, seed: int) -> Problem:
    """The problem that this seed draws.

    Different seeds can draw the same question, which then has the same id.
    """
    generate = environment(env).generate
    if difficulty not in DIFFICULTIES:
        raise UserError(
            f"difficulty must be in {DIFFICULTIES[0]}..{DIFFICULTIES[-1]}; "
            f"got {difficulty!r} for env {env!r}"
        )
    prompt, config = generate(random.Random(f"{env}/{difficulty}/{seed}"), difficulty)
    identity = content_id("problem", env, prompt)
    return Problem(identity, env, difficulty, seed, prompt, config)


def judge(problem: Problem, response: str) -> Verdict:
    """Whether the response solves the problem; total over all strings.

    The response must hold exactly one closed, non-blank reasoning span; after it, with
    white space normalised, nothing but `Answer: ` and the answer may stand (our
    choice: one strict form, so that reward never depends on where a parser looks).
    """
    reasoning, after = split(response)
    if reasoning is None or not after.startswith("Answer:"):
        return Verdict(False, 0.0, None, "no_answer")
    if len(after) > LONGEST_ANSWER:
        return Verdict(False, 0.0, after[:LONGEST_ANSWER], "unparsed")
    found = re.fullmatch(r"Answer: (.+)", " ".join(after.split()))
    if not found:
        return Verdict(False, 0.0, None, "no_answer")
    right = environment(problem.env).check(problem.config, found[1])
    if right is None:
        return Verdict(False, 0.0, found[1], "unparsed")
    return Verdict(right, float(right), found[1], "answered")


def write_trace(problem: Problem, route: str, manner: str, seed: int) -> str:
    """A response that follows a route in one of its manners."""
    routes = environment(problem.env).routes
    if route not in routes:
        raise UserError(
            f"route must be one of {', '.join(routes)} for env {problem.env!r}; "
            f"got {route!r}"
        )
    if manner not in routes[route].manners:
        raise UserError(
            f"manner must be one of {', '.join(routes[route].manners)} for route "
            f"{route!r} of env {problem.env!r}; got {manner!r}"
        )
    rng = random.Random(f"{problem.id}/{route}/{manner}/{seed}")
    return respond(routes[route], manner, problem.config, rng)
