"""What is looked at while a student is trained, every so many steps and at the end.

A look depends on the parameters alone, so a run that was stopped and goes on has the
same numbers as one that was not. They stand in the line of the step after which they
were taken, under names that begin with `eval_`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from routejax import loop, sft
from routejax.envs import Problem
from routejax.errors import UserError
from routejax.models import Params
from routejax.packing import Example
from routejax.rollout import rollout
from routejax.stages.run import Run

Look = Callable[[Params, int], loop.Metrics]

# Keeps samples of a look apart from those of training and of the evaluation.
_STEP = 2**31 + 1


class Sides(NamedTuple):
    """Places of rows, in order; those aside are on neither side."""

    train: list[int]
    heldout: list[int]
    aside: list[int]


def nothing(params: Params, done: int) -> loop.Metrics:
    """The look of a training that is not looked at."""
    del params, done
    return {}


def every(steps: int, last: int, of: Callable[[Params], loop.Metrics]) -> Look:
    """`of` after every so many steps and after the last one; 0 steps: never."""
    if not steps:
        return nothing

    def look(params: Params, done: int) -> loop.Metrics:
        if done % steps and done != last:
            return {}
        began = time.monotonic()
        found = {f"eval_{name}": value for name, value in of(params).items()}
        return found | {"eval_s": time.monotonic() - began}

    return look


def with_facts(look: Look, facts: Mapping[str, float]) -> Look:
    """The look, and the same facts after every step."""
    return lambda params, done: {**look(params, done), **facts}


class HeldOut:
    """Rows that are only looked at, packed once."""

    def __init__(self, run: Run, rows: Sequence[Example]):
        multiple = run.row_multiple(1, None)
        tokens = run.config["sft"]["row_tokens"]
        batch = sft.batch(rows, row_tokens=tokens, row_multiple=multiple)
        self._batch = run.divided(batch)
        self._loss = jax.jit(sft.loss(run.student))

    def loss(self, params: Params) -> float:
        """Mean negative log-likelihood of the response tokens, in nats."""
        return float(self._loss(params, self._batch)[0])


def sides(prompts: Sequence[str], share: float) -> Sides:
    """Some prompts with all their rows held out: a share of the rows, or less.

    Prompts come in the order of their hash, whatever that of the rows; one with more
    rows than are still to be held out is left to training. Where that leaves fewer held
    out than the share, as many rows of the first such prompt stand aside: selections of
    equal size have equally many rows to learn from, whatever their prompts.

    Args:
        prompts: that of every row.
        share: of the rows.

    Raises:
        UserError: no prompt can be held out, or none is left.
    """
    members: dict[str, list[int]] = {}
    for number, prompt in enumerate(prompts):
        members.setdefault(prompt, []).append(number)
    left, out, larger = round(share * len(prompts)), [], []
    for prompt in sorted(members, key=lambda p: hashlib.sha256(p.encode()).digest()):
        if len(members[prompt]) <= left:
            left -= len(members[prompt])
            out += members[prompt]
        else:
            larger += members[prompt]
    if not out or not larger[left:]:
        raise UserError(
            f"sft.heldout_share {share} of {len(prompts)} rows of {len(members)} "
            f"prompts holds out {len(out)} rows; prompts are held out whole. Raise or "
            "lower it, or set sft.evaluate_every to 0"
        )
    return Sides(sorted(larger[left:]), sorted(out), sorted(larger[:left]))


def solving(run: Run, problems: Sequence[Problem], seed: int, samples: int) -> Any:
    """What share of samples, and of problems in all their samples, is solved."""
    decoding = run.decoding(run.config["evaluation"]["temperature"])

    def of(params: Params) -> loop.Metrics:
        solved = rollout(
            run.student,
            params,
            run.tokenizer,
            problems,
            samples=samples,
            seed=seed,
            step=_STEP,
            decoding=decoding,
            mesh=run.mesh,
            judges=run.judges,
        ).solved
        return {
            "acc1": float(solved.mean()),
            f"pass{samples}": float(solved.any(1).mean()),
        }

    return of


def spread_out(problems: Sequence[Problem], count: int) -> list[Problem]:
    """So many problems at equal distances in their order, or all where fewer."""
    count = min(count, len(problems))
    return [problems[n * len(problems) // count] for n in range(count)]
