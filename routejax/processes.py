"""Several processes that work as one, each on a host with devices of its own.

All of them run the same program. What they tell each other on the way goes through the
coordinator's store and not through devices: nothing is compiled for it, and no time
limit of a collective counts while one of them works alone for hours. Alone, a process
tells itself everything and nothing here has an effect.

The first process writes reports, logs and samples; all see one file system. A process
that ends before its time says so, and those that wait for it end as well; those that
wait in a collective are ended by jax, which notices that one is gone.
"""

from __future__ import annotations

import itertools
import os
import pickle
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import jax
from jax._src import distributed  # the store has no public door
from jax.extend.backend import clear_backends

from routejax import interrupt
from routejax.errors import UserError

T = TypeVar("T")
S = TypeVar("S")

HEARTBEAT_S = 60  # a process that is not heard of for so long is gone
_LOOK_MS = 1000  # how often one that waits looks whether another has ended
_GRACE_S = 5.0  # an ending process stays so long for others to hear of it
_SHARED_S = 30.0  # until a file must be seen by all
_ENDED, _LEFT = "routejax/ended", "routejax/left"  # folders in the store
_rounds = itertools.count()


def join(
    coordinator: str | None = None, total: int | None = None, number: int | None = None
) -> None:
    """Makes this process one of several; before anything is asked of the devices.

    What is None jax finds by itself: on TPU pods, under Slurm and Open MPI, and the
    coordinator in JAX_COORDINATOR_ADDRESS.

    Raises:
        UserError: the others cannot be found.
    """
    # Its handler of SIGTERM would take the place of ours; `asked` does its work.
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            coordinator, total, number, heartbeat_timeout_seconds=HEARTBEAT_S
        )
    except (ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())
        raise UserError(
            f"the processes cannot join: {said} On a TPU pod --distributed is enough; "
            "elsewhere give each --coordinator=HOST:PORT --processes=N and its own "
            "--process, 0 to N - 1"
        ) from error
    interrupt.install()


def count() -> int:
    """How many there are."""
    return 1 if distributed.global_state.client is None else _state().num_processes


def index() -> int:
    """Number of this one, from 0."""
    return 0 if count() == 1 else _state().process_id


def first() -> bool:
    """Whether this is the process that writes."""
    return index() == 0


def exchanged(value: T) -> list[T]:
    """What every process gave, in their order; all of them must call this.

    Raises:
        UserError, Interrupted: another process has ended.
    """
    if count() == 1:
        return [value]
    number, store = next(_rounds), _state().client
    at = f"routejax/{number}"
    store.key_value_set_bytes(f"{at}/{index()}", pickle.dumps(value))
    if first():
        found = [pickle.loads(_told(f"{at}/{i}")) for i in range(count())]
        # Who tells something in this round has read all of the one before it.
        store.key_value_delete(f"routejax/{number - 1}")
        store.key_value_set_bytes(f"{at}/all", pickle.dumps(found))
        return found
    return pickle.loads(_told(f"{at}/all"))


def first_does(work: Callable[[], T]) -> T:
    """What `work` gives in the first process, given to all; so are its mistakes.

    Raises:
        UserError: that of the work, or another process has ended.
    """
    if count() == 1:
        return work()
    found: tuple[Any, str | None] = (None, None)
    if first():
        try:
            found = (work(), None)
        except UserError as error:
            found = (None, str(error))
    value: Any
    value, wrong = exchanged(found)[0]
    if wrong is not None:
        raise UserError(wrong)
    return value


def divided(items: Sequence[S], work: Callable[[S], T]) -> list[T]:
    """`work` of every item in order, each done by one of the processes."""
    parts = exchanged([work(item) for item in items[index() :: count()]])
    return [parts[n % count()][n // count()] for n in range(len(items))]


def asked() -> bool:
    """Whether any process was asked to stop: the same answer in all, at the same call.

    Those that were not are now, so that all end alike. To be called with signals held.
    """
    names = exchanged(interrupt.came())
    name = next((name for name in names if name), None)
    if name:
        interrupt.ask(name)
    return name is not None


@contextmanager
def held() -> Iterator[Callable[[], bool]]:
    """Holds signals back where there are several; the function is `asked`.

    Alone, a signal ends the work at once.
    """
    if count() == 1:
        yield lambda: False
        return
    with interrupt.held():
        yield asked


def require_shared(folder: Path) -> None:
    """Refuses a folder that is not the same one for all.

    Raises:
        UserError: a process does not see the first one's file.
    """
    if count() == 1:
        return
    token = exchanged(uuid.uuid4().hex)[0]
    path = folder / f".shared-{token}"
    first_does(lambda: path.write_text(token) and None)
    until = time.monotonic() + _SHARED_S
    while not (seen := path.exists()) and time.monotonic() < until:
        time.sleep(0.1)
        with suppress(OSError):
            os.listdir(folder)  # noqa: PTH208 renews what a network mount remembers
    blind = [i for i, sees in enumerate(exchanged(seen)) if not sees]
    first_does(lambda: path.unlink(missing_ok=True))
    if blind:
        raise UserError(
            f"{folder} is not one folder for all {count()} processes: what the first "
            f"writes is not seen by process {', '.join(map(str, blind))}; choose a "
            "--workdir on a file system that all hosts share"
        )


@contextmanager
def ending() -> Iterator[None]:
    """Tells the others when this process ends before its time, or waits for them."""
    try:
        yield
    except BaseException as error:
        if count() > 1:
            _tell_end(error)
        raise
    exchanged(None)


def leave(status: int) -> None:
    """Takes leave of the other processes, as the last thing; one that failed ends here.

    Whoever is still there when the first process goes is ended by jax. One that is done
    waits for all in jax, whatever ends its interpreter; one that failed may wait in
    vain there, so it only waits a moment, and only if it is the first.
    """
    if count() == 1:
        return
    if not status:
        clear_backends()  # before what their threads ask goes away
        jax.distributed.shutdown()
        return
    sys.stdout.flush()
    sys.stderr.flush()
    with suppress(jax.errors.JaxRuntimeError):
        _state().client.key_value_set(f"{_LEFT}/{index()}", "")
        if first():
            _wait_for_all(_LEFT)
            time.sleep(0.5)  # from the word of the last to its end
    os._exit(status)


def _state() -> Any:
    return distributed.global_state


def _told(key: str) -> bytes:
    """What another process tells under this key, however long that takes."""
    while True:
        try:
            return _state().client.blocking_key_value_get_bytes(key, _LOOK_MS)
        except jax.errors.JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise UserError(f"the first process cannot be reached: {error}") from (
                    error
                )
        _require_alive()


def _require_alive() -> None:
    for key, text in _state().client.key_value_dir_get(_ENDED):
        name, _, said = text.partition(" ")
        if name:
            raise interrupt.Interrupted(name)
        raise UserError(f"process {key.rpartition('/')[2]} has ended: {said}")


def _tell_end(error: BaseException) -> None:
    """Says why this process ends; the first gives the others a moment to hear it."""
    name = str(error) if isinstance(error, interrupt.Interrupted) else ""
    with suppress(jax.errors.JaxRuntimeError):
        said = f"{name} {type(error).__name__}: {error}"
        _state().client.key_value_set(f"{_ENDED}/{index()}", said)
        if first():
            _wait_for_all(_ENDED)


def _wait_for_all(folder: str) -> None:
    """Until every process has a word there, or for a moment."""
    until = time.monotonic() + _GRACE_S
    while time.monotonic() < until:
        if len(_state().client.key_value_dir_get(folder)) == count():
            return
        time.sleep(0.1)
