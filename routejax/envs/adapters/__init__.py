"""Environments of other packages: reasoning-gym as `gym:TASK`, RLVE as `rlve:ID`.

Both draw and judge in worker processes only: they seed global generators, hang, raise,
and evaluate answers as Python, so that a response could make such a verifier say
anything about itself. Which tasks exist, and at which difficulties, is in `tables`.
Left out: their mixtures of tasks, and Enigmata, whose generators take no seed.
"""

from __future__ import annotations

import random
from types import ModuleType

from routejax.envs.adapters import gym, rlve, tables
from routejax.envs.problem import Environment, Verdict
from routejax.envs.tagged import FORM, LONGEST_ANSWER, tagged, verdict

MODULES = {"gym": gym, "rlve": rlve}
PACKAGES = {"gym": "reasoning-gym", "rlve": "rlve-gym"}  # of the tables, and extras


def environment(family: str, module: ModuleType, task: tables.Task) -> Environment:
    """The environment of a task, by name `family:task`."""
    name = f"{family}:{task.task}"

    def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
        prompt, config = module.generate(task.task, rng, difficulty)
        if len(prompt) > tables.LONGEST_PROMPT:
            raise ValueError(f"a prompt of {len(prompt)} characters")
        return prompt, config

    return Environment(
        name,
        f"{task.task} of {PACKAGES[family]}",
        generate,
        module.judge,
        form=FORM,
        isolated=True,
        modules=(f"{module.__name__}:warm",),
        quick=_quick,
        require=module.require,
        difficulties=task.difficulties,
    )


def _quick(config: dict, response: str) -> Verdict | None:
    """The verdict where no verifier is needed: no answer, or one that is too long."""
    answer = tagged(response)
    if answer is None or len(answer) > LONGEST_ANSWER:
        return verdict(answer, None)
    return None


_TASKS = [(family, task) for family in MODULES for task in tables.tasks(family)]
ENVIRONMENTS = tuple(
    environment(family, MODULES[family], task)
    for family, task in _TASKS
    if not task.excluded
)

# Of the tasks that are left out: why.
EXCLUDED = {f"{f}:{task.task}": task.excluded for f, task in _TASKS if task.excluded}
