"""Problems in, judged samples out: prompts, the sampler, and the verifier.

Used by training and by evaluation alike. Requests are grouped by problem, so rewards
come back as one row per problem whatever order they were sampled in.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int

from routejax import processes
from routejax.draw import FULL, Truncation
from routejax.envs import Problem, Verdict, judging
from routejax.envs.judging import Judges, Judging
from routejax.errors import UserError
from routejax.models import Params, Student
from routejax.packing import Example
from routejax.sampler import Queue, request_keys
from routejax.spread import sample_over
from routejax.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decoding:
    """How responses are sampled. Lengths are in tokens."""

    slots: int  # rows decoded together
    refill_at: int  # idle rows that let waiting requests in
    max_new_tokens: int
    prompt_tokens: int  # width of the padded prompts
    temperature: float  # 0 takes the likeliest token
    parts: int = 1  # sampled one after the other; one is judged as the next is sampled
    # Which tokens may be drawn; draw.Truncation
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    @property
    def truncation(self) -> Truncation:
        return Truncation(self.top_k, self.top_p, self.min_p)

    def require_trainable(self) -> None:
        """Refuses samples that the trainer would take for those of another policy.

        Raises:
            UserError: tokens are left out, or there is no chance in the choice.
        """
        if self.truncation != FULL or not self.temperature > 0:
            raise UserError(
                "training needs top_k 0, top_p 1, min_p 0 and a temperature above 0, "
                f"got {self.top_k}, {self.top_p}, {self.min_p} and {self.temperature}: "
                "the trainer's log-probabilities are of all tokens, so samples of a "
                "part of them would look off-policy; set these for evaluation only"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sampled:
    """Samples of one batch of problems, sample g of problem q at index q·G + g.

    Attributes:
        examples: prompt and sampled ids; the ids are those sampled, never re-encoded.
        texts: decoded responses.
        logps: the sampler's log-probabilities, zero beyond the length.
        lengths: sampled tokens, the stop included.
        truncated: reached the limit without a stop.
        steps: decoding steps the sampler took.
        seconds: what sampling and judging took, by metric name; judging that goes on
            while something is sampled is not counted.
    """

    problems: Sequence[Problem]
    examples: Sequence[Example]
    texts: Sequence[str]
    logps: Float[np.ndarray, "N R"]
    lengths: Int[np.ndarray, " N"]
    truncated: Bool[np.ndarray, " N"]
    steps: int
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rollout(Sampled):
    """Judged samples.

    Attributes:
        rewards: 1.0 where the verifier says solved, else 0.0.
        judge_queue: responses that were not judged when all were sampled.
        judged_by_workers: responses that worker processes of this process judged, in
            `workers_s` seconds of all of these together.
    """

    verdicts: Sequence[Verdict]
    rewards: Float[np.ndarray, "Q G"]
    judge_queue: int = 0
    judged_by_workers: int = 0
    workers_s: float = 0.0

    @property
    def solved(self) -> Bool[np.ndarray, "Q G"]:
        """The outcome, whatever the rewards are made of: solved, and not cut off."""
        found = np.array([v.solved for v in self.verdicts]) & ~self.truncated
        return found.reshape(self.rewards.shape)


def rollout(
    student: Student,
    params: Params,
    tokenizer: Tokenizer,
    problems: Sequence[Problem],
    *,
    samples: int,
    seed: int,
    step: int,
    decoding: Decoding,
    mesh: Mesh | None = None,
    judges: Judges | None = None,
) -> Rollout:
    """`samples` judged responses per problem; `mesh` divides the sampling.

    The randomness of a sample is a function of (seed, step, problem id, its index).
    Without `judges` only what needs no worker can be judged.

    Raises:
        UserError: as `sampled`.
    """
    size = -(-len(problems) // decoding.parts) or 1
    begun = [
        _begun(
            student,
            params,
            tokenizer,
            problems[first : first + size],
            samples=samples,
            seed=seed,
            step=step,
            decoding=decoding,
            mesh=mesh,
            judges=judges,
        )
        for first in range(0, max(len(problems), 1), size)
    ]
    queue, sampled_at = sum(one.left for _, one in begun), time.monotonic()
    whole = joined([_finished(part, one, samples) for part, one in begun])
    seconds = dict(whole.seconds)
    seconds["judge_s"] += time.monotonic() - sampled_at
    return dataclasses.replace(whole, judge_queue=queue, seconds=seconds)


def joined(parts: Sequence[Rollout]) -> Rollout:
    """Rollouts of different problems as one; counts and seconds add up."""

    def whole(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if isinstance(values[0], np.ndarray):
            return np.concatenate(values)
        if isinstance(values[0], Mapping):
            return {key: sum(value[key] for value in values) for key in values[0]}
        if isinstance(values[0], Sequence):
            return [x for value in values for x in value]
        return sum(values)

    if len(parts) == 1:
        return parts[0]
    return Rollout(**{f.name: whole(f.name) for f in dataclasses.fields(Rollout)})


def sampled(
    student: Student,
    params: Params,
    tokenizer: Tokenizer,
    problems: Sequence[Problem],
    *,
    samples: int,
    seed: int,
    step: int,
    decoding: Decoding,
    mesh: Mesh | None = None,
    first: int = 0,
) -> Sampled:
    """`samples` responses per problem that nobody has judged, from number `first` on.

    Sample 9 of a problem is the same whether it is one of 16 or one of two from
    `first` 8 on.

    Raises:
        UserError: a prompt is longer than `decoding.prompt_tokens`, a temperature is
            below zero, or a truncation outside its range.
    """
    if not 0 <= decoding.temperature < float("inf"):
        raise UserError(
            f"temperature must be at least 0, got {decoding.temperature}; "
            "0 takes the likeliest token"
        )
    prompts = [tokenizer.prompt(problem.prompt) for problem in problems]
    index = range(first, first + samples)
    queue = _queue(problems, prompts, index, seed, step, decoding.prompt_tokens)
    began = time.monotonic()
    out = sample_over(
        mesh,
        student,
        params,
        queue,
        slots=min(decoding.slots, len(problems) * samples),
        max_new=decoding.max_new_tokens,
        stop_ids=tokenizer.stops,
        temperature=decoding.temperature,
        refill_at=decoding.refill_at,
        truncation=decoding.truncation,
    )
    tokens, lengths = np.asarray(out.tokens), np.asarray(out.lengths)
    sampled_at = time.monotonic()
    ids = [tokens[n, : lengths[n]].tolist() for n in range(len(lengths))]
    texts = [tokenizer.decode(row) for row in ids]
    ended = np.array([bool(row) and row[-1] in tokenizer.stops for row in ids])
    return Sampled(
        problems=problems,
        examples=[Example(prompts[n // samples], row) for n, row in enumerate(ids)],
        texts=texts,
        logps=np.asarray(out.logps),
        lengths=lengths,
        truncated=~ended,
        steps=int(out.steps),
        seconds={"sample_s": sampled_at - began},
    )


def _begun(
    student: Student,
    params: Params,
    tokenizer: Tokenizer,
    problems: Sequence[Problem],
    *,
    samples: int,
    judges: Judges | None,
    **how: Any,
) -> tuple[Sampled, Judging]:
    """Samples, and the judging of this process's own."""
    found = sampled(student, params, tokenizer, problems, samples=samples, **how)
    sampled_at = time.monotonic()
    requests = [
        judging.request(problems[q], text)
        for q in range(processes.index(), len(problems), processes.count())
        for text in found.texts[q * samples : (q + 1) * samples]
    ]
    submitted = (judges or Judges(workers=0)).submit(requests)
    seconds = {**found.seconds, "judge_s": time.monotonic() - sampled_at}
    return dataclasses.replace(found, seconds=seconds), submitted


