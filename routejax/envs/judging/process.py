"""One worker process as the pool sees it: started, asked, ended.

Started by `subprocess`, which runs another program and never forks this one: a fork
would copy the locks of jax's threads. Pipes do not block, so that a worker that does
not read or write costs its time limit and no more.
"""

from __future__ import annotations

import dataclasses
import json
import os
import selectors
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from routejax.envs.judging import sandbox, tasks, wire

START_S = 120.0  # seconds: imports on a busy machine, at the start and later
_LOOK_S = 0.2  # how often one that waits looks whether the pool is closed
_PIECE = 1 << 16
_TAIL = 2000  # characters of what a worker says that cannot start
# Folders that verifiers find by a variable of the user's; they may read them.
_DATA = ("NLTK_DATA", "RLVE_PATH")
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class TimeOut(Exception):
    """No reply in time."""


class Died(Exception):
    """The process has ended, or sent what is no reply."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """How workers are started.

    Attributes:
        modules: imported before a worker is ready and its limits hold; "module:name" is
            called as well.
        memory_mb: address space beyond what it then has.
        bwrap: the sandbox they are in, or None: limits only.
        processes: how many it may start itself.
        readable: folders that it sees in a sandbox.
        environment: variables beside those it needs.
    """

    modules: tuple[str, ...] = ()
    memory_mb: int = 2048
    bwrap: sandbox.Bwrap | None = None
    processes: int = 0
    readable: tuple[str, ...] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def file_mb(self) -> int:
        """Largest file: in a sandbox files are in memory and gone with the worker."""
        return 64 if self.bwrap else 1 + 15 * bool(self.processes)

    def command(self) -> list[str]:
        limits = {"memory_mb": self.memory_mb, "file_mb": self.file_mb}
        settings = {
            "modules": self.modules,
            "limits": limits | {"processes": self.processes + 64},  # threads count
            "processes": self.processes,
        }
        module = "routejax.envs.judging.worker"
        line = [sys.executable, "-P", "-m", module, json.dumps(settings)]
        if self.bwrap is None:
            return line
        return sandbox.command(
            line,
            bwrap=self.bwrap,
            readable=(*self.readable, *filter(None, map(os.environ.get, _DATA))),
            environment=self.variables(),
        )

    def variables(self) -> dict[str, str]:
        own = [p for p in map(os.path.abspath, sys.path) if not _is_installed(p)]
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(own)),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MALLOC_ARENA_MAX": "2",  # each arena reserves address space
            **dict.fromkeys(_THREADS, "1"),
            **{name: os.environ[name] for name in _DATA if name in os.environ},
            **self.environment,
        }


def _is_installed(path: str) -> bool:
    """Whether the interpreter finds this entry of `sys.path` by itself."""
    roots = (sys.prefix, sys.base_prefix, site.getusersitepackages())
    return any(Path(path).is_relative_to(root) for root in roots)


class Process:
    """A worker that is ready, or `Died` with what it said.

    Where `stopped` becomes true while something is waited for, it is as if it had died.
    """

    def __init__(self, setting: Setting, stopped: Callable[[], bool]):
        self.calls, self._stopped = 0, stopped
        self._loaded: set[str] = set()
        with tempfile.TemporaryFile() as errors:
            self._popen = subprocess.Popen(
                setting.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=setting.variables(),
                cwd="/",
                start_new_session=True,  # a Ctrl-C is not for it; and it ends whole
            )
            try:
                self._in, self._out = self._pipes()
                self.pid = self._reply(b"", 0, START_S)["value"]
            except (TimeOut, Died) as error:
                self.kill()
                errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL))
                told = errors.read().decode(errors="replace").strip()
                raise Died(f"{error}; it said: {told or 'nothing'}") from error
            except BaseException:
                self.kill()
                raise

    def ask(
        self,
        function: str,
        arguments: Sequence[Any],
        timeout_s: float,
        modules: Sequence[str] = (),
    ) -> Any:
        """The reply, {"value": …} or {"error": text}.

        `modules` that are not loaded are so before the time counts; where one cannot
        be, the function says why.

        Raises:
            TimeOut, Died: there is none; the process is to be killed.
            TypeError, ValueError: the arguments are not of JSON, or too large.
        """
        if new := [name for name in modules if name not in self._loaded]:
            self._loaded |= {*new}
            self._asked(f"{tasks.__name__}:load", [new], START_S)
        return self._asked(function, arguments, timeout_s)

    def _asked(
        self, function: str, arguments: Sequence[Any], timeout_s: float
    ) -> dict[str, Any]:
        self.calls += 1
        call = wire.frame(self.calls, [function, list(arguments)])
        if len(call) > wire.LARGEST_CALL:
            raise ValueError(f"the call has {len(call)} bytes")
        return self._reply(call, self.calls, timeout_s)

    def kill(self) -> None:
        """Ends it and all it has started, and waits for that."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.kill()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe:
                with suppress(OSError):  # what it did not read cannot be flushed
                    pipe.close()

    def _pipes(self) -> tuple[int, int]:
        assert self._popen.stdin
        assert self._popen.stdout
        into, out = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        os.set_blocking(into, False)
        os.set_blocking(out, False)
        return into, out

    def _reply(self, call: bytes, number: int, timeout_s: float) -> dict[str, Any]:
        end = time.monotonic() + timeout_s
        pipes = (self._in, self._out)
        try:
            body = exchanged(pipes, call, number, end, self._stopped)
            reply = wire.value_of(body)
        except TimeOut as error:
            raise TimeOut(f"no reply in {timeout_s:g} s") from error
        except ValueError as error:
            raise Died("it sent what is not JSON") from error
        if not isinstance(reply, dict) or len(reply) != 1:
            raise Died("it sent what is no reply")
        if not isinstance(reply.get("error", ""), str):
            raise Died("it sent what is no reply")
        return reply


