"""Where GRPO's batches come from: prompts in an order, judged samples, their scores.

One step is one rollout. Where it has too few groups that differ in outcome, further
batches of new prompts are sampled, up to a bound, and the step has them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import grain
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from routejax import grpo, loop
from routejax.envs import Problem
from routejax.errors import UserError
from routejax.models import Params, Student
from routejax.packing import Packed
from routejax.rollout import Rollout, joined
from routejax.scoring import Rows, score
from routejax.stages.grpo_facts import facts
from routejax.update import checksum

RolloutFn = Callable[[Params, Sequence[Problem], int], Rollout]
# Number of the step from 1, its samples, advantages [Q G], and what is trained on [Q].
Keep = Callable[[int, Rollout, np.ndarray, np.ndarray], None]


class Rollouts:
    """Batches of judged samples under the current parameters; a `loop.Source`.

    Every epoch has its own order; problems left over at its end, fewer than a batch,
    are left out of it, so no batch has a problem twice, and no step either: where the
    next batch has a problem of this step again, the step goes on with what it has.
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
        updates: int = 1,
        refill: int = 0,
        min_mixed: int = 1,
        pass_rows: int | None = None,
        place: Callable[[Any], Any] = lambda batch: batch,
        keep: Keep = lambda *step: None,
    ):
        if groups not in ("mixed", "all"):
            raise UserError(f"grpo.groups must be 'mixed' or 'all', got {groups!r}")
        self._problems, self._roll = problems, roll
        self._student, self._reference = student, reference
        self._preset, self._groups, self._temperature = preset, groups, temperature
        self._shape = {"row_tokens": row_tokens, "row_multiple": row_multiple}
        self._updates, self._refill, self._min_mixed = updates, refill, min_mixed
        self._pass_rows, self._place, self._keep = pass_rows, place, keep
        if prompts > len(problems):
            raise UserError(
                f"grpo.prompts must be at most {len(problems)} (problems for RL), got "
                f"{prompts}; lower it or raise problems.rl_per_cell"
            )
        order = grain.MapDataset.range(len(problems)).seed(seed).shuffle()
        order = order.batch(prompts, drop_remainder=True).repeat()
        self._order = iter(order.to_iter_dataset(grain.ReadOptions(num_threads=0)))
        self._unmixed_steps = 0
        self._checksum = checksum(reference)

    def next(self, params: Params, step: int) -> tuple[list[grpo.Batch], loop.Metrics]:
        """The batch of each update of the step, and facts about its samples."""
        parts = self._sampled(params, step)
        rolled = joined(parts)
        found = facts(rolled)
        self._unmixed_steps += found["mixed_groups"] == 0
        advantages, trained = self._advantages(rolled), self._trained(rolled)
        batch = self._batch(rolled, advantages, trained)
        began = time.monotonic()
        self._keep(step + 1, rolled, advantages, trained)
        kept = time.monotonic()
        batches = jax.block_until_ready(self._scored(batch, params))
        return batches, found | {
            "refills": len(parts) - 1,
            "unmixed_steps": self._unmixed_steps,
            "rollouts_s": kept - began,
            "score_s": time.monotonic() - kept,
        }

    def state(self) -> dict:
        """Raises RuntimeError if the reference is no longer what it was."""
        self.require_reference()
        return {"order": self._order.get_state(), "unmixed_steps": self._unmixed_steps}

    def restore(self, state: dict) -> None:
        self._order.set_state(state["order"])
        self._unmixed_steps = state["unmixed_steps"]

    def require_reference(self) -> None:
        """Raises RuntimeError if a bit of the reference parameters has changed."""
        if checksum(self._reference) != self._checksum:
            raise RuntimeError(
                "the reference parameters changed during training, so the KL term is "
                "to nothing fixed; the run stops before this is saved"
            )

    def _sampled(self, params: Params, step: int) -> list[Rollout]:
        """The step's batches of prompts, the first and those refilled."""
        parts, asked, mixed = [], set(), 0
        while not parts or (mixed < self._min_mixed and len(parts) <= self._refill):
            before = self._order.get_state()
            problems = [self._problems[int(i)] for i in next(self._order)]
            if not asked.isdisjoint(problem.id for problem in problems):
                self._order.set_state(before)  # left to the next step
                break
            asked |= {problem.id for problem in problems}
            parts.append(self._roll(params, problems, step))
            mixed += int(grpo.mixed(parts[-1].solved).sum())
        return parts

    def _advantages(self, rolled: Rollout) -> Float[np.ndarray, "Q G"]:
        preset = self._preset
        return grpo.advantages(
            rolled.rewards,
            ddof=preset.ddof,
            eps=preset.eps,
            divide_by_std=preset.divide_by_std,
        )

    def _trained(self, rolled: Rollout) -> Bool[np.ndarray, " Q"]:
        # By outcome: with shaped rewards a group that failed as a whole would differ.
        return grpo.mixed(rolled.solved) | (self._groups == "all")

    def _batch(
        self,
        rolled: Rollout,
        advantages: Float[np.ndarray, "Q G"],
        trained: Bool[np.ndarray, " Q"],
    ) -> grpo.Batch:
        """Samples that are trained on with their advantages and sampler's numbers."""
        preset, group = self._preset, rolled.rewards.shape[1]
        kept = np.flatnonzero(np.repeat(trained, group))
        counted = kept if preset.counted == "trained" else slice(None)
        lengths = rolled.lengths[counted]
        batch, packed = grpo.batch(
            [rolled.examples[int(n)] for n in kept],
            advantages.reshape(-1)[kept],
            preset=preset,
            samples=max(1, lengths.size),
            tokens=int(lengths.sum()),
            **self._shape,
        )
        sampled = _placed(packed, [rolled.logps[n, : rolled.lengths[n]] for n in kept])
        return batch._replace(sampler_logps=jnp.asarray(sampled))

    def _scored(self, batch: grpo.Batch, params: Params) -> list[grpo.Batch]:
        """With log-probabilities of the reference, one batch for each update.

        Those after the first are off policy: they get the policy's of before it.
        """
        reference = self._logps(self._reference, batch.rows)
        first = self._place(batch._replace(ref_logps=reference))
        if self._updates == 1:
            return [first]
        old = self._place(self._logps(params, batch.rows))
        return [first, *[first._replace(old_logps=old)] * (self._updates - 1)]

    def _logps(self, params: Params, rows: Rows) -> Array:
        """In passes of the rows that a training pass has."""
        height = rows.tokens.shape[0]
        passes = height // (self._pass_rows or height)
        found = []
        for number in range(passes):
            part = self._place(Rows(*(x[number::passes] for x in rows)))
            found.append(score(self._student, params, part, self._temperature).logps)
        if passes == 1:
            return found[0]
        return jnp.stack(found, 1).reshape(rows.tokens.shape)


def _placed(packed: Packed, values: Sequence[np.ndarray]) -> np.ndarray:
    """Numbers of each example's response tokens, where those stand."""
    placed = np.zeros(packed.tokens.shape, np.float32)
    for number, own in enumerate(values):
        placed[packed.response & (packed.example == number)] = own
    return placed