def _finished(part: Sampled, begun: Judging, samples: int) -> Rollout:
    """With the verdicts of all processes."""
    found = processes.exchanged(begun.result())
    verdicts = [
        found[q % len(found)][q // len(found) * samples + g]
        for q in range(len(part.problems))
        for g in range(samples)
    ]
    # A response that was cut off has not been given, whatever it says so far.
    solved = np.array([v.solved for v in verdicts]) & ~part.truncated
    rewards = solved.astype(np.float64).reshape(-1, samples)
    number, seconds = begun.worked
    return Rollout(
        **vars(part),
        verdicts=verdicts,
        rewards=rewards,
        judged_by_workers=number,
        workers_s=seconds,
    )


def _queue(
    problems: Sequence[Problem],
    prompts: Sequence[Sequence[int]],
    samples: range,
    seed: int,
    step: int,
    width: int,
) -> Queue:
    padded = np.zeros((len(prompts), width), np.int32)
    for q, ids in enumerate(prompts):
        if len(ids) > width:
            raise UserError(
                f"problem {problems[q].id} ({problems[q].env}) has a prompt of "
                f"{len(ids)} tokens, the limit is {width}; raise prompt_tokens or "
                "leave the problem out"
            )
        padded[q, : len(ids)] = ids
    owner = np.repeat(np.arange(len(prompts), dtype=np.int32), len(samples))
    numbers = np.array([_number(problem.id) for problem in problems], np.uint32)
    index = np.tile(np.array(samples, np.uint32), len(prompts))
    return Queue(
        prompts=jnp.asarray(padded),
        prompt_lengths=jnp.asarray([len(ids) for ids in prompts], jnp.int32),
        owner=jnp.asarray(owner),
        keys=request_keys(seed, step, numbers[owner], index),
    )


def _number(problem_id: str) -> int:
    return int.from_bytes(hashlib.sha256(problem_id.encode()).digest()[:4], "big")
