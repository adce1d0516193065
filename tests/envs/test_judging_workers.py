"""Workers: nothing outlives the pool or its process, limits hold, starts that fail."""

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from routejax.envs.judging import Call, Setting, Workers, ask, asking, limits, sandbox
from routejax.envs.judging import workers as module
from routejax.errors import UserError

BWRAP = [None, *filter(None, [sandbox.found()])]
WAYS = pytest.mark.parametrize("bwrap", BWRAP, ids=lambda b: "bwrap" if b else "none")


def marked(token):
    """Processes that have the token in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if token.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def zombies():
    """Own children that have ended and are not waited for."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state == "Z":
            found.append(path.parent.name)
    return found


def gone(token, within_s=10.0):
    until = time.monotonic() + within_s
    while (left := marked(token)) and time.monotonic() < until:
        time.sleep(0.05)
    return not left


@contextmanager
def largest(token):
    """Collects in a list the peak bytes of each process with the token in its start."""
    found, over = [0], threading.Event()

    def look():
        while not over.wait(0.05):
            for pid in marked(token):
                with suppress(OSError, StopIteration):  # it has ended
                    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                    peak = next(line for line in lines if line.startswith("VmHWM"))
                    found.append(int(peak.split()[1]) * 1024)

    with ThreadPoolExecutor(1) as thread:
        looking = thread.submit(look)
        try:
            yield found
        finally:
            over.set()
            looking.result()


@WAYS
def test_closing_ends_all_at_once_even_busy_ones(bwrap):
    token = uuid.uuid4().hex
    setting = Setting(bwrap=bwrap, environment={"TOKEN": token})
    with Workers(2, setting) as workers:
        batch = workers.submit([Call("os:getpid", [], 10)] * 4)
        batch.result()
        assert marked(token)
        late = workers.submit([Call("time:sleep", [1000], 500)] * 3)
        time.sleep(0.2)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert gone(token, 1.0)
    assert not zombies()
    with pytest.raises(UserError, match="closed before it was done"):
        late.result()
    with pytest.raises(UserError, match="is closed"):
        workers.submit([])


PARENT = """
import sys, time
from routejax.envs.judging import Call, Setting, Workers, sandbox
bwrap = sandbox.found() if sys.argv[2] == "bwrap" else None
workers = Workers(2, Setting(bwrap=bwrap, environment={"TOKEN": sys.argv[1]}))
workers.submit([Call("os:getpid", [], 60)] * 2).result()
pattern = ["(a+)+b", "a" * 60]
workers.submit([Call("re:fullmatch", pattern, 600), Call("time:sleep", [600], 600)])
time.sleep(0.5)
print("ready", flush=True)
time.sleep(600)
"""


@WAYS
def test_nothing_outlives_a_parent_that_is_killed(bwrap):
    """One worker hangs in C code, one sleeps; neither reads its pipe."""
    token = uuid.uuid4().hex
    way = "bwrap" if bwrap else "none"
    # The token is not in the parent's own environment but in its arguments.
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, token, way], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout.readline() == "ready\n"
        assert len(marked(token)) >= 2
        parent.send_signal(signal.SIGKILL)
    assert gone(token)


def test_a_late_worker_is_killed_with_all_it_has_started():
    token = uuid.uuid4().hex
    setting = Setting(processes=8, environment={"TOKEN": token})
    child = [sys.executable, "-c", "import time; time.sleep(600)"]
    with Workers(1, setting) as workers:
        (late,) = workers.submit([Call("subprocess:call", [child], 1.5)]).result()
        assert late == ("timeout", None, "no reply in 1.5 s")
        assert gone(token)
        assert workers.submit([Call("os:getpid", [], 10)]).result()[0].status == "ok"


def test_memory_is_bounded_beyond_what_a_worker_starts_with():
    with Workers(1, Setting(memory_mb=300)) as workers:
        small = Call("bad_verifiers:size_of", [2**27], 20)
        large = Call("bad_verifiers:size_of", [2**29], 20)
        found = workers.submit([small, large, small]).result()
    assert [o.status for o in found] == ["ok", "error", "ok"]
    assert found[1].detail.startswith("MemoryError")


def test_a_worker_is_replaced_after_many_calls(monkeypatch):
    monkeypatch.setattr(module, "RECYCLED", 3)
    with Workers(1, Setting()) as workers:
        calls = [Call("os:getpid", [], 10)] * 7
        pids = [outcome.value for outcome in workers.submit(calls).result()]
    assert pids == [pids[0]] * 3 + [pids[3]] * 3 + [pids[6]]
    assert len(set(pids)) == 3


