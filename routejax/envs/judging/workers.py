"""Workers: persistent processes that run functions for a process that must not.

One outcome for each call and in their order, whatever a function does: it may raise,
return anything, print without end, end the process, or hang in C code. A worker that
does not answer in time is killed with all it has started and replaced; so is one that
has answered many calls, since third-party code leaks. A worker that dies under a call
gets it once more, for it may have been killed from outside.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from routejax.envs.judging.process import Died, Process, Setting, TimeOut
from routejax.errors import UserError

RECYCLED = 2000  # calls that one process answers
_ATTEMPTS = 3  # starts in a row that may fail


class Call(NamedTuple):
    """A function, "module:name", its arguments of JSON, and the seconds it may take.

    `modules` are loaded before, for which no time counts (`tasks.load`).
    """

    function: str
    arguments: Sequence[Any]
    timeout_s: float
    modules: Sequence[str] = ()


class Outcome(NamedTuple):
    """What came of a call.

    `status` is "ok", "error" or "timeout"; `value` is what the function returned, as
    JSON gives it back; `detail` says what the error was.
    """

    status: str
    value: Any = None
    detail: str = ""


class Batch:
    """Calls that are being worked on."""

    def __init__(self, size: int):
        self._outcomes: list[Outcome | None] = [None] * size
        self._left, self.wrong = size, ""
        self.seconds = 0.0  # of work on it, of all workers together
        self._changed = threading.Condition()

    @property
    def left(self) -> int:
        """How many calls have no outcome yet."""
        return self._left

    def result(self) -> list[Outcome]:
        """The outcomes in the order of the calls, when all are there.

        Raises:
            UserError: no worker can be started, or the pool was closed before.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._left == 0 or self.wrong)
            if self.wrong:
                raise UserError(self.wrong)
        return [outcome for outcome in self._outcomes if outcome]

    def put(self, at: int, outcome: Outcome, seconds: float) -> None:
        with self._changed:
            if self._outcomes[at] is None:
                self._outcomes[at] = outcome
                self._left -= 1
                self.seconds += seconds
            self._changed.notify_all()

    def fail(self, why: str) -> None:
        with self._changed:
            self.wrong = why
            self._changed.notify_all()


class Workers:
    """A number of workers, started when there is work for them; a context manager."""

    def __init__(self, count: int, setting: Setting):
        if count < 1:
            raise UserError(f"there must be at least 1 worker, got {count}")
        self._setting, self._ended = setting, False
        self._waiting: queue.SimpleQueue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._limit = count
        self._slots: list[threading.Thread] = []
        self._open: set[Batch] = set()
        self.started = 0  # processes so far

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def submit(self, calls: Sequence[Call]) -> Batch:
        """The batch of these calls; they are worked on from now."""
        batch = Batch(len(calls))
        with self._lock:
            if self._ended:
                raise UserError("the pool of workers is closed")
            self._open = {one for one in self._open if one.left} | {batch}
            for at, call in enumerate(calls):
                self._waiting.put((batch, at, call))
            while len(self._slots) < min(self._limit, self._waiting.qsize()):
                thread = threading.Thread(target=self._work, daemon=True)
                self._slots.append(thread)
                thread.start()
        return batch

    def waiting(self) -> int:
        """Calls that no worker has taken."""
        return self._waiting.qsize()

    def close(self) -> None:
        """Ends all workers; batches that are not done fail."""
        with self._lock:
            self._ended = True
        for batch in self._open:
            if batch.left:
                batch.fail("the pool of workers was closed before it was done")
        for _ in self._slots:
            self._waiting.put(None)
        for thread in self._slots:
            thread.join()

    def _work(self) -> None:
        """What one thread does: it owns one process at a time.

        The kernel ends a process with the thread that started it, so it must be this
        one that lives as long.
        """
        process: Process | None = None
        while (taken := self._waiting.get()) is not None and not self._ended:
            batch, at, call = taken
            if batch.wrong:
                continue
            began = time.monotonic()
            try:
                process, outcome = self._attempted(process, call)
            except Died as error:
                process = None
                batch.fail(f"no worker can be started: {error}")
            else:
                batch.put(at, outcome, time.monotonic() - began)
        if process:
            process.kill()

    def _attempted(
        self, process: Process | None, call: Call
    ) -> tuple[Process | None, Outcome]:
        """The outcome of a call, by this process or a fresh one, and what is left."""
        outcome = Outcome("error", detail="never asked")
        for _ in range(2):
            process = process or self._started()
            try:
                reply = process.ask(*call)
            except (TypeError, ValueError) as error:
                return process, Outcome("error", detail=f"it cannot be asked: {error}")
            except TimeOut as error:
                process.kill()
                return None, Outcome("timeout", detail=str(error))
            except Died as error:
                process.kill()
                process, outcome = None, Outcome("error", detail=f"worker: {error}")
                if self._ended:
                    break
                continue
            if process.calls >= RECYCLED:
                process.kill()
                process = None
            if "error" in reply:
                return process, Outcome("error", detail=reply["error"])
            return process, Outcome("ok", reply["value"])
        return process, outcome

    def _started(self) -> Process:
        """A process that is ready; `Died` after some starts that failed."""
        for attempt in itertools.count(1):
            try:
                process = Process(self._setting, lambda: self._ended)
            except Died:
                if attempt == _ATTEMPTS or self._ended:
                    raise
                time.sleep(0.2 * attempt)
            else:
                break
        with self._lock:
            self.started += 1
        return process
