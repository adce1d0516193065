"""The training loop, the same for supervised and reinforcement learning.

A source gives the batches of a step, one for each of its updates, and knows how to come
back to where it was; a loss scores them.
Everything the next step depends on is in the checkpoint: parameters, optimiser, step,
and the source's own state. Metrics are lines of JSON; on resuming, lines of steps that
are done again are cut off, so the file of a killed run equals that of a whole one but
for the times.

Several processes take every step together: the first writes the log, and all agree on
the step at which they save or stop.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import jax

from routejax import interrupt, processes
from routejax.checkpoints import Checkpoints
from routejax.errors import UserError
from routejax.models import Params
from routejax.progress import Stage
from routejax.update import (
    Loss,
    Optimiser,
    Place,
    TrainState,
    checksum,
    mean_metrics,
    require_sane,
    train_step,
)
from routejax.workdir import as_json, differences

Metrics = dict[str, float]


class Source(Protocol):
    """Batches in an order that can be saved and taken up again."""

    def next(self, params: Params, step: int) -> tuple[Sequence[Any], Metrics]:
        """The batch of each update of a step, made under the current parameters.

        And facts about the step.
        """
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
    tell: Callable[[int, Metrics], None] = lambda step, row: None,
    place: Place | None = None,
    pass_rows: int | None = None,
    look: Callable[[Params, int], Metrics] = lambda params, done: {},
    made_with: Mapping[str, Any] = MappingProxyType({}),
) -> Params:
    """Parameters after `steps` steps, going on from the newest checkpoint.

    Metrics of a step with several updates are their means. No checkpoint falls between
    the updates of a step.

    `headline` names the metrics shown in the progress line, `limits` the largest values
    that metrics may have; `tell` gets each step whose line is written; `place` and
    `pass_rows` are those of `update.train_step`. `look` gets the parameters after each
    step and gives what it has found out about them, often nothing. `made_with` says
    what the training is made of; a checkpoint of another one is refused.

    Raises:
        UserError: the newest checkpoint is of another training; or a loss or gradient
            is not finite or a metric over its limit, then the step is not saved.
        Interrupted: asked to stop; the step in progress was finished and saved.
    """
    # Bound to its device, as a restored state is: unbound, step 1 is compiled twice.
    state = jax.tree.map(lambda x: jax.device_put(x, x.sharding), state)
    done, restored = 0, checkpoints.restore(state, _is_whole)
    if restored:
        state, record = restored
        require_same(record["made_with"], made_with)
        done = record["step"]
        source.restore(record["source"])
    progress.begin(done)
    processes.first_does(lambda: keep_lines(log, done))
    own = log if processes.first() else Path(os.devnull)
    with interrupt.held(), own.open("a") as lines:
        while done < steps:
            began = time.monotonic()
            batches, facts = source.next(state.params, done)
            given, metrics = time.monotonic(), []
            for batch in batches:
                state, found = train_step(
                    loss, optimiser, state, batch, place=place, pass_rows=pass_rows
                )
                metrics.append(found)
            row = facts | mean_metrics(jax.device_get(metrics))
            done += 1
            require_sane(done, row, limits)
            updated = time.monotonic()
            row |= look(state.params, done)
            row |= {
                "batch_s": given - began,
                "update_s": updated - given,
                "step_s": time.monotonic() - began,
            }
            lines.write(json.dumps({"step": done, **row}) + "\n")
            lines.flush()
            tell(done, row)
            progress.update(done, _note(row, headline), row)
            stop, due = processes.asked(), processes.exchanged(checkpoints.due())[0]
            if done == steps or stop or due or checkpoints.wanted(done, row):
                if processes.first():
                    os.fsync(lines.fileno())  # no checkpoint without its lines
                record = {
                    "step": done,
                    "source": source.state(),
                    "made_with": as_json(dict(made_with)),
                    "checksum": checksum(state),
                }
                checkpoints.save(done, state, record, row)
            if stop:
                break
    return state.params


def _is_whole(state: TrainState, record: Mapping[str, Any]) -> bool:
    """Whether every value is the one that was saved, wherever it lies now."""
    return list(checksum(state)) == record["checksum"]


def require_same(there: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises UserError with what a checkpoint was made with and the training is not."""
    found = list(differences(there, as_json(dict(now)), ("there", "now")))
    if found:
        raise UserError(
            f"the newest checkpoint is of another training: {'; '.join(found)}. Go on "
            "with what it was made with, or delete its folder to train anew"
        )


def keep_lines(log: Path, done: int) -> None:
    """Cuts the log after the line of step `done`, also a last line that is half one.

    Raises:
        UserError: the log has not a whole line for each step of the checkpoint.
    """
    lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
    kept = [line for line in lines[:done] if line.endswith(b"\n")]
    anew = f"delete {log.parent} and run again to train this stage anew"
    if len(kept) < done:
        raise UserError(
            f"{log} has {len(kept)} lines but the newest checkpoint is of step {done}; "
            f"{anew}"
        )
    for step, line in enumerate(kept, 1):
        if not _is_line(line, step):
            raise UserError(f"line {step} of {log} is not that of step {step}; {anew}")
    if lines:
        os.truncate(log, sum(map(len, kept)))


def _is_line(line: bytes, step: int) -> bool:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and row.get("step") == step


def _note(row: Metrics, headline: Iterable[str]) -> str:
    return "  ".join(f"{name} {row[name]:.3g}" for name in headline if name in row)
