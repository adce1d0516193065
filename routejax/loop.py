"""The training loop, the same for supervised and reinforcement learning.

A source gives batches and knows how to come back to where it was; a loss scores them.
Everything the next step depends on is in the checkpoint: parameters, optimiser, step,
and the source's own state. Metrics are lines of JSON; on resuming, lines of steps that
are done again are cut off, so the file of a killed run equals that of a whole one but
for the times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import jax

from routejax import interrupt
from routejax.checkpoints import Checkpoints
from routejax.models import Params
from routejax.progress import Stage
from routejax.update import Loss, Optimiser, TrainState, require_finite, train_step

Metrics = dict[str, float]


class Source(Protocol):
    """Batches in an order that can be saved and taken up again."""

    def next(self, params: Params, step: int) -> tuple[Any, Metrics]:
        """The batch of a step under the current parameters, and facts about it."""
        ...

    def state(self) -> dict:
        """JSON of where the source stands."""
        ...

    def restore(self, state: dict) -> None:
        """Takes up a state that `state` gave."""
        ...


def train(
    state: TrainState,
    source: Source,
    loss: Loss,
    optimiser: Optimiser,
    *,
    steps: int,
    checkpoints: Checkpoints,
    log: Path,
    progress: Stage,
    headline: Iterable[str] = ("loss",),
) -> Params:
    """Parameters after `steps` steps, going on from the newest checkpoint.

    `headline` names the metrics shown in the progress line.

    Raises:
        UserError: a loss or gradient is not finite.
        Interrupted: asked to stop; the step in progress was finished and saved.
    """
    found = checkpoints.restore(state)
    if found:
        state, record = found
        source.restore(record["source"])
    done = int(state.step)
    keep_lines(log, done)
    with interrupt.held() as asked, log.open("a") as lines:
        while done < steps:
            began = time.monotonic()
            batch, facts = source.next(state.params, done)
            sampled = time.monotonic()
            state, metrics = train_step(loss, optimiser, state, batch)
            row = facts | {k: float(v) for k, v in jax.device_get(metrics).items()}
            require_finite(done, row)
            done += 1
            row |= {"batch_s": sampled - began, "step_s": time.monotonic() - began}
            lines.write(json.dumps({"step": done, **row}) + "\n")
            lines.flush()
            progress.update(done, _note(row, headline))
            if done == steps or asked() or checkpoints.due():
                checkpoints.save(done, state, {"source": source.state()})
            if asked():
                break
    return state.params


def keep_lines(log: Path, done: int) -> None:
    """Cuts the log after the line of step `done`, also a last line that is half one."""
    if not log.exists():
        return
    lines = log.read_text().splitlines(keepends=True)[:done]
    log.write_text("".join(line for line in lines if line.endswith("\n")))


def _note(row: Metrics, headline: Iterable[str]) -> str:
    return "  ".join(f"{name} {row[name]:.3g}" for name in headline if name in row)
