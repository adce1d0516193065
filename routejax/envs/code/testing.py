"""What became of the tests of a program, one result for each, in their order.

Tests of three forms: inputs and outputs of the whole program; calls of a function with
the values it must give; tests written in Python. Expected outputs and values stay in
this process, and tests in Python run in one of their own: the program's process knows
its input or its arguments, and nothing else.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from routejax.envs.code import outputs
from routejax.envs.code.running import Died, Limits, Session, TimeOut, run
from routejax.envs.code.values import decode, encode
from routejax.envs.judging.sandbox import Bwrap

PASSED, WRONG, RAISED, LATE = "passed", "wrong answer", "runtime error", "timeout"
# All outcomes there are; only the first is right.
OUTCOMES = (
    *(PASSED, WRONG, RAISED, LATE),
    *("syntax error", "memory limit", "output limit", "died", "not run"),
)
# What a process replies, as an outcome; a test of other replies cannot be used.
_REPLIES = {
    "passed": PASSED,
    "failed": WRONG,
    "raised": RAISED,
    "broken": "syntax error",
}


class Result(NamedTuple):
    """One of `OUTCOMES`, and what is known about it."""

    outcome: str
    detail: str = ""


class Unusable(ValueError):
    """A test that no program can pass or fail."""


@dataclass(frozen=True)
class Suite:
    """The tests of one question.

    Attributes:
        kind: "stdio", "calls" or "python".
        items: (input, output), (arguments, value), or a text with assertions.
        name: of the function that is called; a method as "Solution.name".
        before: Python that stands before the program, such as the question's imports.
        setup: Python that tests in Python need.
        way, tolerance: how outputs and values compare (`outputs`).
    """

    kind: str
    items: Sequence[Any]
    name: str = ""
    before: str = ""
    setup: str = ""
    way: str = "lines"
    tolerance: float | None = None


def results(
    tests: Suite, program: str, *, allowed: Limits, bwrap: Bwrap | None
) -> list[Result]:
    """One result for each test.

    `bwrap` is the sandbox of the program (`sandbox.found`); None runs it under limits
    alone, which is no security boundary. Raises `Unusable` for tests that are none.
    """
    end = time.monotonic() + allowed.total_s
    found: list[Result] = []
    with contextlib.ExitStack() as stack:
        once = _KINDS[tests.kind](tests, Way(program, allowed, bwrap), stack)
        for item in tests.items:
            left = end - time.monotonic()
            until = time.monotonic() + min(left, allowed.test_s)
            late = Result("not run", "no time is left")
            found.append(once(item, until) if left > 0 else late)
    return found


class Way(NamedTuple):
    """A program, and how it is run."""

    program: str
    allowed: Limits
    bwrap: Bwrap | None


Once = Callable[[Any, float], Result]


def _stdio(tests: Suite, way: Way, stack: contextlib.ExitStack) -> Once:
    """Each input goes to a process of its own."""

    def once(item: Any, end: float) -> Result:
        given, expected = item
        ran = run(way.program, given, way.allowed, end, way.bwrap)
        if ran.wrong:
            return Result(ran.wrong, ran.detail)
        text = ran.output.decode("utf-8", "replace")
        same = outputs.same_text(
            text, expected, way=tests.way, tolerance=tests.tolerance
        )
        return Result(PASSED) if same else Result(WRONG, f"printed {text[:200]!r}")

    return once


def _calls(tests: Suite, way: Way, stack: contextlib.ExitStack) -> Once:
    """The program is loaded once, and again behind a call that it did not survive."""
    sessions = _Sessions(way, stack)

    def once(item: Any, end: float) -> Result:
        arguments, expected = item
        program = sessions.get("serve", tests.before, way.program, end)
        if _outcome(program.first) != "value":
            return _result(program.first)
        reply = program.ask([tests.name, encode(arguments), encode({})], end)
        if _outcome(reply) != "value":
            return _result(reply)
        value = decode(reply["value"])
        same = outputs.same_value(value, expected, tolerance=tests.tolerance)
        return Result(PASSED) if same else Result(WRONG, f"gave {value!r}"[:200])

    return sessions.guarded(once)


def _python(tests: Suite, way: Way, stack: contextlib.ExitStack) -> Once:
    """Suite in one process, the program in another; what one asks is passed on."""
    sessions = _Sessions(way, stack)

    def once(item: Any, end: float) -> Result:
        program = sessions.get("serve", tests.before, way.program, end)
        if _outcome(program.first) != "value":
            return _result(program.first)
        checker = sessions.get("check", tests.setup, "", end)
        if _outcome(checker.first) != "passed":
            raise Unusable(f"the tests' setup fails: {checker.first}")
        reply = checker.ask(item, end)
        while _outcome(reply) == "call":
            answer = program.ask(reply["call"], end)
            if _outcome(answer) not in ("value", "raised"):
                raise Died("it sent what is no answer")
            reply = checker.ask(answer, end)
        return _result(reply)

    return sessions.guarded(once)


class _Sessions:
    """Processes that are started when they are needed, and ended at the end."""

    def __init__(self, way: Way, stack: contextlib.ExitStack):
        self._way, self._open = way, {}
        stack.callback(self.close)

    def get(self, mode: str, before: str, program: str, end: float) -> Session:
        if mode not in self._open:
            allowed, bwrap = self._way.allowed, self._way.bwrap
            self._open[mode] = Session(mode, before, program, allowed, end, bwrap)
        return self._open[mode]

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def guarded(self, once: Once) -> Once:
        """The same; where a process is late or has died, all are ended."""

        def safe(item: Any, end: float) -> Result:
            try:
                return once(item, end)
            except TimeOut:
                self.close()
                return Result(LATE)
            except Died as error:
                self.close()
                return Result("died", str(error))
            except Unusable:
                raise
            except ValueError as error:  # a value that is none
                self.close()
                return Result(WRONG, str(error))

        return safe


def _outcome(reply: dict[str, Any]) -> str:
    return next(iter(reply))


def _result(reply: dict[str, Any]) -> Result:
    """What a reply means, with its detail as text."""
    kind = _outcome(reply)
    said = reply[kind] if isinstance(reply[kind], list) else []
    detail = ": ".join(str(part) for part in said if part)[:300]
    if kind not in _REPLIES:
        raise Unusable(f"a test cannot be used: {kind}: {detail}")
    memory = kind == "raised" and said[:1] == ["MemoryError"]
    return Result("memory limit" if memory else _REPLIES[kind], detail)


_KINDS: dict[str, Callable[[Suite, Way, contextlib.ExitStack], Once]] = {
    "stdio": _stdio,
    "calls": _calls,
    "python": _python,
}
