"""The records of a verifiable environment: a problem, a verdict, and the environment.

An environment draws problems of difficulty 1 to 15, decides answers with a parser (it
never evaluates model output), and knows routes: procedures that solve a problem while
writing down their steps. All of them work on small alphabets, so that a model of half a
million parameters can learn them on a CPU; they stand in for environment suites such as
RLVE-Gym in runs without an accelerator.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from routejax.envs.route import Route

DIFFICULTIES = range(1, 16)
NONE = "none"  # stands for an empty list wherever one is written or answered


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
        solved: whether the answer is right.
        score: the verifier's own score; 1.0 or 0.0 for the environments here.
        answer: the text after `Answer:`, or None where there is none.
        status: "answered" (parsed, right or wrong), "unparsed" (an answer that is not
            of the environment's form), "no_answer", or, from verifiers that run in
            another process, "error" and "timeout".
    """

    solved: bool
    score: float
    answer: str | None
    status: str


@dataclass(frozen=True)
class Environment:
    """One family of problems.

    Attributes:
        name: key in `ENVS`.
        title: one line for people.
        generate: (generator, difficulty) to (prompt, config).
        check: (config, answer text) to right or wrong; None where the text is not of
            the answer's form.
        routes: procedures that solve its problems, by name.
    """

    name: str
    title: str
    generate: Callable[[random.Random, int], tuple[str, dict]]
    check: Callable[[dict, str], bool | None]
    routes: Mapping[str, Route]


def size(difficulty: int) -> int:
    """Number of items: 3 at difficulty 1, 4 at 2, 5 at 5, 6 at 8, 7 at 11, 8 at 14."""
    return 3 + (difficulty + 1) // 3


def spaced(items: Iterable[object]) -> str:
    """The items separated by single spaces; `none` if there are none."""
    return " ".join(map(str, items)) or NONE


def symbols(text: str, alphabet: Iterable[str]) -> list[str] | None:
    """The symbols of an answer (`none` is the empty list); None if one is foreign."""
    words = text.split()
    if words == [NONE]:
        return []
    known = set(alphabet)
    return words if words and all(word in known for word in words) else None