def test_a_worker_that_is_killed_from_outside_is_not_the_fault_of_the_call():
    with Workers(1, Setting()) as workers:
        (first,) = workers.submit([Call("os:getpid", [], 10)]).result()
        batch = workers.submit([Call("time:sleep", [0.6], 10)])
        time.sleep(0.2)
        os.kill(first.value, signal.SIGKILL)
        assert batch.result()[0].status == "ok"
        assert workers.started == 2


def test_workers_that_cannot_start_are_told_with_what_they_said():
    setting = Setting(modules=("routejax.no_such_module",))
    with Workers(1, setting) as workers:
        batch = workers.submit([Call("os:getpid", [], 10)] * 100)
        with pytest.raises(UserError, match="no worker can be started") as told:
            batch.result()
        assert "No module named 'routejax.no_such_module'" in str(told.value)


def test_replies_are_bounded():
    with Workers(1, Setting()) as workers:
        calls = [
            Call("operator:mul", ["x", 2**20], 20),
            Call("operator:mul", ["x", 2**24], 20),
            Call("builtins:complex", [1, 2], 20),
            Call("builtins:float", ["nan"], 20),
        ]
        ok, long, no_json, nan = workers.submit(calls).result()
    assert len(ok.value) == 2**20
    assert long.detail == "ValueError: the reply has 16777237 bytes"
    assert no_json.detail.startswith("TypeError: Object of type complex")
    assert nan.status == "error"


def test_many_threads_may_submit():
    with Workers(2, Setting()) as workers:
        found = {}

        def of_one(first):
            calls = [Call("operator:add", [first, n], 20) for n in range(50)]
            found[first] = [o.value for o in workers.submit(calls).result()]

        threads = [threading.Thread(target=of_one, args=(1000 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {1000 * n: [1000 * n + k for k in range(50)] for n in range(4)}


def test_a_filter_leaves_threads_and_nothing_else():
    """In a process of its own: it holds for good."""
    code = (
        "import os, subprocess, threading\n"
        "from routejax.envs.judging import limits\n"
        "assert limits.forbid_processes()\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
        "for f in (os.fork, lambda: subprocess.run(['true']), "
        "lambda: os.posix_spawn('/bin/true', ['true'], {})):\n"
        "    try: f()\n"
        "    except PermissionError: print('refused')\n"
    )
    if os.uname().machine not in limits._CALLS:
        pytest.skip("no filter for this machine")
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["thread", "refused", "refused", "refused"]


def test_asking_starts_one_worker_and_inside_none(monkeypatch):
    try:
        pids = [ask("os:getpid", [], timeout_s=20).value for _ in range(3)]
        assert len(set(pids)) == 1
        assert pids[0] != os.getpid()
        monkeypatch.setattr(asking, "_INSIDE", [True])
        assert ask("os:getpid", [], timeout_s=20).value == os.getpid()
    finally:
        asking.close()


@pytest.mark.skipif(sandbox.found() is None, reason="bubblewrap does not work here")
def test_a_sandbox_within_a_sandbox(tmp_path):
    """For programs: each in one of its own, without /proc."""
    nested = Call("bad_verifiers:nested", [str(tmp_path)], 60)
    setting = Setting(bwrap=sandbox.found(), processes=16)
    with Workers(1, setting) as workers:
        (found,) = workers.submit([nested]).result()
        assert found.status == "error"  # this folder is not named as readable
    here = (str(Path(__file__).parent),)
    setting = Setting(bwrap=sandbox.found(), processes=16, readable=here)
    with Workers(1, setting) as workers:
        (found,) = workers.submit([nested]).result()
    assert found.status == "ok", found
    assert found.value == ["False", "False"]


@WAYS
def test_a_checkout_that_a_variable_names_is_seen(bwrap, tmp_path, monkeypatch):
    (tmp_path / "Gym").mkdir()
    monkeypatch.setenv("RLVE_PATH", str(tmp_path))
    with Workers(1, Setting(bwrap=bwrap)) as workers:
        calls = [Call("os:getenv", ["RLVE_PATH"], 20)]
        calls.append(Call("os.path:isdir", [str(tmp_path / "Gym")], 20))
        found = [outcome.value for outcome in workers.submit(calls).result()]
    assert found == [str(tmp_path), True]
