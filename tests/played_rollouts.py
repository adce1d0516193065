"""Rollouts whose samples are played, and a source of GRPO's batches over them."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from routejax import envs, grpo, rollout
from routejax.packing import Example
from routejax.rollout import Decoding, Rollout
from routejax.sampler import Samples
from routejax.stages.grpo_source import Rollouts
from routejax.tokenizer import Pieces, Tokenizer

PROBLEMS = envs.problem_set(["count"], [1, 2, 3], 3, split="rl", seed=0).problems
# Outcomes of the two samples of the problems of a batch, by place in it.
OUTCOMES = np.array([[0, 0], [0, 1], [1, 1], [1, 0]], bool)


def verdict(solved):
    return envs.Verdict(bool(solved), float(solved), "1", "answered")


def played(problems, outcomes, rewards=None, truncated=None):
    """Samples with these outcomes [Q G]; sample n has n % 3 + 1 tokens."""
    outcomes = np.asarray(outcomes, bool)
    count = outcomes.size
    lengths = np.array([n % 3 + 1 for n in range(count)], np.int32)
    return Rollout(
        problems=problems,
        examples=[Example([1, 5], [6] * int(n)) for n in lengths],
        texts=[""] * count,
        verdicts=[verdict(solved) for solved in outcomes.ravel()],
        rewards=np.asarray(outcomes if rewards is None else rewards, np.float64),
        logps=np.where(np.arange(4) < lengths[:, None], -np.arange(1.0, 5), 0.0),
        lengths=lengths,
        truncated=np.zeros(count, bool) if truncated is None else truncated,
        steps=9,
        seconds={"sample_s": 1.0, "judge_s": 0.5},
    )


def rolled(params, problems, step):
    del params, step
    return played(problems, OUTCOMES[: len(problems)])


def source_of(student, reference, roll=rolled, problems=PROBLEMS, **changes):
    """`Rollouts` of four prompts a step, all of `PROBLEMS` in batches of two rows."""
    settings = {
        "preset": grpo.PRESETS["paper"],
        "seed": 0,
        "prompts": 4,
        "groups": "mixed",
        "temperature": 1.0,
        "row_tokens": 16,
        "row_multiple": 2,
    }
    return Rollouts(problems, roll, student, reference, **(settings | changes))


def letters(size=24, first=4, **changes):
    """A tokenizer of one id a letter, 4 for "a"; other characters are id 1."""

    def split(text):
        ids = [first + ord(c) - 97 if c.isalpha() else 1 for c in text]
        ids = [i if i < size else 1 for i in ids]
        return Pieces(ids, [*range(len(ids))], [*range(1, len(ids) + 1)])

    made = Tokenizer(
        size=size,
        bos=2,
        eos=3,
        pad=0,
        stops=(3,),
        begins=True,
        split=split,
        join=lambda ids: "".join(chr(97 + i - first) for i in ids),
    )
    return dataclasses.replace(made, **changes)


def judged(monkeypatch, student, params, rows, *, problems=None, **changes):
    """`rollout` of a sampler that gives these ids, one sample a problem or more.

    `changes` are fields of the tokenizer.
    """
    problems = problems or [dataclasses.replace(PROBLEMS[0], prompt="abc")]

    def sample(mesh, student, params, queue, **settings):
        tokens = np.zeros((len(rows), settings["max_new"]), np.int32)
        for number, ids in enumerate(rows):
            tokens[number, : len(ids)] = ids
        lengths = np.array([len(ids) for ids in rows], np.int32)
        logps = np.where(np.arange(settings["max_new"]) < lengths[:, None], -0.5, 0.0)
        arrays = map(jnp.asarray, (tokens, logps, lengths))
        return Samples(*arrays, jnp.int32(7))

    monkeypatch.setattr(rollout, "sample_over", sample)
    decoding = Decoding(
        slots=4, refill_at=1, max_new_tokens=9, prompt_tokens=8, temperature=1.0
    )
    return rollout.rollout(
        student,
        params,
        letters(**changes),
        problems,
        samples=len(rows) // len(problems),
        seed=0,
        step=0,
        decoding=decoding,
    )
