"""The training loop, the same for supervised and reinforcement learning.

A source gives batches and knows how to come back to where it was; a loss scores them.
Everything the next step depends on is in the checkpoint: parameters, optimiser, step,
and the source's own state. Metrics are lines of JSON; on resuming, lines of steps that
are done again are cut off, so the file of a killed run equals that of a whole one but
for the times.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import jax

from routejax import interrupt
from routejax.checkpoints import Checkpoints
from routejax.errors import UserError
from routejax.models import Params
from routejax.progress import Stage
from routejax.update import (
    Loss,
    Optimiser,
    Place,
    TrainState,
    require_sane,
    train_step,
)

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
    limits: Mapping[str, float] = MappingProxyType({}),
    place: Place | None = None,
    pass_rows: int | None = None,
) -> Params:
    """Parameters after `steps` steps, going on from the newest checkpoint.

    `headline` names the metrics shown in the progress line, `limits` the largest values
    that metrics may have; `place` and `pass_rows` are those of `update.train_step`.

    Raises:
        UserError: a loss or gradient is not finite, or a metric is over its limit; the
            step is not saved.
        Interrupted: asked to stop; the step in progress was finished and saved.
    """
    # Bound to its device, as a restored state is: unbound, step 1 is compiled twice.
    state = jax.tree.map(lambda x: jax.device_put(x, x.sharding), state)
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
            state, metrics = train_step(
                loss, optimiser, state, batch, place=place, pass_rows=pass_rows
            )
            row = facts | {k: float(v) for k, v in jax.device_get(metrics).items()}
            done += 1
            require_sane(done, row, limits)
            row |= {"batch_s": sampled - began, "step_s": time.monotonic() - began}
            lines.write(json.dumps({"step": done, **row}) + "\n")
            lines.flush()
            progress.update(done, _note(row, headline))
            if done == steps or asked() or checkpoints.due():
                os.fsync(lines.fileno())  # no checkpoint without its lines
                checkpoints.save(done, state, {"source": source.state()})
            if asked():
                break
    return state.params


def keep_lines(log: Path, done: int) -> None:
    """Cuts the log after the line of step `done`, also a last line that is half one.

    Raises:
        UserError: the log has fewer lines than the checkpoint has steps.
    """
    lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
    kept = [line for line in lines[:done] if line.endswith(b"\n")]
    if len(kept) < done:
        raise UserError(
            f"{log} has {len(kept)} lines but the newest checkpoint is of step {done}; "
            f"delete {log.parent} and run again to train this stage anew"
        )
    if lines:
        os.truncate(log, sum(map(len, kept)))


def _note(row: Metrics, headline: Iterable[str]) -> str:
    return "  ".join(f"{name} {row[name]:.3g}" for name in headline if name in row)
