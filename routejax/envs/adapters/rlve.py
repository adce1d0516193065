"""Environments of RLVE (extra `rlve`, or a checkout): the only door, for workers only.

Difficulty is how often the environment's controller is updated; of the parameters that
it then offers one is drawn. Solved is the verifier's `accuracy`. Modules are imported
one by one, since the package's own list imports all 400. `RLVE_PATH` in the worker's
environment names a checkout that is used instead of an installed package.

The package seeds torch and uses it for nothing else, so an empty one stands in for it
while it is imported.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import os
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from routejax.envs.adapters.plain import from_json, to_json
from routejax.envs.adapters.randomness import fixed
from routejax.envs.problem import Verdict
from routejax.envs.tagged import CLOSES, INSTRUCTION, OPENS, tagged, verdict
from routejax.errors import UserError

_HEAVY = ("Integral", "BanyanHeart")  # they import sympy and networkx
_ENDLESS_S = 10**6  # the pool has the time limit; the package's leaves a thread behind


def generate(task: str, rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """A question, and a config with `task` and the package's own `config`.

    Raises:
        ValueError: the package cannot draw a problem with these parameters.
    """
    seed = rng.randrange(2**31)
    with fixed(seed):
        controller = _class(task, "parameter_controllers")()
        for _ in range(difficulty):
            controller.update()
        parameter = rng.choice(controller.get_parameter_list())
        env = _environment(task)
        if not env.generator(seed, parameter, timeout_second=_ENDLESS_S):
            raise ValueError(f"no problem for {parameter}")
        prompt = env.prompt_generator()
        config = {"task": task, "config": to_json(env.get_config())}
    return f"{prompt.strip()}\n\n{INSTRUCTION}", config


def judge(config: dict, response: str) -> Verdict:
    """The verdict on the tagged answer of a response.

    Raises:
        Exception: whatever the package's scorer raises, which its verifier takes for a
            wrong answer.
    """
    answer = tagged(response)
    if answer is None:
        return verdict(None, None)
    env, raised = _environment(config["task"]), []
    env.set_config(from_json(config["config"]))
    scorer = env.scorer

    def watched(output: str) -> float:
        try:
            return scorer(output)
        except Exception as error:
            raised.append(error)
            raise

    env.scorer = watched
    with fixed(0):
        found = env.verifier(f"{OPENS}{answer}{CLOSES}")
    if raised:
        raise raised[0]
    status = "answered" if found["format_score"] else "unparsed"
    solved = found["accuracy"] == 1
    return Verdict(solved, float(found["reward"]), answer, status)


def gold(config: dict) -> str | None:
    """The reference answer of the problem; None where there is only a best value."""
    found = from_json(config["config"])["parameter"].get("reference_answer")
    return None if found is None else str(found)


def warm() -> None:
    """Loads what its environments import; seconds. Their own modules are small."""
    for task in _HEAVY:
        _class(task, "environments")


def known() -> list[str]:
    """All environments of the package that is installed."""
    return sorted(_index("environments"))


def _environment(task: str) -> Any:
    return _class(task, "environments")(answer_markers=(OPENS, CLOSES))


def _class(task: str, room: str) -> Any:
    module, name = _index(room)[task]
    with _no_torch():
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            raise UserError(
                f"environment rlve:{task} needs {error.name}: "
                "pip install 'routejax[rlve]'"
            ) from error


@functools.cache
def _index(room: str) -> dict[str, tuple[str, str]]:
    """Environment → (module, class), read from the package's list without running it.

    The list's own package is replaced by an empty one over the same folder.
    """
    folder = _folder() / room
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    modules, found = {}, {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            modules |= {alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Name):
                    found[key.value] = (modules[value.id], value.id)
    empty = types.ModuleType(f"Gym.{room}")
    empty.__path__ = [str(folder)]
    sys.modules.setdefault(empty.__name__, empty)
    return found


def require() -> None:
    """A `UserError` that says what to install, where there is no package."""
    if checkout := os.environ.get("RLVE_PATH"):
        if not (Path(checkout) / "Gym").is_dir():
            raise UserError(f"RLVE_PATH must be a checkout of RLVE, got {checkout}")
    elif importlib.util.find_spec("Gym") is None:
        raise UserError(
            "environments rlve:… need rlve-gym: pip install 'routejax[rlve]', or set "
            "RLVE_PATH to a checkout of RLVE"
        )
    for name in ("networkx", "sympy"):
        if importlib.util.find_spec(name) is None:
            raise UserError(
                f"environments rlve:… need {name}: pip install 'routejax[rlve]'"
            )


def _folder() -> Path:
    """The folder `Gym` of the checkout or the installed package."""
    require()
    if checkout := os.environ.get("RLVE_PATH"):
        sys.path.insert(0, checkout)
    return Path(importlib.import_module("Gym").__path__[0])


@contextlib.contextmanager
def _no_torch() -> Iterator[None]:
    """An empty torch that can be seeded, unless there is one in this process."""
    if "torch" in sys.modules:
        yield
        return
    stub = types.ModuleType("torch")
    stub.__dict__["manual_seed"] = lambda seed: None
    stub.__dict__["cuda"] = types.SimpleNamespace(manual_seed_all=lambda seed: None)
    sys.modules["torch"] = stub
    try:
        yield
    finally:
        del sys.modules["torch"]
