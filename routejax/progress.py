"""Progress that people look at: bars with rate and ETA, or plain heartbeat lines.

On a terminal a stage shows one live bar; elsewhere (logs, CI) it prints a line at most
every few seconds, and always one at its end. Nothing else prints during a stage.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

HEARTBEAT_S = 15.0
_NARROW = 60  # columns of a terminal in which a bar would be nothing but dots


class Stage:
    """What a stage calls as it goes; see `track`."""

    def __init__(self, console: Console, name: str, total: int, unit: str, done: int):
        self._console, self._name, self._unit = console, name, unit
        self._total, self._first, self.done = total, done, done
        self._began = self._spoke = time.monotonic()
        self._warm: tuple[float, int] | None = None  # when the first units were done
        self._bar: Progress | None = None
        if console.is_terminal and console.width >= _NARROW:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("[dim]{task.fields[note]}"),
                console=console,
            )
            self._task = self._bar.add_task(
                name, total=total, completed=done, rate="", note=""
            )
            self._bar.start()

    def update(self, done: int, note: str = "") -> None:
        """`done` units are finished; `note` is a short fact such as `loss 1.23`."""
        self.done = done
        if self._warm is None and done > self._first:
            self._warm = time.monotonic(), done
        if self._bar:
            self._bar.update(self._task, completed=done, rate=self._rate(), note=note)
        elif time.monotonic() - self._spoke > HEARTBEAT_S:
            self._spoke = time.monotonic()
            self._console.print(self._line(note), highlight=False)

    def close(self, end: str = "done") -> None:
        """`end` is the last word of the stage: done, or stopped."""
        if self._bar:
            self._bar.stop()
        else:
            self._console.print(self._line(end), highlight=False)

    def _per_second(self) -> float:
        """Units in a second; the first, which compiles, counts if there is no other."""
        since, first = self._began, self._first
        if self._warm and self.done > self._warm[1]:
            since, first = self._warm
        return (self.done - first) / max(time.monotonic() - since, 1e-9)

    def _rate(self) -> str:
        rate = self._per_second()
        if 0 < rate < 1:
            return f"{1 / rate:.1f} s/{self._unit.removesuffix('s')}"
        return f"{rate:,.1f} {self._unit}/s"

    def _line(self, note: str) -> str:
        elapsed = time.monotonic() - self._began
        rate = self._per_second()
        known = rate > 0 and self.done - self._first > 1
        left = (self._total - self.done) / rate if known else float("inf")
        eta = f"ETA {left:.0f} s" if 0 < left < float("inf") else ""
        parts = [f"{self.done}/{self._total}", self._rate(), f"{elapsed:.0f} s", eta]
        return f"{self._name}: " + "  ".join(p for p in [*parts, note] if p)


@contextmanager
def track(
    console: Console, name: str, total: int, unit: str, done: int = 0
) -> Iterator[Stage]:
    """A stage of `total` units of which `done` are finished already.

    `unit` is a plural: "steps".
    """
    stage = Stage(console, name, total, unit, done)
    try:
        yield stage
    except BaseException:
        stage.close("stopped")
        raise
    stage.close()
