"""The process that runs tests written in Python; the program is in another one.

A function of the program is here a function that asks for it: arguments go out and a
plain value comes back, so that nothing here was written by the program. It is asked
what `relay` tells: a setup, then tests, one after the other.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any, BinaryIO

from routejax.envs.code import inside
from routejax.envs.code.values import decode, encode
from routejax.envs.judging import wire


class Line:
    """Frames with the process that relays: one comes in for each that goes out."""

    def __init__(self, calls: BinaryIO, replies: BinaryIO):
        self._calls, self._replies, self._number = calls, replies, 0

    def ask(self, value: Any) -> Any:
        """Sends the value and gives what comes next; ends where nothing does."""
        self._replies.write(inside.framed(wire.frame, self._number, value))
        self._replies.flush()
        header = self._calls.read(wire.HEADER.size)
        if len(header) < wire.HEADER.size:
            raise SystemExit
        length, self._number = wire.HEADER.unpack(header)
        return wire.value_of(self._calls.read(length))


def serve(before: str, _: str) -> None:
    """Runs `before`, then each test that comes, and tells what came of it."""
    line = Line(*inside.own_pipes())
    names: dict[str, Any] = {"__name__": "__tests__"}
    outcome: Any = _done(lambda: exec(before, names))
    while True:
        test = line.ask(outcome)
        try:
            code = compile(test, "<test>", "exec", dont_inherit=True)
            unknown = _unknown(test, names)
        except (SyntaxError, ValueError) as error:
            outcome = {"unusable": inside.said(error)}
            continue
        for name in unknown:
            names[name] = _far(line, name)
        outcome = _done(lambda code=code: exec(code, names))


def _unknown(test: str, names: dict[str, Any]) -> list[str]:
    """Names that the test reads and that neither it nor anything else defines."""
    nodes = list(ast.walk(ast.parse(test)))
    read = [n.id for n in nodes if isinstance(n, ast.Name)]
    made = {n.id for n in nodes if isinstance(n, ast.Name) and _writes(n)}
    made |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    made |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    made |= {
        (a.asname or a.name).split(".")[0]
        for n in nodes
        if isinstance(n, ast.Import | ast.ImportFrom)
        for a in n.names
    }
    made |= {n.name for n in nodes if isinstance(n, ast.ExceptHandler) and n.name}
    return [n for n in read if n not in made | set(names) and not hasattr(builtins, n)]


def _writes(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _far(line: Line, name: str) -> Callable[..., Any]:
    """The function of that name, in the other process."""

    def function(*given: Any, **named: Any) -> Any:
        reply = line.ask({"call": [name, encode(list(given)), encode(named)]})
        if "raised" in reply:
            kind, text = reply["raised"]
            raise _error(kind)(text)
        return decode(reply["value"])

    return function


def _error(name: str) -> type[Exception]:
    """The built-in error of that name, so that tests may expect it."""
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return RuntimeError
    # The program's assertions are no tests; the others want more than a text.
    special = issubclass(kind, AssertionError | UnicodeError | StopIteration)
    return RuntimeError if special else kind


def _done(act: Callable[[], Any]) -> dict:
    try:
        act()
    except AssertionError as error:
        return {"failed": inside.said(error)}
    except Exception as error:
        return {"raised": inside.said(error)}
    return {"passed": None}
