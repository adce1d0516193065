"""Which instructions a response follows, strictly and loosely.

Strict looks at the answer as it is. Loose, as both benchmarks define it, is content if
one of eight versions follows: with or without the first line, the last line, and
asterisks. A blank version follows nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from routejax.envs.instructions import library
from routejax.errors import UserError
from routejax.spans import find

_RESOURCE = re.compile(r"Resource\W+(?:\x1b\[\d+m)?(\w+)")


class Followed(NamedTuple):
    """Of one instruction; None where `missing` data keeps it from being checked."""

    strict: bool | None
    loose: bool | None
    missing: str = ""


def answer(response: str) -> str:
    """What is judged: the text behind the reasoning, without white space around."""
    span = find(response)
    return (response if span.state == "none" else span.answer).strip()


def followed(config: Mapping[str, Any], response: str) -> list[Followed]:
    """One for each instruction of the config, in its order.

    Raises:
        UserError: an unknown benchmark or instruction, or one whose arguments are not
            all given: its checker would draw some that no prompt has asked for.
    """
    text = answer(response)
    versions = loosened(text)
    wanted = zip(config["instruction_id_list"], config["kwargs"], strict=True)
    checkers = [
        prepared(config["benchmark"], name, given or {}, config.get("prompt", ""))
        for name, given in wanted
    ]
    return [_one(checker, text, versions) for checker in checkers]


def prepared(benchmark: str, name: str, given: Mapping[str, Any], prompt: str) -> Any:
    """The checker of one instruction with its arguments."""
    found = library.checker(benchmark, name)
    given = {key: value for key, value in given.items() if value is not None}
    wanted = found.get_instruction_args_keys()
    if "prompt" in wanted:
        given.setdefault("prompt", prompt)
    if missing := [key for key in wanted if key not in given]:
        raise UserError(f"instruction {name} needs {', '.join(missing)} in its kwargs")
    random.seed(0)  # descriptions, which are not used, may draw examples
    try:
        found.build_description(**given)
    except TypeError as error:
        raise UserError(f"kwargs of instruction {name} do not fit: {error}") from error
    return found


def loosened(text: str) -> list[str]:
    """The versions of a text, the text itself first."""
    lines = text.split("\n")
    cut = (lines, lines[1:], lines[:-1], lines[1:-1])
    plain = ["\n".join(part).strip() for part in cut]
    return plain + [one.replace("*", "") for one in plain]


def _one(checker: Any, text: str, versions: list[str]) -> Followed:
    try:
        strict = _follows(checker, text)
        return Followed(strict, strict or any(_follows(checker, v) for v in versions))
    except LookupError as error:
        if type(error) is not LookupError:  # nltk's own is; subclasses are faults
            raise
        named = _RESOURCE.search(str(error))
        return Followed(None, None, named[1] if named else "data")


def _follows(checker: Any, text: str) -> bool:
    return bool(text.strip()) and bool(checker.check_following(text))
