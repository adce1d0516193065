"""Responses made to hang, crash, fool or harm a judge, honest ones between them.

`answers` are of mathematics: power towers, megabytes, nested brackets, Python, null
bytes, surrogates. `mixed` has programs too: endless loops, forks, threads, floods,
memory, kills, files, the network. Every second response is honest and its verdict is
known to the letter, so that one that is lost or in another place is seen (`lost`).
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from routejax.envs.judging import Request
from routejax.envs.problem import Verdict

NAME = f"judged-{os.getpid()}"  # of files that are made by code that runs
FOLDERS = (
    *("/", "/tmp", "/usr", "/var/tmp", "/dev/shm", tempfile.gettempdir()),
    *(str(Path.home()), str(Path.cwd()), str(Path(__file__).parent)),
)
MARK = Path(tempfile.gettempdir()) / NAME
SHORT = {"test_s": 1.0, "total_s": 1.5, "memory_mb": 256}  # what an attack may take
LONG = {"test_s": 30.0, "total_s": 40.0, "memory_mb": 256}  # and an honest program


class Hostile(NamedTuple):
    """A request, and (solved, answer) of its verdict if it is an honest one."""

    request: Request
    wanted: tuple[bool, str] | None = None


def answers(count: int, seed: int = 0) -> list[Hostile]:
    """In mathematics; every second one is an honest integer, half of these right."""
    rng = random.Random(seed)
    return [_honest_answer(i) if i % 2 else _attack(rng) for i in range(count)]


def mixed(count: int, seed: int = 0, *, programs: float = 0.2) -> list[Hostile]:
    """The same with a share of programs among attacks, half of it among others."""
    rng = random.Random(seed)
    found = []
    for i in range(count):
        honest, drawn = i % 2, rng.random()
        if drawn < (programs / 2 if honest else programs):
            found.append(_honest_program(rng, i) if honest else _program(rng))
        else:
            found.append(_honest_answer(i) if honest else _attack(rng))
    return found


def lost(found: Sequence[Hostile], verdicts: Sequence[Verdict]) -> list[int]:
    """Places where a verdict is not that of the response there."""
    return [
        i
        for i, (one, verdict) in enumerate(zip(found, verdicts, strict=True))
        if one.wanted and one.wanted != (verdict.solved, verdict.answer)
    ]


def written() -> list[str]:
    """Files that code of a response has made."""
    return [folder for folder in FOLDERS if (Path(folder) / NAME).exists()]


def is_program(one: Hostile) -> bool:
    return one.request.env == "code"


def _boxed(text: str) -> str:
    return f"\\boxed{{{text}}}"


def _honest_answer(i: int) -> Hostile:
    right = i % 4 == 1
    request = Request("math", {"gold": str(i + (not right))}, f"so {_boxed(str(i))}")
    return Hostile(request, (right, str(i)))


def _attack(rng: random.Random) -> Hostile:
    made = rng.choice(_ATTACKS)(rng)
    return Hostile(Request("math", {"gold": rng.choice(_TARGETS)}, made))


def _honest_program(rng: random.Random, i: int) -> Hostile:
    right = rng.random() < 0.5
    gave = f"0 of 1 tests passed; test 1: wrong answer: gave {i}"
    request = program(f"def f(): return {i}", i if right else -1, LONG)
    return Hostile(request, (right, "1 of 1 tests passed" if right else gave))


def program(
    text: str, value: object, limits: dict, *, printed: bool = False
) -> Request:
    """A program whose `f()` must give a value, or that must print it."""
    tests = {"inputs": [[]], "outputs": [value], "fn_name": "f"}
    kind = "code_functions"
    if printed:
        kind, tests = "code_stdio", {"inputs": [""], "outputs": [f"{value}\n"]}
    config = {"kind": kind, "tests": tests, "limits": limits}
    return Request("code", config, f"So:\n```python\n{text}\n```")


def _program(rng: random.Random) -> Hostile:
    text = f"{rng.choice(_PROGRAMS)}\nf = lambda: 'PASSED'\nprint('PASSED')"
    secret, printed = f"{rng.getrandbits(128):x}", rng.random() < 0.5
    return Hostile(program(text, secret, SHORT, printed=printed))


_PROGRAMS = (
    "while True: pass",
    "9 ** 9 ** 9 ** 9",
    "import re\nre.fullmatch('(a+)+b', 'a' * 60)",
    "import os\nwhile True: os.fork()",
    "import os\nwhile True: os.spawnlp(os.P_NOWAIT, 'sh', 'sh', '-c', 'sleep 99')",
    """