def exchanged(
    pipes: tuple[int, int],
    call: bytes,
    number: int,
    end: float,
    stopped: Callable[[], bool],
) -> bytes:
    """Writes a call and reads the body of its reply, until a time of the clock.

    A byte before the call is written or behind the reply is no reply: somebody else
    than the worker writes into its pipe.
    """
    (into, out), left, found = pipes, memoryview(call), bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(out, selectors.EVENT_READ)
        if left:
            ready.register(into, selectors.EVENT_WRITE)
        while True:
            for key, _ in ready.select(_remaining(end, stopped)):
                if key.fd == into:
                    left = left[_written(into, left) :]
                    if not left:
                        ready.unregister(into)
                else:
                    found += _read(out)
            if body := _body(found, number):
                return body


def _remaining(end: float, stopped: Callable[[], bool]) -> float:
    if stopped():
        raise Died("the pool was closed")
    left = end - time.monotonic()
    if left <= 0:
        raise TimeOut
    return min(left, _LOOK_S)


def _written(into: int, data: memoryview) -> int:
    try:
        return os.write(into, data[:_PIECE])
    except BlockingIOError:
        return 0
    except OSError as error:
        raise Died("it ended before it was asked") from error


def _read(out: int) -> bytes:
    try:
        data = os.read(out, _PIECE)
    except BlockingIOError:
        return b""
    if not data:
        raise Died("it ended")
    return data


def _body(found: bytearray, number: int) -> bytes:
    """The body of the reply as soon as it is there, else nothing."""
    size = wire.HEADER.size
    if len(found) < size:
        return b""
    length, given = wire.HEADER.unpack(found[:size])
    if given != number or not 0 < length <= wire.LARGEST_REPLY:
        raise Died("it sent what is no reply")
    if len(found) > size + length:
        raise Died("it sent more than a reply")
    return bytes(found[size:]) if len(found) == size + length else b""
