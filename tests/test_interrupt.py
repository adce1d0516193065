"""Signals: at once where nothing holds them, else when the step is saved."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from routejax import interrupt


@pytest.fixture
def installed(monkeypatch):
    """Handlers as in the program; signals that a test sends are forgotten after it."""
    before = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(interrupt._Signals, "came", None)
    interrupt.install()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_at_once_when_nothing_is_held(number, installed):
    with pytest.raises(interrupt.Interrupted, match=number.name):
        os.kill(os.getpid(), number)


def step(steps, error=None):
    """One step of a loop in which a signal comes."""
    with interrupt.held() as asked:
        assert not asked()
        os.kill(os.getpid(), signal.SIGTERM)
        steps.append("after the signal")
        assert asked()
        if error:
            raise error


def test_held_until_the_step_is_saved(installed):
    steps = []
    with pytest.raises(interrupt.Interrupted, match="SIGTERM"):
        step(steps)
    assert steps == ["after the signal"]


def test_an_error_of_the_step_comes_before_a_held_signal(installed):
    with pytest.raises(ZeroDivisionError):
        step([], ZeroDivisionError())


def test_nothing_happens_without_a_signal(installed):
    with interrupt.held() as asked:
        assert not asked()


def test_it_is_no_ordinary_exception():
    """Code that catches `Exception` cannot swallow a request to stop."""
    assert not issubclass(interrupt.Interrupted, Exception)


def test_the_exit_code_asks_for_another_try():
    code = (
        "import os, signal\n"
        "from routejax import interrupt\n"
        "interrupt.install()\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "except interrupt.Interrupted:\n"
        "    raise SystemExit(interrupt.EXIT_CODE)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == os.EX_TEMPFAIL == 75


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_entry_that_is_still_imported_ends_with_a_line(number):
    """Its libraries take seconds; until then there would be a traceback, or no word."""
    root = Path(__file__).parent.parent
    process = subprocess.Popen(
        [sys.executable, "-m", "routejax.fingerprint"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONVERBOSE": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    said = []
    with process:
        for line in process.stderr:
            said.append(line)
            if line.startswith("import 'absl"):  # the first of many libraries
                process.send_signal(number)
                break
        said += process.stderr.readlines()
    assert process.returncode == interrupt.EXIT_CODE
    assert interrupt.stopped(number.name) + "\n" in said
    assert not any("Traceback" in line for line in said)


def test_what_waits_for_a_step_is_told_at_once():
    """Also where the main thread is in code that no handler interrupts."""
    code = (
        "import hashlib, os, signal, threading\n"
        "from routejax import interrupt\n"
        "interrupt.install()\n"
        "interrupt.install()\n"
        "kill = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "with interrupt.held():\n"
        "    threading.Timer(0.2, kill).start()\n"
        "    hashlib.pbkdf2_hmac('sha256', b'', b'', 5_000_000)\n"
        "    os.write(2, b'finished\\n')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False
    )
    lines = ended.stderr.splitlines()
    assert lines[:2] == [interrupt.waits("SIGINT"), "finished"]
    assert lines[-1].endswith("Interrupted: SIGINT")


def test_a_library_is_imported_without_handlers():
    code = "import signal; b = signal.getsignal(2); import routejax; "
    code += "assert signal.getsignal(2) is b"
    subprocess.run([sys.executable, "-c", code], check=True)
