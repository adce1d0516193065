"""The environments that exist, and what one does with them here, in this process.

`make_problem` draws a problem, `judge` decides a response, `write_trace` writes a
response that follows a route. A fixed seed gives the same bytes in any process. What
must not run here is refused: `judging` runs it in a worker.
"""

from __future__ import annotations

import difflib
import random
from collections import Counter
from collections.abc import Iterable

from routejax.envs import (
    adapters,
    answers,
    code,
    instructions,
    local,
    programs,
    sokoban,
)
from routejax.envs.problem import Environment, Problem, Verdict
from routejax.envs.wording import respond
from routejax.errors import UserError
from routejax.traces import content_id

_ALL = (
    *(*local.ENVIRONMENTS, *sokoban.ENVIRONMENTS, *programs.ENVIRONMENTS),
    *(*answers.ENVIRONMENTS, *instructions.ENVIRONMENTS, *code.ENVIRONMENTS),
    *adapters.ENVIRONMENTS,
)
ENVS: dict[str, Environment] = {env.name: env for env in _ALL}


def environment(name: str) -> Environment:
    """The environment of that name; a `UserError` lists those that exist."""
    if name in adapters.EXCLUDED:
        raise UserError(f"env {name!r} cannot be used: {adapters.EXCLUDED[name]}")
    if name not in ENVS:
        raise UserError(f"env must be one of {listed()}; got {name!r}{near(name)}")
    return ENVS[name]


def require(names: Iterable[str]) -> None:
    """Refuses environments whose verifiers need what is not installed.

    Raises:
        UserError: what to install, for all of them; or there is no such environment.
    """
    missing = {}
    for name in names:
        try:
            environment(name).require()
        except UserError as error:
            missing[str(error)] = True
    if missing:
        raise UserError("; ".join(missing))


def listed() -> str:
    """All names; of those with a prefix, such as gym:, how many there are."""
    plain = [name for name in ENVS if ":" not in name]
    families = Counter(name.partition(":")[0] for name in ENVS if ":" in name)
    return ", ".join([*plain, *(f"{p}:… ({n})" for p, n in families.items())])


def near(name: str) -> str:
    """`; did you mean …?` where names are alike, else nothing."""
    found = difflib.get_close_matches(str(name), ENVS, n=3)
    return f"; did you mean {', '.join(found)}?" if found else ""


def make_problem(env: str, difficulty: int, seed: int) -> Problem:
    """The problem that this seed draws.

    Different seeds can draw the same question, which then has the same id.

    Raises:
        UserError: there is no such environment or difficulty, or it is one whose
            problems are drawn in a worker (`python -m routejax.problems`).
    """
    found = environment(env)
    if found.isolated:
        raise UserError(
            f"problems of env {env!r} are drawn by another package, which must not run "
            "in this process; make a file of them with python -m routejax.problems"
        )
    return drawn(found, difficulty, seed)


def drawn(env: Environment, difficulty: int, seed: int) -> Problem:
    """The problem that this seed draws, wherever this is."""
    if difficulty not in env.difficulties:
        known = env.difficulties
        text = f"{known[0]}..{known[-1]}" if isinstance(known, range) else f"{known}"
        raise UserError(
            f"difficulty must be in {text}; got {difficulty!r} for env {env.name!r}"
        )
    rng = random.Random(f"{env.name}/{difficulty}/{seed}")
    prompt, config = env.generate(rng, difficulty)
    identity = problem_id(env.name, prompt)
    return Problem(identity, env.name, difficulty, seed, prompt, config)


def problem_id(env: str, prompt: str) -> str:
    return content_id("problem", env, prompt)


def judge(problem: Problem, response: str) -> Verdict:
    """Whether the response solves the problem; total over all strings.

    Raises:
        UserError: there is no such environment, or its verifier is not ours, so that
            it must be asked in a worker (`judging.Judges`).
    """
    env = environment(problem.env)
    if env.isolated:
        raise UserError(
            f"the verifier of env {env.name!r} must not run in this process; ask it "
            "through routejax.envs.judging.Judges"
        )
    return env.judge(problem.config, response)


def right_answer(problem: Problem) -> str | None:
    """An answer that the verifier takes, where a route finds one; others may be right.

    The same one at every call; None for environments that are judged elsewhere.
    """
    env = environment(problem.env)
    for route in () if env.isolated else env.routes.values():
        answer = route.work(problem.config, random.Random(0)).answer
        response = f"<think> Solved. </think> {env.form.format(answer)}"
        if env.judge(problem.config, response).solved:
            return answer
    return None


def write_trace(problem: Problem, route: str, manner: str, seed: int) -> str:
    """A response that follows a route in one of its manners."""
    env = environment(problem.env)
    if route not in env.routes:
        raise UserError(
            f"route must be one of {', '.join(env.routes)} for env {problem.env!r}; "
            f"got {route!r}"
        )
    found = env.routes[route]
    if manner not in found.manners:
        raise UserError(
            f"manner must be one of {', '.join(found.manners)} for route "
            f"{route!r} of env {problem.env!r}; got {manner!r}"
        )
    rng = random.Random(f"{problem.id}/{route}/{manner}/{seed}")
    return respond(found, manner, problem.config, rng, env.form)
