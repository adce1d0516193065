"""What the local environments share: their one strict form of answers.

All work on small alphabets, so that a model of half a million parameters can learn them
on a CPU; they stand in for environment suites in runs without an accelerator. Their
verifiers are parsers: model output is never evaluated.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from routejax.envs.problem import Environment, Verdict
from routejax.envs.route import Route
from routejax.spans import split

LONGEST_ANSWER = 1000  # characters; the longest right answer has fewer than 40

Check = Callable[[dict, str], bool | None]


def environment(
    name: str,
    title: str,
    generate: Callable[[random.Random, int], tuple[str, dict]],
    check: Check,
    routes: Mapping[str, Route],
) -> Environment:
    """An environment whose `check` says right, wrong, or None for another form."""

    def judge(config: dict, response: str) -> Verdict:
        return judged(check, config, response)

    return Environment(name, title, generate, judge, routes)


def judged(check: Check, config: dict, response: str) -> Verdict:
    """The verdict on a response in the strict form; total over all strings.

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
    right = check(config, found[1])
    if right is None:
        return Verdict(False, 0.0, found[1], "unparsed")
    return Verdict(right, float(right), found[1], "answered")


def size(difficulty: int) -> int:
    """Number of items: 3 at difficulty 1, 4 at 2, 5 at 5, 6 at 8, 7 at 11, 8 at 14."""
    return 3 + (difficulty + 1) // 3
