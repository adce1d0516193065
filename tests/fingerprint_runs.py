"""How tests start `python -m routejax.fingerprint` over a small pool."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOLCI = "--config=configs/dolci.py"


def over(paths, *more):
    """Flags of a job with the rules of a released corpus and small parts."""
    return (
        f"--config.pool.paths={','.join(paths)}",
        "--config.fingerprint.testbed=openthoughts3",
        "--config.fingerprint.rows_per_part=4",
        *more,
    )


def start(root, paths, *more):
    """The command in a process of its own."""
    flags = (DOLCI, f"--workdir={root}", *over(paths), *more)
    return subprocess.Popen(
        [sys.executable, "-m", "routejax.fingerprint", *flags],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process):
    """Status, stdout and stderr once it has ended."""
    out, err = process.communicate()
    return process.returncode, out, err
