"""Progress that people look at: bars with rate and ETA, or plain heartbeat lines.

On a terminal a stage shows one live bar; elsewhere (logs, CI) it prints a line at most
every few seconds, and always one at its end. Nothing else prints during a stage.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

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
_NARROW = 90  # columns of a terminal in which a bar would be nothing but dots
_WIDE = 110  # columns that have room for the time so far
_BESIDE = 42  # columns of the bar, counts, times and gaps


def terminal(**settings: Any) -> Console:
    """A console for text as it is: paths and messages are no markup and no emoji."""
    return Console(markup=False, emoji=False, **settings)


class Stage:
    """What a stage calls as it goes; see `track`."""

    def __init__(
        self,
        console: Console,
        name: str,
        total: int,
        unit: str,
        done: int,
        counted: str = "",
    ):
        self._console, self._name, self._unit = console, name, unit
        self._total, self._first, self.done = total, done, done
        self._counted, self._count = counted, 0.0
        self._began = self._spoke = time.monotonic()
        # When the first units were done, how many, and what they counted.
        self._warm: tuple[float, int, float] | None = None
        self._bar: Progress | None = None
        if console.is_terminal and console.width >= _NARROW:
            wide = console.width >= _WIDE
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=8),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}", markup=False),
                *([TimeElapsedColumn()] if wide else []),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", style="dim", markup=False),
                console=console,
            )
            self._task = self._bar.add_task(
                name, total=total, completed=done, rate="", note=""
            )
            self._bar.start()

    def begin(self, done: int) -> None:
        """Work goes on after so many units, whatever number was given before."""
        self._first = self.done = done
        if self._bar:
            self._bar.update(self._task, completed=done)

    def update(
        self,
        done: int,
        note: str = "",
        counts: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """`done` units are finished; `note` is a short fact such as `loss 1.23`.

        `counts` are of what has been done since the last call.
        """
        self.done = done
        self._count += counts.get(self._counted, 0)
        if self._warm is None and done > self._first:
            self._warm = time.monotonic(), done, self._count
        if self._bar:
            rate = self._rate()
            room = self._console.width - len(self._name) - len(rate) - _BESIDE
            while len(note) > max(0, room):  # whole facts, rather than all in dots
                note = note.rpartition("  ")[0]
            self._bar.update(self._task, completed=done, rate=rate, note=note)
        elif time.monotonic() - self._spoke > HEARTBEAT_S:
            self._spoke = time.monotonic()
            self._console.print(self._line(note), highlight=False)

    def close(self, end: str = "done") -> None:
        """`end` is the last word of the stage: done, or stopped."""
        if self._bar:
            self._bar.stop()
        else:
            self._console.print(self._line(end), highlight=False)

    def _per_second(self) -> tuple[float, float]:
        """Units in a second, and what is counted; the first units, which compile,
        count if there are no others."""
        since, first, count = self._began, self._first, 0.0
        if self._warm and self.done > self._warm[1]:
            since, first, count = self._warm
        spent = max(time.monotonic() - since, 1e-9)
        return (self.done - first) / spent, (self._count - count) / spent

    def _rate(self) -> str:
        """Time of a step, or units in a second; and what is counted, in a second."""
        rate, counted = self._per_second()
        said = f"{rate:,.1f} {self._unit}/s"
        if rate > 0 and (rate < 1 or self._unit == "steps"):
            said = f"{_brief(1 / rate)}/{self._unit.removesuffix('s')}"
        name = self._counted.replace("_", " ")
        return f"{said}  {counted:,.0f} {name}/s" if counted else said

    def _line(self, note: str) -> str:
        elapsed = time.monotonic() - self._began
        rate, _ = self._per_second()
        known = rate > 0 and self.done - self._first > 1
        left = (self._total - self.done) / rate if known else float("inf")
        eta = f"ETA {left:.0f} s" if 0 < left < float("inf") else ""
        parts = [f"{self.done}/{self._total}", self._rate(), f"{elapsed:.0f} s", eta]
        return f"{self._name}: " + "  ".join(p for p in [*parts, note] if p)


def _brief(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


@contextmanager
def track(
    console: Console,
    name: str,
    total: int,
    unit: str,
    done: int = 0,
    counted: str = "",
) -> Iterator[Stage]:
    """A stage of `total` units of which `done` are finished already.

    `unit` is a plural: "steps". `counted` names one of the counts that `update` gets,
    of which the line tells how many there are in a second: "sampled_tokens".
    """
    stage = Stage(console, name, total, unit, done, counted)
    try:
        yield stage
    except BaseException:
        stage.close("stopped")
        raise
    stage.close()
