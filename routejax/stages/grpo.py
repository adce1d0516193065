"""Stage `grpo`: reinforcement learning of an arm's student from its SFT weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grain
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from routejax import checkpoints, grpo, loop, update
from routejax.envs import Problem
from routejax.errors import UserError
from routejax.models import Params, Student
from routejax.rollout import Rollout, rollout
from routejax.scoring import Rows, score
from routejax.stages.pool import read_problems
from routejax.stages.run import Run
from routejax.stages.sft import finish, fit
from routejax.workdir import content_hash

RolloutFn = Callable[[Params, Sequence[Problem], int], Rollout]


class Rollouts:
    """Batches of judged samples under the current parameters; a `loop.Source`.

    Every epoch has its own order; problems left over at its end, fewer than a batch,
    are left out of it, so no batch has a problem twice.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        roll: RolloutFn,
        student: Student,
        reference: Params,
        *,
        preset: grpo.Preset,
        seed: int,
        prompts: int,
        groups: str,
        temperature: float,
        row_tokens: int,
        row_multiple: int,
        pass_rows: int | None = None,
        place: Callable[[Any], Any] = lambda batch: batch,
    ):
        if groups not in ("mixed", "all"):
            raise UserError(f"grpo.groups must be 'mixed' or 'all', got {groups!r}")
        self._problems, self._roll = problems, roll
        self._student, self._reference = student, reference
        self._preset, self._groups, self._temperature = preset, groups, temperature
        self._shape = {"row_tokens": row_tokens, "row_multiple": row_multiple}
        self._pass_rows, self._place = pass_rows, place
        if prompts > len(problems):
            raise UserError(
                f"grpo.prompts must be at most {len(problems)} (problems for RL), got "
                f"{prompts}; lower it or raise problems.rl_per_cell"
            )
        order = grain.MapDataset.range(len(problems)).seed(seed).shuffle()
        order = order.batch(prompts, drop_remainder=True).repeat()
        self._order = iter(order.to_iter_dataset(grain.ReadOptions(num_threads=0)))

    def next(self, params: Params, step: int) -> tuple[grpo.Batch, loop.Metrics]:
        problems = [self._problems[int(i)] for i in next(self._order)]
        rolled = self._roll(params, problems, step)
        return self._batch(rolled), facts(rolled)

    def state(self) -> dict:
        return self._order.get_state()

    def restore(self, state: dict) -> None:
        self._order.set_state(state)

    def _batch(self, rolled: Rollout) -> grpo.Batch:
        preset = self._preset
        advantage = grpo.advantages(
            rolled.rewards,
            ddof=preset.ddof,
            eps=preset.eps,
            divide_by_std=preset.divide_by_std,
        )
        trained = grpo.mixed(rolled.rewards) | (self._groups == "all")
        kept = np.flatnonzero(np.repeat(trained, rolled.rewards.shape[1]))
        batch, packed = grpo.batch(
            [rolled.examples[int(n)] for n in kept],
            advantage.reshape(-1)[kept],
            preset=preset,
            samples=rolled.rewards.size,
            tokens=int(rolled.lengths.sum()),
            **self._shape,
        )
        sampled = np.zeros(packed.tokens.shape, np.float32)
        for place, n in enumerate(kept):
            here = packed.response & (packed.example == place)
            sampled[here] = rolled.logps[n, : rolled.lengths[n]]
        whole = batch._replace(
            old_logps=jnp.asarray(sampled), ref_logps=self._reference_logps(batch.rows)
        )
        return self._place(whole)

    def _reference_logps(self, rows: Rows) -> Array:
        """Under the reference, as many rows at a time as a training pass has."""
        size = self._pass_rows or rows.tokens.shape[0]
        found = []
        for first in range(0, rows.tokens.shape[0], size):
            part = self._place(Rows(*(x[first : first + size] for x in rows)))
            found.append(
                score(self._student, self._reference, part, self._temperature).logps
            )
        return found[0] if len(found) == 1 else jnp.concatenate(found)


def facts(rolled: Rollout) -> loop.Metrics:
    """What a step's samples were like; shares are over prompts, by outcome."""
    solved = rolled.rewards.sum(1)
    group = rolled.rewards.shape[1]
    return {
        "reward": float(rolled.rewards.mean()),
        "all_fail": float(np.mean(solved == 0)),
        "mixed": float(np.mean((solved > 0) & (solved < group))),
        "all_correct": float(np.mean(solved == group)),
        "length": float(rolled.lengths.mean()),
        "truncated": float(rolled.truncated.mean()),
        "unparsed": float(np.mean([v.status != "answered" for v in rolled.verdicts])),
        "sampler_steps": rolled.steps,
    }


def train(run: Run, arm: str, seed: int, inputs: dict[str, str]) -> str:
    """SHA-256 of the weights after RL, which are in `grpo/weights`.

    `inputs` has the hashes of the SFT weights, the problems and the tokenizer.
    """
    parts = ("student", "grpo", "decoding")
    known = {"seed": seed, **inputs, **{part: run.config[part] for part in parts}}
    folder = run.arm(arm, seed) / "grpo"
    run.stage(folder, known, lambda at: _train(run, arm, seed, inputs["weights"], at))
    return (folder / "weights.sha256").read_text()


def _train(run: Run, arm: str, seed: int, weights: str, folder: Path) -> None:
    settings = dict(run.config["grpo"])
    rules, steps = settings.pop("optimiser"), settings.pop("steps")
    samples, beta = settings.pop("samples"), settings.pop("beta")
    limits = {"logp_gap": settings.pop("max_logp_gap")}
    preset, pass_rows = run.preset, run.pass_rows(settings.pop("device_rows"))
    settings["row_multiple"] = run.row_multiple(settings["row_multiple"], pass_rows)
    del settings["preset"]
    problems = read_problems(run.root / "pool" / "problems_rl.json")
    reference = checkpoints.load_weights(
        run.arm(arm, seed) / "sft" / "weights", run.fresh(seed), weights
    )
    roll = functools.partial(
        _roll, run, samples=samples, seed=seed, temperature=settings["temperature"]
    )
    source = Rollouts(
        problems,
        roll,
        run.student,
        reference,
        preset=preset,
        seed=seed,
        place=run.divided,
        pass_rows=pass_rows,
        **settings,
    )
    optimiser = update.optimiser(steps=steps, **rules)
    params = fit(
        run,
        folder,
        f"{arm} seed {seed} grpo",
        update.start(reference, optimiser, run.placement),
        source,
        grpo.loss(
            run.student,
            preset,
            beta=beta,
            temperature=settings["temperature"],
            on_policy=True,
        ),
        optimiser,
        steps,
        ("reward", "mixed", "kl"),
        limits,
        pass_rows,
    )
    if checkpoints.weights_hash(reference) != weights:
        raise RuntimeError("the reference parameters changed during training")
    recipe = {
        "seed": seed,
        "steps": steps,
        "problems": content_hash([problem.id for problem in problems]),
        "settings": run.config["grpo"],
        "decoding": run.config["decoding"],
    }
    finish(folder, params, recipe)


def _roll(
    run: Run,
    params: Params,
    problems: Sequence[Problem],
    step: int,
    *,
    samples: int,
    seed: int,
    temperature: float,
) -> Rollout:
    return rollout(
        run.student,
        params,
        run.tokenizer,
        problems,
        samples=samples,
        seed=seed,
        step=step,
        decoding=run.decoding(temperature),
        mesh=run.mesh,
    )
