"""Training state on disk through Orbax: the only user of orbax.

One checkpoint is the state tree and a JSON record of the same step: where the data
stand, what it was made with, a checksum. Saves run in the background: `save` returns
once the arrays are copied. A save that was killed leaves the one before it intact and
its own remains are removed when the folder is opened; a checkpoint that cannot be read
any more is removed for the one before it. States come back onto any mesh and any number
of processes, for what is on disk knows nothing of either.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from jax.experimental import multihost_utils
from orbax.checkpoint.checkpoint_managers import (
    AnyPreservationPolicy,
    BestN,
    EveryNSteps,
    LatestN,
)

from routejax import processes
from routejax.errors import UserError
from routejax.models import Params

_NONE: Mapping[str, float] = MappingProxyType({})
_SIGNS = {"least": -1.0, "most": 1.0}  # of `checkpoint.best_is`
Sound = Callable[[Any, dict], bool]
KEPT = "kept"  # beside the folder: checkpoints that outlive the training


class Checkpoints:
    """Checkpoints of one training stage; see `opened`."""

    def __init__(
        self,
        folder: Path,
        *,
        keep: int,
        every_s: float,
        keep_every: int = 0,
        best: str = "",
        best_is: str = "least",
        say: Callable[[str], None] = lambda text: None,
    ):
        folder = folder.absolute()
        processes.first_does(lambda: _remove_unfinished(folder, "*"))
        self._folder, self._say, self._every_s = folder, say, every_s
        self._keep_every, self._best, self._sign = keep_every, best, _SIGNS[best_is]
        policies: list[Any] = [LatestN(keep)]
        policies += [EveryNSteps(keep_every)] if keep_every else []
        policies += [BestN(n=1, get_metric_fn=self._rank)] if best else []
        self._options = ocp.CheckpointManagerOptions(
            best_fn=self._rank if best else None,
            preservation_policy=AnyPreservationPolicy(policies),
            create=True,
        )
        self._open()
        self._saved_at = time.monotonic()

    def _open(self) -> None:
        if self._best:  # Orbax reads them all at once, whatever is in them
            processes.first_does(lambda: _remove_damaged_metrics(self._folder))
        self._manager = ocp.CheckpointManager(self._folder, options=self._options)
        steps = self._manager.all_steps() if self._best else ()
        ranks = [self._rank(self._manager.metrics(step) or {}) for step in steps]
        self._highest = max(ranks, default=float("-inf"))

    def _rank(self, row: Mapping[str, float]) -> float:
        """More is better; what has not the metric comes last."""
        return self._sign * row.get(self._best, -self._sign * float("inf"))

    def latest(self) -> int:
        """Steps finished in the newest checkpoint; 0 if there is none."""
        return self._manager.latest_step() or 0

    def restore(
        self, like: Any, sound: Sound = lambda state, record: True
    ) -> tuple[Any, dict] | None:
        """The newest state that can be read, placed as `like` is, and its record.

        None where nothing was saved. What cannot be read, or is not `sound`, is told of
        and removed.

        Raises:
            UserError: there are checkpoints and none can be read.
        """
        damaged = []
        for step in sorted(self._manager.all_steps(), reverse=True):
            found, wrong = self._read(step, like, sound)
            if all(processes.exchanged(found is not None)):
                self._drop(damaged, step)
                return found
            damaged.append((step, wrong or "by another process"))
        if damaged:
            raise UserError(
                f"no checkpoint in {self._folder} can be read (step {damaged[0][0]}: "
                f"{damaged[0][1]}); delete {self._folder.parent} and run again to "
                "train this stage anew"
            )
        return None

    def _read(
        self, step: int, like: Any, sound: Sound
    ) -> tuple[tuple[Any, dict] | None, str]:
        """The state and record of a step, or why there is none."""
        parts = ocp.args.Composite(
            state=ocp.args.StandardRestore(like), record=ocp.args.JsonRestore()
        )
        try:
            found = self._manager.restore(step, args=parts)
            state, kept = found["state"], found["record"]
            whole = kept["sha256"] == _digest(kept["record"])
            whole = whole and sound(state, kept["record"])
        except Exception as error:  # damage shows in many ways
            return None, " ".join(f"{type(error).__name__}: {error}".split())[:200]
        if not whole:
            return None, "its values are not those that were saved"
        return (state, kept["record"]), ""

    def _drop(self, damaged: list[tuple[int, str]], left: int) -> None:
        """Removes damaged checkpoints, so that their steps can be saved again."""
        if not damaged:
            return
        for step, wrong in damaged:
            self._say(
                f"the checkpoint of step {step} in {self._folder} cannot be read "
                f"({wrong}); going on from that of step {left}"
            )

        def remove() -> None:
            for step, _ in damaged:
                shutil.rmtree(self._folder / str(step))

        processes.first_does(remove)
        self._manager.close()
        self._open()

    def due(self) -> bool:
        """Whether the last save is `every_s` seconds ago, and no longer under way.

        With 0 every step is, which then waits for the save of the one before it.
        """
        waited = time.monotonic() - self._saved_at >= self._every_s
        busy = self._every_s > 0 and self._manager.is_saving_in_progress()
        return waited and not busy

    def wanted(self, step: int, row: Mapping[str, float]) -> bool:
        """Whether this step is one to keep, whatever the time."""
        kept = self._keep_every and step % self._keep_every == 0
        return bool(kept) or (bool(self._best) and self._rank(row) > self._highest)

    def save(
        self, step: int, state: Any, record: dict, row: Mapping[str, float] = _NONE
    ) -> None:
        """Saves in the background; `state` may be donated as soon as this returns.

        `row` has the metric by which one is the best; without it a checkpoint is not.

        Raises:
            UserError: the disk is full.
        """
        kept = {"record": record, "sha256": _digest(record)}
        with _disk_errors():
            self._manager.wait_until_finished()
            processes.first_does(lambda: _require_room(self._folder, state))
            self._manager.save(
                step,
                args=ocp.args.Composite(
                    state=ocp.args.StandardSave(state), record=ocp.args.JsonSave(kept)
                ),
                metrics=self._ranked(row),
            )
        self._highest = max(self._highest, self._rank(row) if self._best else 0.0)
        self._saved_at = time.monotonic()

    def _ranked(self, row: Mapping[str, float]) -> dict[str, float] | None:
        """What Orbax keeps to rank a checkpoint by."""
        if not self._best:
            return None
        return {self._best: float(row[self._best])} if self._best in row else {}

    def keep(self) -> None:
        """Links the steps that the options keep into `KEPT`, where they stay."""
        if not (self._keep_every or self._best):
            return
        self._manager.wait_until_finished()
        steps = self._manager.all_steps()
        best = self._manager.best_step() if self._best else None

        def link() -> None:
            place = self._folder.parent / KEPT
            shutil.rmtree(place, ignore_errors=True)
            for step in steps:
                if step == best or (self._keep_every and step % self._keep_every == 0):
                    source = self._folder / str(step)
                    shutil.copytree(source, place / str(step), copy_function=os.link)

        processes.first_does(link)

    def close(self) -> None:
        """Waits for the save under way.

        Raises:
            UserError: the disk is full.
        """
        with _disk_errors():
            self._manager.wait_until_finished()
            self._manager.close()


def save_weights(folder: Path, params: Params) -> str:
    """Writes the parameters alone, replacing what is there; returns their hash.

    Raises:
        UserError: the disk is full.
    """
    processes.first_does(lambda: _remove_unfinished(folder.parent, folder.name))
    processes.first_does(lambda: _require_room(folder.parent, params))
    with _disk_errors(), ocp.StandardCheckpointer() as writer:
        writer.save(folder.absolute(), params, force=True)
    return weights_hash(params)


def load_weights(folder: Path, like: Params, sha256: str) -> Params:
    """The parameters of `save_weights`, placed as `like` is.

    Raises:
        UserError: they are not those that were saved.
    """
    with ocp.StandardCheckpointer() as reader:
        params = reader.restore(folder.absolute(), like)
    if weights_hash(params) != sha256:
        raise UserError(
            f"the weights in {folder} have changed since they were written; "
            f"delete {folder.parent} and run again to train them anew"
        )
    return params


def weights_hash(params: Params) -> str:
    """SHA-256 over the names, types, shapes and bytes of all parameters."""
    digest = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        array = _whole(leaf)
        digest.update(f"{path} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _whole(leaf: Any) -> np.ndarray:
    """The leaf on the host, also where other processes have parts of it."""
    if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
        leaf = multihost_utils.process_allgather(leaf, tiled=True)
    return np.asarray(leaf)


@contextmanager
def opened(folder: Path, **settings: Any) -> Iterator[Checkpoints]:
    """The folder's checkpoints, closed in the end.

    Args:
        keep: newest checkpoints that stay on disk.
        every_s: seconds between saves, or as long as the save of the one before takes
            where that is longer; a kill loses at most this time, one step, and the save
            under way.
        keep_every: besides the newest, every so many steps; these outlive the training,
            in `KEPT` beside the folder. 0: none.
        best: besides these, the one with the best value of this metric; "": none.
        best_is: "least" or "most".
        say: where it is told that a checkpoint could not be read.
    """
    checkpoints = Checkpoints(folder, **settings)
    try:
        yield checkpoints
    finally:
        checkpoints.close()


def _digest(record: Any) -> str:
    """SHA-256 of the JSON that a record is."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _remove_damaged_metrics(folder: Path) -> None:
    """Takes away what cannot be read of the metrics that checkpoints are ranked by.

    Such a checkpoint is whole, and is never the best.
    """
    for file in folder.glob("*/metrics/metrics"):
        try:
            row = json.loads(file.read_bytes())
            damaged = not all(math.isfinite(value) for value in row.values())
        except (OSError, ValueError, RecursionError, AttributeError, TypeError):
            damaged = True
        if damaged:
            shutil.rmtree(file.parent)


def _remove_unfinished(folder: Path, name: str) -> None:
    """Removes what a killed save left."""
    for leftover in folder.glob(f"{name}.orbax-checkpoint-tmp*"):
        shutil.rmtree(leftover)


def _require_room(folder: Path, state: Any) -> None:
    """Asks before Orbax does, whose threads print pages when a disk fills up."""
    needed = 2 * sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise _full(f"{folder} has {free:,} bytes left and {needed:,} may be needed")


@contextmanager
def _disk_errors() -> Iterator[None]:
    """A full disk under Orbax, which reports it as several kinds of exception."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        if "No space left" not in str(error) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise _full("no space left on device") from error


def _full(detail: str) -> UserError:
    return UserError(
        f"the disk is full while saving a checkpoint: {detail}. Free some space and "
        "run the same command again: it goes on from the last whole checkpoint"
    )
