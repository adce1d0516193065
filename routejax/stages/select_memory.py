"""How much memory this process may use, as machine, container and shell allow.

Left out: what other processes hold at the moment.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

GIB = 2**30
_GROUPS = Path("/sys/fs/cgroup")


def allowed_bytes() -> int:
    """The memory of the machine, or less where a container or `ulimit -v` says so."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    limits += container_limits(Path("/proc/self/cgroup"), _GROUPS)
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min(limits if soft == resource.RLIM_INFINITY else [*limits, soft])


def container_limits(membership: Path, root: Path) -> Iterator[int]:
    """Limits of the control groups that a process is in, and of those around them.

    Of version 2 (`memory.max`) and of version 1, whose tree of memory is apart. In a
    container the root of the tree is often its own group, so it counts as well.
    """
    for line in _text(membership).splitlines():
        _, kinds, path = line.split(":", 2)
        if not kinds:
            top, name = root, "memory.max"
        elif "memory" in kinds.split(","):
            top, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        own = top / path.lstrip("/")
        for folder in (own, *own.parents):
            limit = _text(folder / name).strip()
            if limit.isdigit():  # "max" is none
                yield int(limit)
            if folder == top:
                break


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
