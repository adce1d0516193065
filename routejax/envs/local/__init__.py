"""The local environments: ten families of small problems with solver-written routes.

They judge strictly: `<think> … </think> Answer: …` and nothing else (`form`).
"""

from routejax.envs.local import (
    ab,
    brackets,
    count,
    countdown,
    distinct,
    fence,
    modsum,
    reverse,
    sort,
    walk,
)
from routejax.envs.problem import Environment

_ALL = (
    *(sort, modsum, brackets, ab, walk, countdown, count, reverse),
    *(distinct, fence),  # variants of sort and walk
)
ENVIRONMENTS: tuple[Environment, ...] = tuple(module.ENVIRONMENT for module in _ALL)

__all__ = ["ENVIRONMENTS"]
