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
_SHARED: dict[tuple[str, ...], Workers] = {}
_INSIDE: list[bool] = []


def ask(
    function: str,
    arguments: Sequence[Any],
    *,
    timeout_s: float,
    modules: tuple[str, ...] = (),
) -> Outcome:
    """What came of `function`, "module:name", called with arguments of JSON.

    `modules` are imported, and those with ":name" called, before the time counts.
    Inside a worker errors are raised, and the time limit is that of the worker's call.
    """
    if _INSIDE:
        module, _, name = function.partition(":")
        found = getattr(importlib.import_module(module), name)
        return Outcome("ok", found(*arguments))
    batch = _shared(modules).submit([Call(function, arguments, timeout_s)])
    return batch.result()[0]


def inside() -> None:
    """Says that this process is a worker."""
    _INSIDE.append(True)


def close() -> None:
    """Ends the shared workers; the next question starts them anew."""
    with _LOCK:
        while _SHARED:
            _SHARED.popitem()[1].close()


def _shared(modules: tuple[str, ...]) -> Workers:
    with _LOCK:
        if modules not in _SHARED:
            if not _SHARED:
                atexit.register(close)
            setting = Setting(modules=modules, bwrap=sandbox.found())
            _SHARED[modules] = Workers(1, setting)
        return _SHARED[modules]
