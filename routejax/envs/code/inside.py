"""The process that a program of a response runs in; nothing else runs there.

    python -I -S -B -X utf8 -c BOOT run|serve ROOT BYTES SECONDS

`run` gives it the rest of standard input and its output is what it prints; `serve`
calls its functions, one frame in and one out. Only the standard library is there, and
the modules of this package that need nothing else. Processes are forbidden from
outside, before this one starts.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, BinaryIO

BROKEN = 96  # exit code of a program that does not compile
NAME = "<program>"
_DESCRIPTORS = 64
_SEPARATOR = 10  # digits of a length


def main(argv: list[str]) -> None:
    mode, _, memory, seconds = argv
    for kind, limit in (
        (resource.RLIMIT_AS, int(memory)),
        (resource.RLIMIT_CPU, int(seconds)),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
    ):
        hard = resource.getrlimit(kind)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (least, least))
    before, program = _text(), _text()
    sys.argv[:] = ["program.py"]
    (run if mode == "run" else serve)(before, program)


def _text() -> str:
    """A text on standard input behind its length; no byte more is read."""
    return _exactly(int(_exactly(_SEPARATOR))).decode("utf-8", "replace")


def _exactly(size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := os.read(0, size - len(data))):
        data += piece
    return data


def packed(text: str) -> bytes:
    """What `_text` reads."""
    data = text.encode("utf-8", "replace")
    return f"{len(data):0{_SEPARATOR}d}".encode() + data


def parts(before: str, program: str) -> list[CodeType]:
    """The code of both, one behind the other, or of both as one text.

    The second is for a program that continues `before` in the midst of a function.
    """
    try:
        code = compile(program, NAME, "exec", dont_inherit=True)
    except SyntaxError:
        if not before:
            raise
        return [compile(before + program, NAME, "exec", dont_inherit=True)]
    return [compile(before, NAME, "exec", dont_inherit=True), code]


def _module() -> dict[str, Any]:
    """The names of a fresh `__main__`."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    return vars(module)


def run(before: str, program: str) -> None:
    try:
        found = parts(before, program)
    except (SyntaxError, ValueError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}")
        sys.stderr.flush()
        os._exit(BROKEN)
    names = _module()
    for code in found:
        exec(code, names)


def serve(before: str, program: str) -> None:
    """Frames: first that it is loaded, then what each call gave."""
    from routejax.envs.judging import wire  # noqa: PLC0415

    calls, replies = own_pipes()
    number, value = 0, loaded(before, program, names := _module())
    while True:
        replies.write(framed(wire.frame, number, value))
        replies.flush()
        header = calls.read(wire.HEADER.size)
        if len(header) < wire.HEADER.size:
            return
        length, number = wire.HEADER.unpack(header)
        value = called(names, *wire.value_of(calls.read(length)))


def own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output as they were; from now on they lead nowhere."""
    calls, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return calls, replies


def framed(frame: Callable[[int, Any], bytes], number: int, value: Any) -> bytes:
    try:
        return frame(number, value)
    except (RecursionError, ValueError, MemoryError) as error:
        return frame(number, {"raised": said(error)})


def loaded(before: str, program: str, names: dict[str, Any]) -> dict:
    try:
        for code in parts(before, program):
            exec(code, names)
    except (SyntaxError, ValueError) as error:
        here = isinstance(error, SyntaxError) and error.filename == NAME
        return {"broken" if here else "raised": said(error)}
    except BaseException as error:  # programs exit, too
        return {"raised": said(error)}
    return {"value": None}


def called(names: dict[str, Any], name: str, given: Any, named: Any) -> dict:
    """What the function gives, encoded, or what it raises."""
    from routejax.envs.code.values import decode, encode  # noqa: PLC0415

    try:
        function = found(names, name)
        value = function(*decode(given), **decode(named))
        return {"value": encode(value)}
    except BaseException as error:
        return {"raised": said(error)}


def found(names: dict[str, Any], name: str) -> Any:
    """The function of that name, or the method of a fresh `Solution`."""
    owner, _, method = name.rpartition(".")
    if name not in names and not owner and "Solution" in names:
        owner, method = "Solution", name
    try:
        return getattr(names[owner](), method) if owner else names[name]
    except KeyError:
        raise NameError(f"name {name!r} is not defined") from None


def said(error: BaseException) -> list[str]:
    try:
        return [type(error).__name__[:100], str(error)[:300]]
    except BaseException:
        return ["Exception", ""]
