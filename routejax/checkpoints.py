"""Training state on disk through Orbax: the only user of orbax.

One checkpoint is the state tree and a JSON record (data iterator, RNG seed) of the same
step. Saves run in the background; a save that was killed leaves the one before it
intact and its own remains are removed when the folder is opened.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from routejax.errors import UserError
from routejax.models import Params


class Checkpoints:
    """Checkpoints of one training stage; see `opened`."""

    def __init__(self, folder: Path, *, keep: int, every_s: float):
        folder = folder.absolute()
        _remove_unfinished(folder, "*")
        options = ocp.CheckpointManagerOptions(max_to_keep=keep, create=True)
        self._folder = folder
        self._manager = ocp.CheckpointManager(folder, options=options)
        self._every_s = every_s
        self._saved_at = time.monotonic()

    def latest(self) -> int:
        """Steps finished in the newest checkpoint; 0 if there is none."""
        return self._manager.latest_step() or 0

    def restore(self, like: Any) -> tuple[Any, dict] | None:
        """The newest state, placed as `like` is, and its record; None without one."""
        step = self._manager.latest_step()
        if step is None:
            return None
        found = self._manager.restore(
            step,
            args=ocp.args.Composite(
                state=ocp.args.StandardRestore(like), record=ocp.args.JsonRestore()
            ),
        )
        return found["state"], found["record"]

    def due(self) -> bool:
        """Whether the last save is `every_s` seconds ago."""
        return time.monotonic() - self._saved_at >= self._every_s

    def save(self, step: int, state: Any, record: dict) -> None:
        """Saves in the background; `state` may be donated as soon as this returns.

        Raises:
            UserError: the disk is full.
        """
        with _disk_errors():
            self._manager.wait_until_finished()
            _require_room(self._folder, state)
            self._manager.save(
                step,
                args=ocp.args.Composite(
                    state=ocp.args.StandardSave(state), record=ocp.args.JsonSave(record)
                ),
            )
        self._saved_at = time.monotonic()

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
    _remove_unfinished(folder.parent, folder.name)
    _require_room(folder.parent, params)
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
        array = np.asarray(leaf)
        digest.update(f"{path} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


@contextmanager
def opened(folder: Path, *, keep: int, every_s: float) -> Iterator[Checkpoints]:
    """The folder's checkpoints, closed in the end.

    Args:
        keep: newest checkpoints that stay on disk.
        every_s: seconds between saves; a kill loses at most these and one step.
    """
    checkpoints = Checkpoints(folder, keep=keep, every_s=every_s)
    try:
        yield checkpoints
    finally:
        checkpoints.close()


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
