"""Problems in, judged samples out: prompts, the sampler, and the verifier.

Used by training and by evaluation alike. Requests are grouped by problem, so rewards
come back as one row per problem whatever order they were sampled in.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int

from routejax.envs import Problem, Verdict, judge
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
    temperature: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rollout:
    """Samples of one batch of problems, sample g of problem q at index q·G + g.

    Attributes:
        examples: prompt and sampled ids; the ids are those sampled, never re-encoded.
        texts: decoded responses.
        rewards: 1.0 where the verifier says solved, else 0.0.
        logps: the sampler's log-probabilities, zero beyond the length.
        lengths: sampled tokens, the stop included.
        truncated: reached the limit without a stop.
        steps: decoding steps the sampler took.
    """

    problems: Sequence[Problem]
    examples: Sequence[Example]
    texts: Sequence[str]
    verdicts: Sequence[Verdict]
    rewards: Float[np.ndarray, "Q G"]
    logps: Float[np.ndarray, "N R"]
    lengths: Int[np.ndarray, " N"]
    truncated: Bool[np.ndarray, " N"]
    steps: int


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
) -> Rollout:
    """`samples` judged responses per problem; `mesh` divides the sampling.

    The randomness of a sample is a function of (seed, step, problem id, its index).

    Raises:
        UserError: a prompt is longer than `decoding.prompt_tokens`, or a temperature
            is not above zero.
    """
    if not decoding.temperature > 0:
        raise UserError(
            f"temperature must be above 0, got {decoding.temperature}; "
            "1e-4 takes the likeliest token"
        )
    prompts = [tokenizer.prompt(problem.prompt) for problem in problems]
    queue = _queue(problems, prompts, samples, seed, step, decoding.prompt_tokens)
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
    )
    tokens, lengths = np.asarray(out.tokens), np.asarray(out.lengths)
    ids = [tokens[n, : lengths[n]].tolist() for n in range(len(lengths))]
    texts = [tokenizer.decode(row) for row in ids]
    ended = np.array([bool(row) and row[-1] in tokenizer.stops for row in ids])
    verdicts = [judge(problems[n // samples], text) for n, text in enumerate(texts)]
    # A response that was cut off has not been given, whatever it says so far.
    solved = np.array([v.solved for v in verdicts]) & ended
    return Rollout(
        problems=problems,
        examples=[Example(prompts[n // samples], row) for n, row in enumerate(ids)],
        texts=texts,
        verdicts=verdicts,
        rewards=solved.astype(np.float64).reshape(-1, samples),
        logps=np.asarray(out.logps),
        lengths=lengths,
        truncated=~ended,
        steps=int(out.steps),
    )


def _queue(
    problems: Sequence[Problem],
    prompts: Sequence[Sequence[int]],
    samples: int,
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
    owner = np.repeat(np.arange(len(prompts), dtype=np.int32), samples)
    numbers = np.array([_number(problem.id) for problem in problems], np.uint32)
    index = np.tile(np.arange(samples, dtype=np.uint32), len(prompts))
    return Queue(
        prompts=jnp.asarray(padded),
        prompt_lengths=jnp.asarray([len(ids) for ids in prompts], jnp.int32),
        owner=jnp.asarray(owner),
        keys=request_keys(seed, step, numbers[owner], index),
    )


def _number(problem_id: str) -> int:
    return int.from_bytes(hashlib.sha256(problem_id.encode()).digest()[:4], "big")
