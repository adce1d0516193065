"""Programs that want to be taken as solved, or to harm: none is, and nothing is."""

import dataclasses
import json
import os
import time
import uuid
from pathlib import Path

import pytest
from test_judging_workers import gone, largest, zombies

from routejax.envs import ENVS
from routejax.envs.benchmarks import read_questions
from routejax.envs.code import Limits, Suite, config_of, results
from routejax.envs.judging import Judges, Request, sandbox
from routejax.errors import UserError

BWRAP = sandbox.found()
BOXED = pytest.mark.skipif(BWRAP is None, reason="bubblewrap does not work here")
ALLOWED = Limits(test_s=1.5, total_s=10, memory_mb=256)
ROOMY = Limits(test_s=30, total_s=60)
SECRET = uuid.uuid4().hex

# Each program defines `f`, which must give the secret, and prints, which must be it.
CHEATS = {
    "says so": "print('PASSED\\n1 of 1 tests passed')\nf = lambda: 'PASSED'",
    "equals all": """
class All(str):
    __eq__ = __ge__ = __le__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = str.__hash__
f = All
""",
    "equals all, no text": """
class All:
    __eq__ = lambda self, other: True
    __hash__ = None
f = All
""",
    "new builtins": """
import builtins, sys, os
sys.exit = os._exit = exit = lambda *a: None
builtins.AssertionError = KeyError
builtins.isinstance = builtins.all = builtins.any = lambda *a: True
builtins.len = builtins.abs = lambda a: 0
f = lambda: ''
""",
    "ends well": "import os\nf = lambda: os._exit(0)\nif __name__ == 'x': os._exit(0)",
    "exits": "import sys\nf = lambda: sys.exit(0)",
    "raises": "def f(): raise AssertionError",
    "looks around": """
import gc, os, re, sys
seen = [str(sys.argv), str(dict(os.environ))]
for one in gc.get_objects():
    values = one.values() if type(one) is dict else one
    if type(one) in (dict, list, tuple):
        seen += [value for value in values if type(value) is str]
frame = sys._getframe()
while frame:
    seen.append(str(frame.f_globals) + str(frame.f_locals))
    frame = frame.f_back
assert not os.path.exists('/proc')
for top in ('/tmp', '/srv', '/root', '/home', '/dev/shm', '/run'):
    for folder, _, names in os.walk(top):
        if 'site-packages' in folder or 'lib/python' in folder:
            continue
        for name in names[:50]:
            try:
                with open(folder + '/' + name, errors='replace') as file:
                    seen.append(file.read(20_000))
            except OSError:
                pass
found = re.search('secret=([0-9a-f]{32})', ' '.join(seen))
f = lambda: found[1] if found else 'nothing'
print(f())
""",
    "answers before it is asked": """
import os, json, struct
for said in ({'value': None}, {'passed': None}, {'value': 'PASSED'}):
    body = json.dumps(said).encode()
    for number in (0, 1, 2):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, struct.pack('<II', len(body), number) + body)
            except OSError:
                pass
f = lambda: 'PASSED'
""",
    "writes a verdict": """
import os, json, struct
body = json.dumps({'value': [True, 1.0, 'x', 'answered']}).encode()
for pid in os.listdir('/proc') if os.path.exists('/proc') else []:
    for number in range(3, 64):
        try:
            with open(f'/proc/{pid}/fd/{number}', 'wb') as pipe:
                pipe.write(struct.pack('<II', len(body), 1) + body)
        except OSError:
            pass
f = lambda: ''
""",
    "kills": """
import os, signal
for pid in [os.getppid(), *range(2, 3000)]:
    try:
        if pid != os.getpid():
            os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
f = lambda: ''
""",
    "kills all": "import os, signal\nf = lambda: os.kill(-1, signal.SIGKILL)\nf()",
    "forks": "import os\nwhile True: os.fork()",
    "threads": """
import threading, time
threading.stack_size(32768)
while True: threading.Thread(target=time.sleep, args=(99,)).start()
""",
    "ignores signals": """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
""",
    "floods": """
import sys
def f():
    while True: sys.stderr.write('x' * 100_000)
f()
""",
    "takes memory": "f = lambda: [0] * 10**9\nf()",
    "long value": "def f(): return 'x' * 20_000_000",
    "deep value": """
def f():
    found = []
    for _ in range(100_000): found = [found]
    return found
""",
    "no value": "import sys\ndef f():\n    return sys.stdin, object, f",
    "overflows": """
import sys
sys.setrecursionlimit(10**9)
def f(): return f()
f()
""",
    "raises its limits": """
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU):
    try: resource.setrlimit(kind, (2**50, 2**50))
    except (OSError, ValueError): pass
f = lambda: len('x' * 10**9)
f()
""",
    "pretends to be broken": "import os\nos._exit(96)",
    "asks the network": """
import socket
f = lambda: socket.create_connection(('127.0.0.1', 1), 2)
f()
""",
}
WRITES = """
import os
for folder in {folders}:
    for name in ('MARK', '../MARK'):
        try:
            with open(os.path.join(folder, 'MARK'), 'w') as file: file.write('x')
        except OSError:
            pass
f = lambda: ''
"""
SUITES = {
    "stdio": Suite("stdio", [("", f"secret={SECRET}"[7:])]),
    "calls": Suite("calls", [([], SECRET)], "f"),
    "python": Suite("python", [f"secret={SECRET!r}\nassert f() == secret"]),
}


