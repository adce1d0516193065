"""Standard output and error of an entry, which are what their reader makes of them.

A descriptor that is closed is opened on nothing: the next file that is opened would get
its number, and every message would go into that file. A reader that has gone (`| head`)
ends no work. A full disk is the user's to mend. A character that the terminal's
encoding lacks is shown as a question mark.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from routejax.errors import UserError


class Output:
    """A stream of text that only fails in ways a user can mend."""

    def __init__(self, stream: Any, name: str):
        self._stream, self._name = stream, name

    def write(self, text: str) -> int:
        """Writes what there is a reader for.

        Raises:
            UserError: it cannot be written.
        """
        self._try(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _try(self, call: Callable[..., Any], *given: Any) -> None:
        try:
            call(*given)
        except BrokenPipeError:
            _discard(self._stream)
        except OSError as error:
            _discard(self._stream)
            raise UserError(
                f"cannot write to {self._name}: {error.strerror or error}; free some "
                "space or send it elsewhere, and run the same command again"
            ) from error


def fill() -> None:
    """Opens standard streams that are closed on nothing."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115


@contextmanager
def kept() -> Iterator[None]:
    """Within it, standard output and error are `Output`s; what they hold is written
    before it is left, as far as that can be done."""
    fill()
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
    sys.stdout = Output(before[0], "standard output")
    sys.stderr = Output(before[1], "standard error")
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _discard(stream: Any) -> None:
    """From here on the stream writes to nothing, what it still holds too."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)
