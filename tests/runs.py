"""The program as a user starts it, and one finished smoke run that tests share.

Every start is a process of its own: flags, signals, locks and exit codes are real.
Compiled programs of the first run serve the others, which is also what a restart does.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
SMOKE = "--config=configs/rlve.py:smoke"
WAIT_S = 400.0  # far more than any run needs; a hang must not hang the suite

# Starts a command and writes what it took. A small process of its own, because the peak
# of a process counts what its parent held when it was started.
_MEASURE = """
import json, pathlib, resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
took = {"cpu_s": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024}
pathlib.Path(sys.argv[1]).write_text(json.dumps(took))
sys.exit(status)
"""

# Removed when the interpreter ends.
_SCRATCH = tempfile.TemporaryDirectory(prefix="routejax-tests-")


class Ended(NamedTuple):
    """How a run ended, and what it printed."""

    status: int
    out: str
    err: str


def start(
    workdir: Path, *flags: str, took: Path | None = None
) -> subprocess.Popen[str]:
    """A running process of the main job, which may be measured into a file."""
    job = ["-m", "routejax.train", SMOKE, f"--workdir={workdir}", *flags]
    measured = ["-c", _MEASURE, str(took), sys.executable] if took else []
    return subprocess.Popen(
        [sys.executable, *measured, *job],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> Ended:
    """Waits for the process."""
    out, err = process.communicate(timeout=WAIT_S)
    return Ended(process.returncode, out, err)


def run(workdir: Path, *flags: str) -> Ended:
    """The main job from start to end."""
    return end(start(workdir, *flags))


class Finished(NamedTuple):
    """A whole run, and what it took."""

    root: Path
    ended: Ended
    wall_s: float
    cpu_s: float
    peak_bytes: int


@functools.cache
def finished() -> Finished:
    """A smoke run that nothing interrupted; tests read it and never write to it."""
    root = scratch("finished")
    took = root.parent / "took.json"
    began = time.monotonic()
    ended = end(start(root, took=took))
    assert ended.status == 0, ended.err
    wall_s = time.monotonic() - began
    return Finished(root, ended, wall_s, **json.loads(took.read_text()))


def scratch(name: str) -> Path:
    """A path that does not exist yet."""
    return Path(tempfile.mkdtemp(dir=_SCRATCH.name, prefix=name)) / "run"


def warm(name: str) -> Path:
    """A new folder of a run with the programs that `finished` compiled."""
    root = scratch(name)
    shutil.copytree(finished().root / ".compiled", root / ".compiled")
    return root


def copy(name: str) -> Path:
    """A finished run that a test may change."""
    root = scratch(name)
    shutil.copytree(finished().root, root)
    return root


def wait_until(condition, process: subprocess.Popen[str]) -> bool:
    """Whether the condition came true before the process ended."""
    until = time.monotonic() + WAIT_S
    while process.poll() is None:
        assert time.monotonic() < until, "the run hangs"
        if condition():
            return True
        time.sleep(0.002)
    return False


def results(root: Path) -> str:
    """Text of `results.json` without its times."""
    found = json.loads((root / "results.json").read_text())
    del found["times"]
    return json.dumps(found)


def logs(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Every line of every training log without its times."""
    found = {}
    for path in sorted(root.glob("arms/*/*/*/metrics.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        found[str(path.relative_to(root))] = [
            {k: v for k, v in row.items() if not k.endswith("_s")} for row in rows
        ]
    return found


def weights(root: Path) -> dict[str, str]:
    """Hash of the weights that every training ended with."""
    paths = sorted(root.glob("arms/*/*/*/weights.sha256"))
    return {str(path.parent.relative_to(root)): path.read_text() for path in paths}


def files(root: Path) -> dict[str, bytes]:
    """Content of every file of a run, by path, compiled programs left out."""
    paths = (p for p in sorted(root.rglob("*")) if p.is_file())
    named = {str(p.relative_to(root)): p for p in paths}
    return {k: p.read_bytes() for k, p in named.items() if not k.startswith(".comp")}


def environment() -> dict[str, str]:
    """One CPU device, and bytecode that later starts find, whatever pytest's own."""
    env = os.environ | {"JAX_PLATFORMS": "cpu"}
    env.pop("XLA_FLAGS", None)
    if env.pop("PYTHONDONTWRITEBYTECODE", None):
        env["PYTHONPYCACHEPREFIX"] = f"{_SCRATCH.name}/bytecode"
    return env
