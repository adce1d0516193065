"""What a student says to a few prompts, to be read by a person."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np

from routejax.models import Params
from routejax.sampler import Queue, request_keys
from routejax.spread import sample_over
from routejax.stages.run import Run


def answers(
    run: Run,
    params: Params,
    prompts: Sequence[str],
    *,
    max_new_tokens: int,
    temperature: float,
    seed: int,
) -> list[Mapping[str, str]]:
    """One answer to each prompt: `prompt`, `answer`, and how it ended.

    `finish` is "stop", or "length" where the limit came first.
    """
    asked = [run.tokenizer.prompt(prompt) for prompt in prompts]
    width = max(map(len, asked))
    padded = np.stack([np.pad(ids, (0, width - len(ids))) for ids in asked])
    places = np.arange(len(asked), dtype=np.uint32)
    out = sample_over(
        run.mesh,
        run.student,
        params,
        Queue(
            prompts=jnp.asarray(padded, jnp.int32),
            prompt_lengths=jnp.asarray([len(ids) for ids in asked], jnp.int32),
            owner=jnp.asarray(places, jnp.int32),
            keys=request_keys(seed, 0, places, np.zeros_like(places)),
        ),
        slots=len(asked),
        max_new=max_new_tokens,
        stop_ids=run.tokenizer.stops,
        temperature=temperature,
        refill_at=len(asked),
    )
    shown = functools.partial(_shown, run)
    rows = zip(prompts, np.asarray(out.tokens), np.asarray(out.lengths), strict=True)
    return [shown(prompt, ids[:length].tolist()) for prompt, ids, length in rows]


def _shown(run: Run, prompt: str, ids: list[int]) -> Mapping[str, str]:
    ended = bool(ids) and ids[-1] in run.tokenizer.stops
    return {
        "prompt": prompt,
        "answer": run.tokenizer.decode(ids),
        "finish": "stop" if ended else "length",
    }
