"""What a worker does for the pool: loads modules, judges a response, draws a problem.

Environments are looked up in a table that is named by its place, "module:name", so that
a worker needs nothing but names and JSON.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from routejax.envs.problem import STATUSES, Environment, Verdict
from routejax.errors import UserError

TABLE = "routejax.envs.registry:ENVS"
LONGEST_ANSWER = 8000  # characters that are kept of an answer


def load(modules: Sequence[str]) -> None:
    """Imports each; of "module:name" the function is called too."""
    for name in modules:
        module, _, function = name.partition(":")
        found = importlib.import_module(module)
        if function:
            getattr(found, function)()


def table(place: str) -> Mapping[str, Environment]:
    """The environments that a module holds under a name."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def environment(place: str, name: str) -> Environment:
    """That of a name; a `UserError` lists those that exist."""
    known = table(place)
    if name not in known and place == TABLE:
        return importlib.import_module("routejax.envs.registry").environment(name)
    if name not in known:
        raise UserError(f"env must be one of {', '.join(known)}; got {name!r}")
    return known[name]


def judge(place: str, env: str, config: dict, response: str) -> list:
    """The fields of the verdict.

    Raises:
        TypeError, ValueError: what the verifier gave is no verdict.
    """
    return fields(environment(place, env).judge(config, response))


def draw(place: str, env: str, difficulty: int, seed: int) -> list:
    """The fields of the problem that this seed draws.

    Raises:
        ValueError: its prompt cannot be written to a file.
    """
    drawn = importlib.import_module("routejax.envs.registry").drawn
    problem = drawn(environment(place, env), difficulty, seed)
    problem.prompt.encode()
    return list(dataclasses.asdict(problem).values())


def fields(verdict: Any) -> list:
    """A verdict as [solved, score, answer, status], its answer cut; else it raises."""
    if not isinstance(verdict, Verdict):
        raise TypeError(f"the verifier gave {type(verdict).__name__}, no verdict")
    return list(dataclasses.astuple(verdict_of(dataclasses.astuple(verdict))))


def verdict_of(values: Any) -> Verdict:
    """The verdict of four fields, looked at: a worker may send anything."""
    solved, score, answer, status = values
    if not isinstance(solved, bool):
        raise TypeError(f"solved must be True or False, got {type(solved).__name__}")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise TypeError(f"the score must be a number, got {type(score).__name__}")
    if not _is_finite(score):
        raise ValueError("the score must be finite, and no larger than a float")
    if not (answer is None or isinstance(answer, str)):
        raise TypeError(f"the answer must be text, got {type(answer).__name__}")
    if status not in STATUSES or solved > (status == "answered"):
        raise ValueError(f"the status cannot be {status!r} where solved is {solved}")
    return Verdict(solved, float(score), _writable(answer), status)


def _is_finite(score: float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:  # a whole number of any length
        return False


def _writable(answer: str | None) -> str | None:
    """The answer as files can have it: cut, and without halves of characters."""
    if answer is None:
        return None
    return answer[:LONGEST_ANSWER].encode(errors="replace").decode()
