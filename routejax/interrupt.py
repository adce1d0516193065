"""SIGTERM and Ctrl-C: stop at once where work is atomic, else after the step.

A stage that only writes its result at the end may be left anywhere. A training loop
first finishes and saves its step; it holds the signal back meanwhile, and says so at
once: Python's own handlers wait until the compiler or the device is done, minutes with
large students, and who hears nothing sends SIGKILL. While an entry is still being
imported, which takes seconds, there is nothing to save.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EXIT_CODE = 75  # EX_TEMPFAIL: run the same command again to go on


class Interrupted(BaseException):
    """The process was asked to stop; everything finished so far is on disk."""


class _Signals:
    held = False
    came: str | None = None
    told: socket.socket | None = None  # where the thread that tells hears of them
    told_in = 0  # the process of that thread, which a fork does not copy


def stopped(name: str) -> str:
    """What to say when a signal of this name has ended the work."""
    return (
        f"routejax: stopped by {name}; everything finished is saved, run the same "
        "command to go on"
    )


def leave_at_once() -> None:
    """Makes SIGTERM and SIGINT end the process with a line, until `install`."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)


def _leave(number: int, frame: object) -> None:
    del frame
    os.write(2, f"{stopped(signal.Signals(number).name)}\n".encode())
    os._exit(EXIT_CODE)


def install() -> None:
    """Turns SIGTERM and SIGINT into `Interrupted` for the rest of the process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _handle)
    _tell_at_once()


def _tell_at_once() -> None:
    """Starts the thread that hears of a signal when it comes, once per process."""
    if _Signals.told is None or _Signals.told_in != os.getpid():
        heard, _Signals.told = socket.socketpair()
        _Signals.told.setblocking(False)
        _Signals.told_in = os.getpid()
        threading.Thread(target=_listen, args=(heard,), daemon=True).start()
    signal.set_wakeup_fd(_Signals.told.fileno(), warn_on_full_buffer=False)


def _listen(heard: socket.socket) -> None:
    while number := heard.recv(1):
        if _Signals.held and number[0] in (signal.SIGTERM, signal.SIGINT):
            line = f"{waits(signal.Signals(number[0]).name)}\n"
            os.write(2, ("\n" * os.isatty(2) + line).encode())  # below the bar


def waits(name: str) -> str:
    """What to say when a signal of this name comes while a step is in progress."""
    return f"routejax: {name}: stops when the step in progress is finished and saved"


def _handle(number: int, frame: object) -> None:
    del frame
    _Signals.came = signal.Signals(number).name
    if not _Signals.held:
        raise Interrupted(_Signals.came)


def came() -> str | None:
    """The name of the signal that has come, if one has."""
    return _Signals.came


def ask(name: str) -> None:
    """As if a signal of this name had come while signals are held."""
    _Signals.came = _Signals.came or name


@contextmanager
def held() -> Iterator[Callable[[], bool]]:
    """Holds signals back; the given function says whether one came.

    On leaving, a held signal is raised as `Interrupted`.
    """
    _Signals.held = True
    try:
        yield lambda: _Signals.came is not None
    finally:
        _Signals.held = False
    if _Signals.came is not None:
        raise Interrupted(_Signals.came)
