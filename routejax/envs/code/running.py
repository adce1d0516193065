"""Starting a program in a process of its own, and talking to it within limits.

The process is in a sandbox inside the sandbox of the worker that starts it: it sees no
other process, no /proc, no network and no files but the interpreter, and the harness
cannot be reached from it. It may start threads but no processes, and write no file.
Where no sandbox can be had it is kept from other processes by these limits alone; that
is no security boundary, and who calls this has agreed to it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from routejax.envs.code import inside
from routejax.envs.judging import limits, sandbox, wire
from routejax.envs.judging.process import Died, TimeOut, exchanged

_ROOT = Path(__file__).parents[3]
_PIECE = 1 << 16
_TAIL = 4096  # bytes that are kept of what goes to standard error
_VARIABLES = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
# The modules that the process needs, without all that their packages import.
_BOOT = """
import sys
for name in ("", ".envs", ".envs.code", ".envs.judging"):
    module = type(sys)("routejax" + name)
    module.__path__ = [sys.argv[2] + "/routejax" + name.replace(".", "/")]
    sys.modules[module.__name__] = module
from routejax.envs.{}
"""
_BOOTS = {
    "run": _BOOT.format("code import inside") + "inside.main(sys.argv[1:])",
    "serve": _BOOT.format("code import inside") + "inside.main(sys.argv[1:])",
    "check": _BOOT.format("code import inside, checker")
    + "inside.serve = checker.serve; inside.main(sys.argv[1:])",
}
# Takes the place of a sandbox: a process denies itself what it can, and becomes the one
# of the program. (A function for `subprocess` to call between fork and exec would copy
# the locks of this process's threads.)
_RESTRICT = (
    _BOOT.format("judging import limits")
    + "import os; limits.forgo_rights(); limits.forbid_processes()\n"
    + "os.execv(sys.argv[3], sys.argv[3:])"
)
_PYTHON = (sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c")


@dataclass(frozen=True)
class Limits:
    """What a program may use.

    Attributes:
        test_s: wall time of one test, the start of the process included.
        total_s: wall time of all; below the time limit of the judges.
        memory_mb: address space.
        output_bytes: of what it prints.
    """

    test_s: float = 4.0
    total_s: float = 8.0
    memory_mb: int = 512
    output_bytes: int = 2**20


class Ran(NamedTuple):
    """What a program printed, how it ended ("" is well), and what it said of it."""

    output: bytes
    wrong: str = ""
    detail: str = ""


def started(
    mode: str,
    before: str,
    program: str,
    allowed: Limits,
    bwrap: sandbox.Bwrap | None,
) -> tuple[subprocess.Popen[bytes], bytes]:
    """The process of a program, and what must be written to it first."""
    memory, seconds = allowed.memory_mb * 2**20, int(allowed.total_s) + 2
    line = [*_PYTHON, _BOOTS[mode], mode, str(_ROOT), str(memory), str(seconds)]
    with tempfile.TemporaryFile() as rules:
        if bwrap:
            line = sandbox.command(
                [*_options(rules.fileno()), *line],
                bwrap=bwrap._replace(proc=False),
                environment=_VARIABLES,
            )
            rules.write(limits.rules())
            rules.seek(0)
        else:
            line = [*_PYTHON, _RESTRICT, "restrict", str(_ROOT), *line]
        popen = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if mode == "run" else subprocess.DEVNULL,
            env=_VARIABLES,
            cwd="/",
            start_new_session=True,
            pass_fds=[rules.fileno()] if bwrap else [],
        )
    return popen, inside.packed(before) + inside.packed(program)


def _options(rules: int) -> list[str]:
    """More of bwrap's: no process can be started, and root has no rights inside."""
    found = ["--seccomp", str(rules)] if limits.rules() else []
    return [*found, *(["--cap-drop", "ALL"] if os.getuid() == 0 else []), "--"]


