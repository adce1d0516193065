"""A::B programs at seven levels, from tiny to extreme."""

from dataclasses import replace

from routejax.envs.local import form
from routejax.envs.local.ab import ROUTES
from routejax.envs.problem import Environment
from routejax.envs.programs.environment import (
    check,
    generator,
    judge,
    key,
    prompt_of,
    short_prompt_of,
)
from routejax.envs.tagged import FORM

_TITLE = "run an A::B program of any length to its final state"
_SHORT = form.environment(
    "programs_short",
    f"{_TITLE}, in a small vocabulary",
    generator(short_prompt_of),
    check,
    ROUTES,
)
ENVIRONMENTS: tuple[Environment, ...] = (
    Environment("programs", _TITLE, generator(prompt_of), judge, ROUTES, FORM, key),
    replace(_SHORT, key=key),
)

__all__ = ["ENVIRONMENTS"]
