"""What a worker process may use, set by itself before it serves; Linux.

Address space, size of files, core dumps, number of processes. The kernel does not count
the processes of root, so `forbid_processes` is the limit that holds everywhere: a
filter of system calls after which nothing but threads can be started. None of these is
a security boundary; that is `sandbox`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 4, 24
_MODE_FILTER = 2
_CLONE_THREAD = 0x00010000
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000  # the second with an errno below
_EPERM, _ENOSYS = 1, 38
# By machine: its number for audit, those of clone and clone3, and of fork and vfork.
_CALLS = {
    "x86_64": (0xC000003E, 56, 435, (57, 58)),
    "aarch64": (0xC00000B7, 220, 435, ()),
}
_X32 = 0x40000000  # calls from here on are those of another interface of x86_64


def apply(*, memory_mb: int, file_mb: int, processes: int) -> None:
    """Sets the limits for good; `memory_mb` is beyond what is in use now."""
    memory = _in_use() + memory_mb * 2**20
    for kind, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, file_mb * 2**20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, _tasks() + processes),
    ):
        hard = resource.getrlimit(kind)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (least, least))


def die_with_parent() -> None:
    """The kernel ends this process when the thread that started it has ended."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def hide() -> None:
    """Other processes of this user cannot read its memory or its pipes from now on."""
    _prctl(_PR_SET_DUMPABLE, 0)


def forgo_rights() -> None:
    """The program that this process executes next has none of the rights of root."""
    for right in range(64):
        with suppress(OSError):  # it is no right here, or there are none to forgo
            _prctl(_PR_CAPBSET_DROP, right)


def rules() -> bytes:
    """The filter of system calls that `forbid_processes` sets; b"" if none is known."""
    known = _CALLS.get(platform.machine())
    return _filter(*known) if known else b""


def forbid_processes() -> bool:
    """From now on this process can start threads only; whether that could be set."""
    if not (program := rules()):
        return False
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    found = Program(len(program) // 8, ctypes.addressof(code))
    with suppress(OSError):
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(found))
        return True
    return False


def _filter(audit: int, clone: int, clone3: int, forks: tuple[int, ...]) -> bytes:
    """Classic BPF over `struct seccomp_data`: number at 0, machine at 4, flags at 16.

    Without clone3 the C library falls back on clone, whose flags can be looked at.
    """
    load, equal, above, bits, ret = 0x20, 0x15, 0x35, 0x45, 0x06

    def line(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    lines = [line(load, 4), line(equal, audit, 1, 0), line(ret, _REFUSE | _EPERM)]
    lines += [line(load, 0), line(above, _X32, 0, 1), line(ret, _REFUSE | _EPERM)]
    lines += [line(equal, clone3, 0, 1), line(ret, _REFUSE | _ENOSYS)]
    for number in forks:
        lines += [line(equal, number, 0, 1), line(ret, _REFUSE | _EPERM)]
    lines += [line(equal, clone, 1, 0), line(ret, _ALLOW)]
    lines += [line(load, 16), line(bits, _CLONE_THREAD, 1, 0)]
    return b"".join([*lines, line(ret, _REFUSE | _EPERM), line(ret, _ALLOW)])


def _prctl(option: int, *values: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(v) for v in (*values, 0, 0, 0, 0)[:4]]
    if library.prctl(ctypes.c_int(option), *arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _in_use() -> int:
    """Bytes of address space of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _tasks() -> int:
    """Processes and threads of this user; inside a sandbox those of the sandbox."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/task"):
        with suppress(OSError):  # it has ended meanwhile
            if path.stat().st_uid == os.getuid():
                found += len(os.listdir(path))  # noqa: PTH208 they are only counted
    return found
