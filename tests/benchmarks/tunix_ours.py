"""routejax's side of `tests.benchmarks.tunix`; run by it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from routejax import grpo, models, scoring, sft, update
from routejax.packing import Example
from routejax.sampler import Queue, Samples, request_keys, sample
from tests.benchmarks import tiny_qwen3
from tests.benchmarks.tiny_qwen3 import NEVER, PASS_ROWS, Cost, Shape, timed

STUDENT = models.create("qwen3", tied=True, **tiny_qwen3.SIZES)
PRESET = grpo.PRESETS["paper"]
RULE = update.optimiser(
    name="adamw",
    steps=1000,
    learning_rate=tiny_qwen3.RATE,
    warmup_share=0.0,
    final_share=1.0,
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    weight_decay=1e-4,
    clip_norm=1.0,
)


def start() -> models.Params:
    held = {name: jnp.asarray(x) for name, x in tiny_qwen3.weights().items()}
    params = STUDENT.init(0) | {"embedding": held["embedding"]}
    for part in (params["blocks"]["attention"], params["blocks"]["mlp"]):
        part |= {name: {"kernel": held[name]} for name in part if name in held}
    return params


def finetuning(shape: Shape) -> Iterator[float]:
    """Losses of one step after the other."""
    rng, state = np.random.default_rng(0), update.start(start(), RULE)
    while True:
        rows = tiny_qwen3.words(rng, *shape)
        batch = sft.batch(
            [Example(row[:1].tolist(), row[1:].tolist()) for row in rows],
            row_tokens=shape.length,
            row_multiple=shape.rows,
        )
        state, metrics = update.train_step(
            sft.loss(STUDENT), RULE, state, batch, pass_rows=PASS_ROWS
        )
        yield float(metrics["loss"])


def finetune(shape: Shape) -> Cost:
    losses = finetuning(shape)

    def step() -> int:
        next(losses)
        return shape.rows * shape.length

    return timed(step)


def requests(rng: np.random.Generator, shape: Shape, group: int, number: int) -> Queue:
    prompts = shape.rows // group
    owner, index = np.divmod(np.arange(shape.rows, dtype=np.uint32), group)
    return Queue(
        prompts=jnp.asarray(tiny_qwen3.prompts(rng, shape, prompts)),
        prompt_lengths=jnp.full(prompts, shape.prompt, jnp.int32),
        owner=jnp.asarray(owner, jnp.int32),
        keys=request_keys(0, number, owner, index),
    )


def sampled(
    params: models.Params, queue: Queue, shape: Shape, temperature: float = 1.0
) -> Samples:
    return sample(
        STUDENT,
        params,
        queue,
        slots=shape.rows,
        max_new=shape.new,
        stop_ids=(NEVER,),
        temperature=temperature,
        refill_at=1,
    )


def sampler(shape: Shape) -> Cost:
    """Every row has a prompt of its own."""
    rng, params = np.random.default_rng(0), start()

    def step() -> int:
        queue = requests(rng, shape, 1, int(rng.integers(1000)))
        return int(np.asarray(sampled(params, queue, shape).lengths).sum())

    return timed(step)


def answers() -> tiny_qwen3.Answers:
    shape = tiny_qwen3.SHAPES["base"]
    losses = list(itertools.islice(finetuning(shape), 3))
    queue = requests(np.random.default_rng(0), shape, 1, 0)
    out = sampled(start(), queue, shape, temperature=0.0)
    return tiny_qwen3.Answers(losses, np.asarray(out.tokens).tolist())


def reinforce(shape: Shape) -> Cost:
    """Samples, rewards, log-probabilities of the reference, and one update."""
    rng, reference = np.random.default_rng(0), start()
    state = update.start(reference, RULE)
    loss = grpo.loss(STUDENT, PRESET, beta=tiny_qwen3.BETA, temperature=1.0)

    def step() -> int:
        nonlocal state
        queue = requests(rng, shape, tiny_qwen3.GROUP, int(state.step))
        out = sampled(state.params, queue, shape)
        batch = judged(queue, out, shape)
        batch = batch._replace(ref_logps=logps(reference, batch.rows))
        state, metrics = update.train_step(
            loss, RULE, state, batch, pass_rows=PASS_ROWS
        )
        float(metrics["loss"])
        return int(np.asarray(out.lengths).sum())

    return timed(step)


def judged(queue: Queue, out: Samples, shape: Shape) -> grpo.Batch:
    """Rows with the advantage of their sample and the sampler's numbers."""
    prompts, owner = np.asarray(queue.prompts), np.asarray(queue.owner)
    tokens, found = np.asarray(out.tokens), np.asarray(out.logps)
    rewards = np.array([tiny_qwen3.reward(row) for row in tokens])
    advantage = grpo.advantages(
        rewards.reshape(-1, tiny_qwen3.GROUP), ddof=PRESET.ddof, eps=PRESET.eps
    )
    batch, packed = grpo.batch(
        [
            Example(prompts[q].tolist(), row.tolist())
            for q, row in zip(owner, tokens, strict=True)
        ],
        advantage.reshape(-1),
        preset=PRESET,
        samples=shape.rows,
        tokens=tokens.size,
        row_tokens=shape.length,
        row_multiple=shape.rows,
    )
    placed = np.zeros(packed.tokens.shape, np.float32)
    for n, own in enumerate(found):
        placed[packed.response & (packed.example == n)] = own
    return batch._replace(sampler_logps=jnp.asarray(placed))


def logps(params: models.Params, rows: scoring.Rows) -> jax.Array:
    parts = [
        scoring.Rows(*(x[first : first + PASS_ROWS] for x in rows))
        for first in range(0, len(rows.tokens), PASS_ROWS)
    ]
    score = functools.partial(scoring.score, STUDENT, params)
    return jnp.concatenate([score(part).logps for part in parts])


if __name__ == "__main__":
    tiny_qwen3.report(
        {"sft": finetune, "sampler": sampler, "grpo": reinforce},
        answers,
        {"jax": jax.__version__},
    )
