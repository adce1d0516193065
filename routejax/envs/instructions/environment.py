"""Instructions as an environment: solved is strict and means all of a prompt's.

The answer of a verdict is JSON, which `scores.accuracies` reads; its score is the share
of instructions that are strictly followed, for information. Where one cannot be
checked the status is error, as it is where the verifier fails.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, NoReturn

from routejax.envs.instructions import following, library, scores
from routejax.envs.problem import Environment, Verdict
from routejax.errors import UserError


def config_of(kind: str, prompt: str, meta: Mapping[str, Any]) -> dict:
    """What the environment judges by, from a question of a benchmark.

    `kind` is "ifeval" or "ifbench"; of a mixture, whose rows have both in one text, the
    first of its conversations is read.
    """
    found: Any = meta
    if "instruction_id_list" not in meta:
        found = meta.get("ground_truth")
        found = found[0] if isinstance(found, list) and found else found
    names = ("instruction_id_list", "instruction_id")
    name = next((n for n in names if isinstance(found, dict) and n in found), None)
    if name is None:
        raise UserError(f"a question of kind {kind} has no instruction_id_list")
    wanted, given = found[name], found.get("kwargs")
    if not _list_of(wanted, str) or not _list_of(given, dict | None):
        raise UserError(
            f"a question of kind {kind} must have a list of names in {name} and one of "
            "objects in kwargs"
        )
    given = [one or {} for one in found["kwargs"]]
    if not wanted or len(wanted) != len(given):
        raise UserError(
            f"a question of kind {kind} must have one of kwargs for each instruction; "
            f"it has {len(given)} for {len(wanted)}"
        )
    config = {"benchmark": kind, "prompt": prompt}
    return config | {"instruction_id_list": wanted, "kwargs": given}


def _list_of(value: Any, kind: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def judge(config: dict, response: str) -> Verdict:
    """The verdict on a response; in a worker only.

    Raises:
        UserError: an unknown instruction, arguments that do not fit, or no library.
    """
    found = following.followed(config, response)
    told = scores.written(found, library.version())
    share = sum(bool(one.strict) for one in found) / len(found)
    if any(one.missing for one in found):
        return Verdict(False, share, told, "error")
    status = "answered" if following.answer(response) else "no_answer"
    return Verdict(all(one.strict for one in found), share, told, status)


def _no_problems(rng: random.Random, difficulty: int) -> NoReturn:
    raise UserError(
        "problems of `instructions` are read from files, not generated: "
        "routejax.envs.benchmarks.read_questions"
    )


ENVIRONMENTS = (
    Environment(
        "instructions",
        "instructions of IFEval and IFBench, from files",
        _no_problems,
        judge,
        form="{}",
        isolated=True,
        modules=(f"{library.__name__}:warm",),
        require=library.require,
    ),
)
