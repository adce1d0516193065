"""The array engine: fingerprints from Arrow's bytes, the same as the reference's.

    bytes ─texts→ plain, counted ─scan→ events ─notes→ steps ─walk→ tree ─blocks→ F

`automaton` and `tables` compile a grammar once; everything else is kernels that numba
compiles. Compiled kernels are kept beside this file, in a folder named after all of
their sources: numba itself would look at the file of the outer kernel only, and go on
with an inner one that has changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from numba.core import config

_FOLDER = Path(__file__).parent
_before = getattr(config, "CACHE_DIR", "")


def _sources() -> str:
    """A hash of this folder and the modules that give it constants."""
    files = sorted([*_FOLDER.glob("*.py"), *_FOLDER.parent.glob("*.py")])
    found = hashlib.sha256()
    for file in files:
        found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]


def _compiled() -> str:
    """The folder of kernels compiled from these sources; older ones are removed."""
    if _before:
        return _before
    beside = _FOLDER / "__pycache__"
    if not os.access(_FOLDER, os.W_OK):
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        beside = Path(home) / "routejax"
    name = f"kernels-{_sources()}"
    for old in beside.glob("kernels-*"):
        if old.name != name:
            shutil.rmtree(old, ignore_errors=True)
    return str(beside / name)


def is_compiled(module: str) -> bool:
    """Whether kernels that this module of the room defines have been kept."""
    return next(_KEPT.rglob(f"{module}.*.nbi"), None) is not None


_KEPT = Path(_compiled())
config.CACHE_DIR = str(_KEPT)  # type: ignore[attr-defined]
try:
    from routejax.fingerprints.engine import front, sums
finally:
    config.CACHE_DIR = _before  # type: ignore[attr-defined]

__all__ = ["front", "is_compiled", "sums"]