import subprocess, sys
while True: subprocess.Popen([sys.executable, '-c', 'while True: pass'])
""",
    """
import threading, time
while True: threading.Thread(target=time.sleep, args=(99,)).start()
""",
    "while True: print('x' * 100_000)",
    "import sys\nwhile True: sys.stderr.write('x' * 100_000)",
    "found = [0]\nwhile True: found = found * 2",
    "found = bytearray(2 ** 40)",
    "import sys\nsys.setrecursionlimit(10 ** 9)\ng = lambda: g()\ng()",
    "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "import os\nos._exit(0)",
    "import socket\nsocket.create_connection(('127.0.0.1', 22), 5)",
    f"""
import os
for folder in {FOLDERS!r}:
    try:
        with open(os.path.join(folder, {NAME!r}), 'w') as file: file.write('x')
    except OSError:
        pass
""",
    f"import os\nos.system('touch {MARK}')",
    "f = lambda: (",
)


def _nested(rng: random.Random) -> str:
    opens, closes = rng.choice(
        ("()", "[]", "{}", ("\\sqrt{", "}"), ("\\frac{1}{", "}"))
    )
    depth = rng.choice((30, 300, 3000))
    return _boxed(opens * depth + "x" + closes * depth)


def _tower(rng: random.Random) -> str:
    base, height = rng.randint(2, 10**4), rng.randint(2, 60)
    close = rng.choice(("", "!"))
    return _boxed(f"{base}" + f"^{{{base}" * height + "}" * height + close)


def _sums(rng: random.Random) -> str:
    term = rng.choice(
        ("x+", "(x+y+1)^{24}*", "9^{9999}x+", "\\sqrt{99991}+", "1/99991+")
    )
    return _boxed(term * rng.choice((20, 60, 2000)) + "1")


def _bytes(rng: random.Random) -> str:
    odd = rng.choice(("\x00", "\ud800", "٣", "７", "\u202e", "\\", '"', "\U0001d7d8"))
    where = rng.choice((odd * 300, odd, odd + "5" + odd))
    return rng.choice((_boxed(where), where + _boxed("5"), _boxed("5") + where))


def _megabyte(rng: random.Random) -> str:
    piece = rng.choice(("x", "{", "}", "\\boxed{", "1", " ", "<think>", "answer is "))
    text = piece * (10**6 // len(piece))
    return rng.choice((text, _boxed(text), text + _boxed("5")))


def _python(rng: random.Random) -> str:
    code = rng.choice(
        (
            f"__import__('os').system('touch {MARK}')",
            "().__class__.__base__.__subclasses__()",
            "eval('9**9**9')",
            f"open('{MARK}','w')",
            "[x for x in iter(int, 1)]",
        )
    )
    return _boxed(code)


def _repeated(rng: random.Random) -> str:
    piece = rng.choice(
        ("-", "^2", "!", "\\pm 1", "=x", ",1", "|", "\\cup(0,1)", "'", "&")
    )
    return _boxed("x" + piece * rng.choice((5, 90, 400)))


def _functions(rng: random.Random) -> str:
    name = rng.choice(("\\sin", "\\ln", "\\exp", "\\tan"))
    depth = rng.choice((2, 3, 12, 200))
    return _boxed(f"{name}(" * depth + "x" + ")" * depth)


_ATTACKS = (
    *(_nested, _tower, _sums, _bytes, _python, _repeated, _tower, _sums, _bytes),
    *(_nested, _python, _repeated, _nested, _sums, _repeated, _functions, _megabyte),
)
_TARGETS = (
    "5",
    "x^2+1",
    "(1,2)",
    "1,2,3",
    "[0,1)",
    "x=5",
    "\\frac{1}{3}",
    "\\text{no}",
)
