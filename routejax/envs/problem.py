"""The records of a verifiable environment: a problem, a verdict, and the environment.

An environment draws problems of difficulty 1 to 15 and judges responses; some also know
routes: procedures that solve a problem while writing down their steps. Where a verifier
is not ours, its environment says so, and it is asked in a process of its own
(`judging`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from routejax.envs.route import Route

DIFFICULTIES = range(1, 16)
STATUSES = ("answered", "no_answer", "unparsed", "error", "timeout")


@dataclass(frozen=True)
class Problem:
    """One question and all its verifier needs.

    Attributes:
        id: `content_id("problem", env, prompt)`, so equal questions have equal ids
            whatever seed or difficulty drew them.
        env, difficulty, seed: what `make_problem` was asked for.
        prompt: the user turn.
        config: what the verifier and the routes read; JSON types only.
    """

    id: str
    env: str
    difficulty: int
    seed: int
    prompt: str
    config: dict


@dataclass(frozen=True)
class Verdict:
    """What the verifier says about one response.

    Attributes:
        solved: whether the answer is right; an outcome, never a share.
        score: the verifier's own score, for information; nothing is rewarded by it.
        answer: the answer that was found, or None where there is none.
        status: "answered" (parsed, right or wrong), "unparsed" (an answer that is not
            of the environment's form), "no_answer", or, from verifiers that run in
            another process, "error" and "timeout".
    """

    solved: bool
    score: float
    answer: str | None
    status: str


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Environment:
    """One family of problems.

    Attributes:
        name: key in `ENVS`.
        title: one line for people.
        generate: (generator, difficulty) to (prompt, config).
        judge: (config, response) to a verdict; total over all strings.
        routes: procedures that solve its problems, by name.
        form: how the solvers' responses give an answer behind their reasoning.
        key: (config) to a text that is equal for all problems that must be in one
            split; None where that is the question itself.
        isolated: judging and generating run third-party programs, so both happen in a
            worker process only.
        programs: judging runs programs that a model wrote, so it happens in a sandbox
            only (`judging.sandbox`); isolated too.
        difficulties: those that it has.
        modules: what a worker loads before its first request, beyond the time limit of
            that: imported, and where ":name" follows, this function is called.
        require: raises a UserError that names the extra where a package that its
            verifier needs is not installed; imports none.
        quick: (config, response) to the verdict of an isolated environment where our
            own parsers suffice for it; None leaves it to the worker.
    """

    name: str
    title: str
    generate: Callable[[random.Random, int], tuple[str, dict]]
    judge: Callable[[dict, str], Verdict]
    routes: Mapping[str, Route] = field(default_factory=dict)
    form: str = "Answer: {}"
    key: Callable[[dict], str] | None = None
    isolated: bool = False
    programs: bool = False
    modules: tuple[str, ...] = ()
    quick: Callable[[dict, str], Verdict | None] | None = None
    difficulties: Sequence[int] = DIFFICULTIES
    require: Callable[[], None] = _nothing

    def __post_init__(self) -> None:
        if self.programs and not self.isolated:
            raise ValueError(f"environment {self.name!r} runs programs: isolate it")
