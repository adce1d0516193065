"""The process that runs verifiers: calls in, one reply to each, until the pool is gone.

    python -m routejax.envs.judging.worker SETTINGS

Its pipes are its standard input and output when it starts; then these lead nowhere, so
that what a verifier prints goes there. It ends when the pool's end of the pipe is
closed, and is killed by the kernel with the thread that started it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO

from routejax.envs.judging import asking, limits, tasks, wire

LONGEST_ERROR = 500  # characters


def main(argv: Sequence[str]) -> None:
    settings = json.loads(argv[1])
    limits.die_with_parent()
    calls, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # until it is ready, all that is printed tells why it cannot be
    warnings.simplefilter("ignore")
    asking.inside()
    tasks.load(settings["modules"])
    limits.apply(**settings["limits"])
    if not settings["processes"]:
        limits.forbid_processes()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    gc.freeze()
    send(replies, 0, {"value": os.getpid()})
    serve(calls, replies)


def serve(calls: BinaryIO, replies: BinaryIO) -> None:
    while header := read(calls, wire.HEADER.size):
        length, number = wire.HEADER.unpack(header)
        send(replies, number, answer(read(calls, length)))


def read(pipe: BinaryIO, length: int) -> bytes:
    """So many bytes; nothing where the other end is closed."""
    data = pipe.read(length)
    return data if len(data) == length else b""


def send(replies: BinaryIO, number: int, value: Any) -> None:
    """One reply; where it cannot be written down, the error that says so."""
    try:
        data = wire.frame(number, value)
        if len(data) > wire.LARGEST_REPLY:
            raise ValueError(f"the reply has {len(data)} bytes")
    except Exception as error:
        data = wire.frame(number, {"error": said(error)})
    replies.write(data)
    replies.flush()


def answer(body: bytes) -> dict:
    """What the function of a call gives, or what it raised, whatever that is."""
    try:
        name, arguments = wire.value_of(body)
        module, _, function = name.partition(":")
        return {"value": getattr(importlib.import_module(module), function)(*arguments)}
    except BaseException as error:  # exits too: third-party code may call any of them
        return {"error": said(error)}


def said(error: BaseException) -> str:
    text = ""
    with contextlib.suppress(BaseException):
        text = str(error)[:LONGEST_ERROR]
    return f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    main(sys.argv)
