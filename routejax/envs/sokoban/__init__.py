"""Sokoban: boards of four levels, a solver, verdicts by replay, written routes."""

from dataclasses import replace

from routejax.envs.local import form
from routejax.envs.problem import Environment
from routejax.envs.sokoban.environment import (
    check,
    generator,
    judge,
    key,
    prompt_of,
    short_prompt_of,
)
from routejax.envs.sokoban.routes import ROUTES
from routejax.envs.tagged import FORM

_SHORT = form.environment(
    "sokoban_short",
    "push boxes onto goals, in a small vocabulary",
    generator("xsb", short_prompt_of),
    check,
    ROUTES,
)
ENVIRONMENTS: tuple[Environment, ...] = (
    *(
        Environment(
            name, title, generator(notation, prompt_of), judge, ROUTES, FORM, key
        )
        for name, notation, title in (
            ("sokoban", "xsb", "push boxes onto goals"),
            ("sokoban_ragen", "ragen", "push boxes onto goals, in RAGEN's notation"),
        )
    ),
    replace(_SHORT, key=key),
)

__all__ = ["ENVIRONMENTS"]
