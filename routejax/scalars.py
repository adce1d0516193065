"""Where metrics go besides `metrics.jsonl`: TensorBoard, and W&B by option.

A sink gets a step's row when its line is in the log already. No sink ends a training:
the first failure of each is told, all are counted, and the count is told at the end. A
step that is done again after a kill is there once: TensorBoard is told to forget the
steps from there on, and W&B is not sent again what it has. Left out: histograms, texts,
and pictures; samples are in `rollouts/`.
"""

from __future__ import annotations

import importlib
import importlib.util
import socket
import struct
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from routejax.errors import UserError

Row = Mapping[str, float]
Sink = Callable[[int, Row], None]


def require(*, tensorboard: bool, wandb: str) -> None:
    """Refuses a choice of sinks that this environment has not the packages for.

    Raises:
        UserError: W&B is asked for and not installed.
    """
    del tensorboard  # comes with routejax
    if wandb and importlib.util.find_spec("wandb") is None:
        raise UserError(
            f"config.logging.wandb names the project {wandb!r}, but W&B is not "
            'installed: pip install "routejax[wandb]", or leave it empty'
        )


@contextmanager
def opened(
    folder: Path,
    *,
    name: str,
    done: int,
    say: Callable[[str], None],
    about: Mapping[str, Any],
    tensorboard: bool = True,
    wandb: str = "",
) -> Iterator[Sink]:
    """What to call with each step and its row.

    Args:
        folder: of the stage; sinks keep their files in folders of it.
        name: of the stage, for people.
        done: steps that were done before, as far as is known; part of a file's name.
        say: where failures are told, a line each.
        about: what W&B shows as the run's config.
        tensorboard: event files in `folder/tensorboard`.
        wandb: project of W&B, one run for each stage; "" sends nothing.
    """
    wanted: dict[str, AbstractContextManager[Sink]] = {}
    if tensorboard:
        wanted["TensorBoard"] = to_tensorboard(folder, done)
    if wandb:
        wanted["W&B"] = to_wandb(folder, wandb, name, about)
    with ExitStack() as stack:
        sinks = [
            stack.enter_context(_guarded(sink, f"{name}: {title}", say))
            for title, sink in wanted.items()
        ]

        def tell(step: int, row: Row) -> None:
            for sink in sinks:
                sink(step, row)

        yield tell


@contextmanager
def to_tensorboard(folder: Path, done: int) -> Iterator[Sink]:
    """An event file; steps that others have already, from its first on, are forgotten.

    The first that is told counts: a damaged checkpoint may give way to an earlier one.
    A record is written at once and by this thread: the queue of tensorboardX's own
    SummaryWriter loses the last steps in a kill, and its thread the errors of a full
    disk; its EventsWriter waits for the disk at every step.
    """
    # Loaded here: a training without it should not wait for its import.
    event = importlib.import_module("tensorboardX.proto.event_pb2")
    record = importlib.import_module("tensorboardX.proto.summary_pb2").Summary
    crc = importlib.import_module("tensorboardX.record_writer").masked_crc32c
    # Two starts in one second would share a name but for the last part.
    name = f"events.out.tfevents.{int(time.time()):010}.{socket.gethostname()}.{done}"
    (folder / "tensorboard").mkdir(parents=True, exist_ok=True)
    with (folder / "tensorboard" / name).open("wb", buffering=0) as file:

        def put(**what: Any) -> None:
            data = event.Event(wall_time=time.time(), **what).SerializeToString()
            size = struct.pack("<Q", len(data))
            sums = (struct.pack("<I", crc(part)) for part in (size, data))
            file.write(size + next(sums) + data + next(sums))

        begun = False

        def write(step: int, row: Row) -> None:
            nonlocal begun
            if not begun:
                start = event.SessionLog(status=event.SessionLog.START)
                put(step=step, session_log=start)
                begun = True
            values = [record.Value(tag=k, simple_value=v) for k, v in row.items()]
            put(step=step, summary=record(value=values))

        put(file_version="brain.Event:2")
        yield write


@contextmanager
def to_wandb(
    folder: Path, project: str, name: str, about: Mapping[str, Any]
) -> Iterator[Sink]:
    """One run of W&B per stage, taken up again where the stage is."""
    wandb = importlib.import_module("wandb")
    known = folder / "wandb" / "id"
    if not known.exists():
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text(uuid.uuid4().hex)
    run = wandb.init(
        project=project,
        name=name,
        id=known.read_text(),
        resume="allow",
        reinit="create_new",
        dir=str(folder),
        config=dict(about),
        # Its own capture of the terminal would fight with the progress bar.
        settings=wandb.Settings(console="off", silent=True),
    )

    def write(step: int, row: Row) -> None:
        if step >= run.step:  # what it has already, it would refuse with a warning
            run.log(dict(row), step=step)

    try:
        yield write
    except BaseException:
        run.finish(exit_code=1)
        raise
    run.finish()


@contextmanager
def _guarded(
    sink: AbstractContextManager[Sink], name: str, say: Callable[[str], None]
) -> Iterator[Sink]:
    """The sink, whose first failure is told, and how many steps it missed."""
    told, missed = False, 0

    def note(error: Exception) -> None:
        nonlocal told
        if not told:
            line = " ".join(f"{type(error).__name__}: {error}".split())
            say(f"{name} failed ({line}); the training goes on without it")
        told = True

    def tell(step: int, row: Row) -> None:
        nonlocal missed
        try:
            write(step, row)
        except Exception as error:
            missed += 1
            note(error)

    def close(ended: BaseException | None) -> None:
        kind, trace = (ended and type(ended)), (ended and ended.__traceback__)
        try:
            sink.__exit__(kind, ended, trace)
        except Exception as error:
            note(error)
        if missed:
            say(f"{name} missed {missed} steps; metrics.jsonl has them all")

    try:
        write = sink.__enter__()
    except Exception as error:
        note(error)
        yield lambda step, row: None
        return
    try:
        yield tell
    except BaseException as ended:
        close(ended)
        raise
    close(None)