@BOXED
@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_is_solved(name):
    began = time.monotonic()
    for suite in SUITES.values():
        found = results(suite, CHEATS[name], allowed=ALLOWED, bwrap=BWRAP)
        assert [r.outcome for r in found] != ["passed"]
        assert len(found) == 1
    assert time.monotonic() - began < 40
    assert not zombies()


def test_who_knows_the_secret_is_solved():
    text = f"def f(): return {SECRET!r}\nprint(f())"
    for suite in SUITES.values():
        found = results(suite, text, allowed=ROOMY, bwrap=BWRAP)
        assert [r.outcome for r in found] == ["passed"]


@BOXED
def test_a_cheat_finds_a_secret_that_lies_about():
    """So the cheats above do look for it."""
    near = dataclasses.replace(SUITES["calls"], before=f"x = 'secret={SECRET}'")
    found = results(near, CHEATS["looks around"], allowed=ROOMY, bwrap=BWRAP)
    assert [r.outcome for r in found] == ["passed"]


@BOXED
def test_no_file_is_written_outside(tmp_path):
    mark = uuid.uuid4().hex
    here = Path(__file__).parent
    folders = ["/", "/tmp", "/usr", "/dev/shm", "/var/tmp", str(tmp_path), str(here)]
    folders += [str(Path.home()), str(Path.cwd())]
    text = WRITES.format(folders=folders).replace("MARK", mark)
    results(SUITES["calls"], text, allowed=ALLOWED, bwrap=BWRAP)
    assert not [f for f in folders if (Path(f) / mark).exists()]


def response(text):
    return f"<think> Easily. </think> So:\n```python\n{text}\n```"


def asked(suite, text, name, seconds=20.0):
    config = {"kind": "code_functions", "tests": list(suite)}
    config["limits"] = {"test_s": seconds, "total_s": seconds, "memory_mb": 256}
    return Request("code", config, response(text), name)


@BOXED
@pytest.mark.slow
def test_verdicts_in_order_with_nothing_left():
    token = uuid.uuid4().hex
    requests, right = [], []
    for n, text in enumerate(CHEATS.values()):
        requests.append(asked([f"assert f() == {n}"], f"def f(): return {n}", f"{n}"))
        requests.append(asked([f"assert f() == {SECRET!r}"], text, f"cheat {n}", 1.0))
        right += [True, False]
    with (
        largest(token) as peaks,
        Judges(workers=2, timeout_s=30, environment={"TOKEN": token}) as pool,
    ):
        verdicts = pool.judge(requests)
        stats = pool.stats()
    assert [v.solved for v in verdicts] == right
    assert {v.status for v in verdicts} <= {"answered", "unparsed"}
    assert not stats["errors"]
    assert not stats["timeouts"]
    assert gone(token)
    assert not zombies()
    assert 0 < max(peaks) < 1e9


def test_without_a_sandbox_only_by_the_flag():
    one = asked(["assert f() == 1"], "def f(): return 1", "id")
    with (
        Judges(workers=1, sandbox="none") as pool,
        pytest.raises(UserError, match="no security boundary"),
    ):
        pool.judge([one])
    with Judges(workers=1, sandbox="none", unsafe_code=True, timeout_s=60) as pool:
        verdicts = pool.judge([one, one._replace(response="no program")])
        assert [v.solved for v in verdicts] == [True, False]
        assert [v.status for v in verdicts] == ["answered", "no_answer"]
        broken = one._replace(config={"kind": "code_functions", "tests": ["assert ("]})
        assert pool.judge([broken])[0].status == "error"
        assert pool.stats()["errors"]["code"]["ids"] == ["id"]
    assert ENVS["code"].programs


HUMANEVAL = Path(__file__).parents[3] / "shared/data/benchmarks/humaneval.jsonl"


@BOXED
@pytest.mark.slow
@pytest.mark.skipif(not HUMANEVAL.exists(), reason="no file of HumanEval here")
def test_canonical_solutions_pass_and_empty_ones_fail():
    questions = read_questions(HUMANEVAL, "humaneval").questions
    rows = [json.loads(line) for line in HUMANEVAL.read_text().splitlines()]
    assert len(questions) == 164
    limits = {"limits": {"test_s": 30.0, "total_s": 40.0}}
    requests = [
        Request(
            "code",
            config_of("humaneval", question.prompt, question.meta) | limits,
            response(row["problem"] + body),
            question.id,
        )
        for question, row in zip(questions, rows, strict=True)
        for body in (row["answer"], "    pass\n")
    ]
    with Judges(workers=os.cpu_count() or 1, timeout_s=60) as pool:
        verdicts = pool.judge(requests)
    assert [r.id for r, v in zip(requests, verdicts, strict=True) if v.solved] == [
        question.id for question in questions
    ]
    assert [v.solved for v in verdicts] == [True, False] * 164
