"""Tasks of reasoning-gym (extra `gym`): the only door to it, for workers only.

Difficulty: each attribute of a task's curriculum has its levels spread evenly over 1 to
15, and only the level itself is drawn from, not those below it. Tasks without a
curriculum have difficulty 1. Solved is a score of 1; the package gives shares of it for
answers that are nearly right, or not at all. Its verifiers evaluate answers as Python.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import numbers
import random
from typing import Any

from routejax.envs.adapters.plain import from_json, to_json
from routejax.envs.adapters.randomness import fixed
from routejax.envs.problem import DIFFICULTIES, Verdict
from routejax.envs.tagged import INSTRUCTION, tagged, verdict
from routejax.errors import UserError

# Where problems without a gold answer keep one that is right.
_EXAMPLES = ("example_answer", "possible_answer", "example_correct_answer")


def generate(task: str, rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """A question, and a config with `task`, the dataset's `settings`, the `entry`."""
    seed = rng.randrange(2**31)
    with fixed(seed):
        settings = settings_at(task, difficulty)
        created = _package("").create_dataset(task, size=1, seed=seed, **settings)
        entry = to_json(created[0])
    config = {"task": task, "settings": to_json(settings), "entry": entry}
    return f"{entry['question'].strip()}\n\n{INSTRUCTION}", config


def judge(config: dict, response: str) -> Verdict:
    """The verdict on the tagged answer of a response.

    Raises:
        Exception: whatever the package's verifier raises.
    """
    answer = tagged(response)
    if answer is None:
        return verdict(None, None)
    created = _dataset(config["task"], json.dumps(config["settings"]))
    with fixed(0):
        score = created.score_answer(answer, from_json(config["entry"]))
    if not isinstance(score, numbers.Real):
        raise TypeError(f"the score is {type(score).__name__}, no number")
    return Verdict(float(score) >= 1, float(score), answer, "answered")


def gold(config: dict) -> str | None:
    """The answer that came with the problem, or an example of one; None without."""
    entry = from_json(config["entry"])
    if isinstance(entry["answer"], str):
        return entry["answer"]
    for name in _EXAMPLES:
        if found := entry["metadata"].get(name):
            return found if isinstance(found, str) else json.dumps(found)
    return None


def warm() -> None:
    """Loads the package; seconds."""
    _package("")


def known() -> list[str]:
    """All tasks of the package that is installed; mixtures of them are none."""
    return sorted(set(_package(".factory").DATASETS) - {"composite"})


def settings_at(task: str, difficulty: int) -> dict[str, Any]:
    """What the curriculum of a task sets at a difficulty."""
    if task not in _package(".factory").CURRICULA:
        if difficulty != DIFFICULTIES[0]:
            raise UserError(f"task {task!r} has no curriculum, only difficulty 1")
        return {}
    coaching = _package(".coaching.base_curriculum")
    curriculum = _package(".factory").CURRICULA[task]()
    for name, attribute in curriculum.attributes.items():
        share = (difficulty - 1) / len(DIFFICULTIES)
        curriculum.set_attr_level(name, int(share * len(attribute.levels)))
    mode = coaching.RangeAttributeMode.UPPER_BOUND
    context = coaching.DefaultCurriculumContext(mode=mode)
    found = curriculum.generate_configuration({"size": 1, "seed": 0}, context=context)
    return {name: getattr(found, name) for name in _fields(curriculum)}


def _fields(curriculum: Any) -> list[str]:
    names = []
    for attribute in curriculum.attributes.values():
        for which in ("field_name", "lower_field_name", "upper_field_name"):
            if hasattr(attribute, which):
                names.append(getattr(attribute, which))
    return names


@functools.lru_cache(maxsize=64)
def _dataset(task: str, settings: str) -> Any:
    """The dataset that judges; verifiers read its settings, never its seed."""
    arguments = from_json(json.loads(settings))
    return _package("").create_dataset(task, size=1, seed=0, **arguments)


def require() -> None:
    """A `UserError` that names the extra, where the package is not installed."""
    if importlib.util.find_spec("reasoning_gym") is None:
        raise _absent("reasoning_gym")


def _package(module: str) -> Any:
    try:
        return importlib.import_module(f"reasoning_gym{module}")
    except ModuleNotFoundError as error:
        raise _absent(error.name) from error


def _absent(name: str | None) -> UserError:
    return UserError(
        f"environments gym:… need reasoning-gym, and {name} is missing: "
        "pip install 'routejax[gym]'"
    )
