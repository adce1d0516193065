"""Verifiers that do what verifiers must not, for a worker only; `ENVS` names them.

A response is "NUMBER rest"; the answer of those that give one is that number, so that a
verdict on another's response is seen.
"""

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from routejax.envs.judging import sandbox, wire
from routejax.envs.problem import Environment, Verdict


def answered(response, solved=True):
    return Verdict(solved, float(solved), response.split()[0], "answered")


def right(config, response):
    return answered(response, response.split()[0] == config["gold"])


def raises(config, response):
    raise RuntimeError("no such answer \ud800" + "x" * 10_000)


def nothing(config, response):
    return None


def other_type(config, response):
    return {"solved": True, "score": 1.0}


def not_a_number(config, response):
    return Verdict(True, float("nan"), None, "answered")


def huge_score(config, response):
    return Verdict(True, 10**400, None, "answered")


def half_characters(config, response):
    return Verdict(True, 1.0, response.split()[0] + " \ud800", "answered")


def shaped(config, response):
    return Verdict(0.7, 0.7, None, "answered")  # type: ignore[arg-type]


def other_status(config, response):
    return Verdict(True, 1.0, None, "no_answer")


def bytes_answer(config, response):
    return Verdict(True, 1.0, b"1", "answered")  # type: ignore[arg-type]


def floods(config, response):
    for _ in range(200):
        print("x" * 50_000)
        os.write(2, b"y" * 50_000)
    return answered(response)


def long_answer(config, response):
    return Verdict(True, 1.0, response.split()[0] + " " * 20_000_000, "answered")


def interrupts(config, response):
    raise KeyboardInterrupt


def exits(config, response):
    sys.exit(0)


def recurses(config, response):
    return recurses(config, response)


def allocates(config, response):
    return bytes(64 * 2**30)


def forks(config, response):
    while True:
        os.fork()


def dies(config, response):
    os._exit(3)


def aborts(config, response):
    os.abort()


def hangs(config, response):
    return re.fullmatch(r"(a+)+b", "a" * 60)  # in C code, with the lock of Python


def sleeps(config, response):
    time.sleep(1000)


def stops(config, response):
    os.kill(os.getpid(), 19)  # SIGSTOP: it neither reads nor writes nor ends


def _pipes():
    for number in range(3, 20):
        with contextlib.suppress(OSError):
            if "pipe" in str(Path(f"/proc/self/fd/{number}").readlink()):
                yield number


def babbles(config, response):
    for number in _pipes():
        with contextlib.suppress(OSError):
            os.write(number, b"\x05\x00\x00\x00\x01\x00\x00\x00[1,2]" * 1000)
    return answered(response)


def closes(config, response):
    os.closerange(0, 256)
    return answered(response)


def babbles_later(config, response):
    """A reply like its own first one, which the next call must not get."""
    pipes = list(_pipes())
    late = wire.frame(1, {"value": [True, 1.0, "forged", "answered"]})

    def write():
        time.sleep(0.05)
        for number in pipes:
            with contextlib.suppress(OSError):
                os.write(number, late)

    threading.Thread(target=write).start()
    return answered(response)


def writes(config, response):
    Path(config["path"]).write_text("x" * 2**21)
    return answered(response)


LOADED: list[str] = []


def loads():
    """Longer than a request may take."""
    time.sleep(2.0)
    LOADED.append("loaded")


def loads_never():
    time.sleep(1000)


def loads_badly():
    raise ImportError("no such package")


def large(config, response):
    return answered(response, LOADED == ["loaded"])


def without(config, response):
    raise ModuleNotFoundError("no such package; pip install it")


def _never(rng, difficulty):
    raise AssertionError("these draw no problems")


def _quickly(config, response):
    return answered(response) if response.endswith("quick") else None


def _slow_draw(rng, difficulty):
    """A tenth hangs, a tenth raises, a tenth is long, and few are different."""
    if rng.random() < 0.1:
        time.sleep(1000)
    if rng.random() < 0.1:
        raise ValueError("no problem of this difficulty")
    number = rng.randrange(60)
    length = 300 if rng.random() < 0.1 else 0
    return f"{difficulty}: {number}{'?' * length}", {"gold": str(number)}


_VERIFIERS = (
    *(right, raises, nothing, other_type, not_a_number, shaped, other_status),
    *(bytes_answer, floods, long_answer, interrupts, exits, recurses, allocates),
    *(forks, dies, aborts, hangs, sleeps, stops, babbles, babbles_later, closes),
    *(writes, huge_score, half_characters),
)
ENVS = {
    one.__name__: Environment(one.__name__, "bad", _never, one, isolated=True)
    for one in _VERIFIERS
}
ENVS["here"] = Environment("here", "good", _never, right)
ENVS["here_half"] = Environment("here_half", "bad", _never, half_characters)
ENVS["here_huge"] = Environment("here_huge", "bad", _never, huge_score)
ENVS["here_raises"] = Environment("here_raises", "bad", _never, raises)
ENVS["quick"] = Environment(
    "quick", "good", _never, right, isolated=True, quick=_quickly
)
for _name, _load, _judge in (
    ("large", loads, large),
    ("large_too", loads, large),
    ("larger", loads_never, large),
    ("without", loads_badly, without),
):
    ENVS[_name] = Environment(
        *(_name, "large", _never, _judge),
        isolated=True,
        modules=(f"{__name__}:{_load.__name__}",),
    )
ENVS["draws"] = Environment("draws", "slow", _slow_draw, right, isolated=True)
ENVS["draws_halves"] = Environment(
    "draws_halves",
    "bad",
    lambda rng, difficulty: (f"{rng.random()}{chr(0xD800) * rng.randrange(2)}", {}),
    right,
    isolated=True,
)
ENVS["programs"] = Environment(
    "programs", "good", _never, right, isolated=True, programs=True
)


def size_of(size):
    """Takes memory and writes to all of it."""
    return len(bytearray(size))


def nested(path):
    """Whether a process in a sandbox of this one sees a path, or processes."""
    code = f"import os; print(os.path.exists({path!r}), os.path.exists('/proc/1'))"
    line = sandbox.command([sys.executable, "-c", code], bwrap=sandbox.found())
    run = subprocess.run(line, capture_output=True, text=True, check=True)
    return run.stdout.split()


OTHERS = {"other": Environment("another", "bad", lambda *_: ("?", {}), right)}