def ended(popen: subprocess.Popen[bytes]) -> None:
    """Ends the process, and waits for that."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, signal.SIGKILL)
    popen.kill()
    popen.wait()
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


def run(
    program: str,
    given: str,
    allowed: Limits,
    end: float,
    bwrap: sandbox.Bwrap | None,
) -> Ran:
    """Runs a program on an input, until a time of the clock `time.monotonic`."""
    popen, first = started("run", "", program, allowed, bwrap)
    try:
        data = first + given.encode("utf-8", "replace")
        output, errors, wrong = _talk(popen, data, end, allowed.output_bytes)
        return Ran(output, *_ending(popen, end, wrong, errors))
    finally:
        ended(popen)


def _talk(
    popen: subprocess.Popen[bytes], data: bytes, end: float, most: int
) -> tuple[bytes, bytes, str]:
    """Output, the end of the errors, and what stopped the reading of them."""
    into, out, errors = popen.stdin, popen.stdout, popen.stderr
    assert into
    assert out
    assert errors
    left, found, tail = memoryview(data), bytearray(), b""
    os.set_blocking(into.fileno(), False)
    with selectors.DefaultSelector() as ready:
        ready.register(into, selectors.EVENT_WRITE)
        ready.register(out, selectors.EVENT_READ)
        ready.register(errors, selectors.EVENT_READ)
        while out in (open_ := [k.fileobj for k in ready.get_map().values()]) or (
            errors in open_
        ):
            remaining = end - time.monotonic()
            if remaining <= 0:
                return bytes(found), tail, "timeout"
            for key, _ in ready.select(remaining):
                if key.fileobj is into:
                    left = left[_written(into.fileno(), left) :]
                    if not left:
                        ready.unregister(into)
                        into.close()
                    continue
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    ready.unregister(key.fileobj)
                elif key.fileobj is errors:
                    tail = (tail + piece)[-_TAIL:]
                else:
                    found += piece
            if len(found) > most:
                return bytes(found[:most]), tail, "output limit"
    return bytes(found), tail, ""


def _written(into: int, data: memoryview) -> int:
    """Bytes that went in; all of them where nobody reads any more."""
    try:
        return os.write(into, data[:_PIECE])
    except BlockingIOError:
        return 0
    except OSError:
        return len(data)


def _ending(
    popen: subprocess.Popen[bytes], end: float, wrong: str, errors: bytes
) -> tuple[str, str]:
    """How a program ended, and the last line of what it said."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    last = lines[-1][:300] if lines else ""
    if wrong:
        return wrong, last
    try:
        code = popen.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return "timeout", last
    if code == 0:
        return "", ""
    if code == inside.BROKEN:
        return "syntax error", last
    if last.startswith("MemoryError"):
        return "memory limit", last
    signalled = -code if code < 0 else code - 128
    told = f"ended by signal {signalled}" if 0 < signalled < 65 else f"exit code {code}"
    return "runtime error", last or told


class Session:
    """A program, or the tests of one, that answers questions; ended by `close`.

    Raises, from the constructor and `ask`:
        TimeOut: no answer at the time given.
        Died: the process has ended, or sent what is no answer.
    """

    def __init__(
        self,
        mode: str,
        before: str,
        program: str,
        allowed: Limits,
        end: float,
        bwrap: sandbox.Bwrap | None,
    ):
        self._popen, first = started(mode, before, program, allowed, bwrap)
        self._number = 0
        try:
            assert self._popen.stdin
            assert self._popen.stdout
            self._pipes = self._popen.stdin.fileno(), self._popen.stdout.fileno()
            for pipe in self._pipes:
                os.set_blocking(pipe, False)
            self.first = self._reply(first, end)
        except BaseException:
            self.close()
            raise

    def ask(self, value: Any, end: float) -> dict[str, Any]:
        """The answer: a record with one field, whatever the process sent in it."""
        self._number += 1
        return self._reply(wire.frame(self._number, value), end)

    def close(self) -> None:
        ended(self._popen)

    def _reply(self, data: bytes, end: float) -> dict[str, Any]:
        body = exchanged(self._pipes, data, self._number, end, lambda: False)
        try:
            reply = wire.value_of(body)
        except ValueError as error:
            raise Died("it sent what is not JSON") from error
        if not isinstance(reply, dict) or len(reply) != 1:
            raise Died("it sent what is no reply")
        return reply


__all__ = ["Died", "Limits", "Ran", "Session", "TimeOut", "run"]
