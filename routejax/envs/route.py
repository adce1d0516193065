"""A route: one procedure that solves a problem and writes down its steps.

A route returns its steps and the answer they lead to. A step that can go wrong also
carries a wrong version of its own sentence. How the steps become a response (with a
slip, a check, a plan) is decided in `wording`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Step(NamedTuple):
    """A sentence, and a false version of the same sentence if there is one."""

    text: str
    wrong: str | None = None


class Work(NamedTuple):
    """The steps of one solution and the answer they lead to."""

    steps: list[Step]
    answer: str


@dataclass(frozen=True)
class Route:
    """One procedure.

    Attributes:
        openings: wordings of the sentence that announces the procedure.
        work: (config, generator) to the steps and the answer. The generator picks
            wordings once per solution, and choices where the procedure leaves some.
        recheck: (config, answer) to one sentence that computes the answer, or a
            property that decides it, a second time in another way.
        plan: sentences naming the sub-goals first, if the procedure has such.
    """

    openings: tuple[str, ...]
    work: Callable[[dict, random.Random], Work]
    recheck: Callable[[dict, str], str]
    plan: str | None = None

    @property
    def manners(self) -> tuple[str, ...]:
        """The manners this route can be written in."""
        return ("plain", "check", "slip") + (("plan",) if self.plan else ())
