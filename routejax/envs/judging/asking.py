"""One question to third-party code, from wherever it comes up.

Here it goes to a worker that all such questions share, started at the first of them;
inside a worker, where it may run, it is run at once.
"""

from __future__ import annotations

import atexit
import importlib
import threading
from collections.abc import Sequence
from typing import Any

from routejax.envs.judging import sandbox
from routejax.envs.judging.process import Setting
from routejax.envs.judging.workers import Call, Outcome, Workers

_LOCK = threading.Lock()
_SHARED: list[Workers] = []
_INSIDE: list[bool] = []


def ask(
    function: str,
    arguments: Sequence[Any],
    *,
    timeout_s: float,
    modules: tuple[str, ...] = (),
) -> Outcome:
    """What came of `function`, "module:name", called with arguments of JSON.

    `modules` are loaded (`tasks.load`) before the time counts.
    Inside a worker errors are raised, and the time limit is that of the worker's call.
    """
    if _INSIDE:
        module, _, name = function.partition(":")
        found = getattr(importlib.import_module(module), name)
        return Outcome("ok", found(*arguments))
    call = Call(function, arguments, timeout_s, modules)
    return _shared().submit([call]).result()[0]


def inside() -> None:
    """Says that this process is a worker."""
    _INSIDE.append(True)


def close() -> None:
    """Ends the shared worker; the next question starts one anew."""
    with _LOCK:
        while _SHARED:
            _SHARED.pop().close()


def _shared() -> Workers:
    with _LOCK:
        if not _SHARED:
            atexit.register(close)
            _SHARED.append(Workers(1, Setting(bwrap=sandbox.found())))
        return _SHARED[0]
