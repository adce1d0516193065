"""A small pool in three groups, and the program that selects from it."""

import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from entries import forget, signals_kept
from features_pools import row, write_rows

from routejax import workdir

ROOT = Path(__file__).parent.parent
CONFIG = "--config=configs/local_traces.py"
GROUPS = ("code", "math", "puzzle")
METHODS = ("diverse", "similar", "random")
# Removed when the interpreter ends.
_SCRATCH = tempfile.TemporaryDirectory(prefix="routejax-select-")


def grouped(n, **other):
    """A row of a group, with two of its prompt's four neighbours."""
    more = {
        "group": GROUPS[n % 3],
        "source": f"m{n % 2}",
        "prompt_id": f"p{n // 4:03d}",
    }
    return row(n, **more) | other


def write_grouped(folder, count=60, order=None):
    """Parquet, lines of JSON, and Parquet; two rows are not eligible."""
    folder.mkdir(exist_ok=True)
    rows = [grouped(n) for n in (order or range(count))]
    for one in rows:
        if one["id"] == "t0003":
            one["response"] = "no reasoning"
        if one["id"] == "t0017":
            one["response"] = ""
    third = len(rows) // 3
    cut = {"a.parquet": rows[:third], "b.jsonl": rows[third : 2 * third]}
    cut["c.parquet"] = rows[2 * third :]
    return [write_rows(folder / name, part) for name, part in cut.items()]


def over(paths, *more, n=12, methods=METHODS):
    """Flags of a selection with small parts."""
    return (
        f"--config.pool.paths={','.join(paths)}",
        "--config.fingerprint.family=dolci",
        "--config.fingerprint.rows_per_part=4",
        f"--config.selection.n={n}",
        f"--config.selection.methods={','.join(methods)}",
        *more,
    )


class Finished(NamedTuple):
    """A pool, the folder of a whole run over it, and the lines that it printed."""

    paths: list[str]
    root: Path
    out: list[str]

    @property
    def reused(self):
        """The flag that takes its fingerprints."""
        return f"--config.features={self.root / 'features'}"


@functools.cache
def finished():
    """A run that nothing interrupted; tests change nothing in it."""
    root, paths = Path(_SCRATCH.name) / "run", write_grouped(Path(_SCRATCH.name) / "p")
    ended = start(root, paths)
    out, err = ended.communicate()
    assert ended.returncode == 0, err
    return Finished(paths, root, out.splitlines())


def start(root, paths, **other):
    """A running process of the program."""
    given = (CONFIG, f"--workdir={root}", *over(paths, **other))
    return subprocess.Popen(
        [sys.executable, "-m", "routejax.select", *given],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call_entry(monkeypatch, capsys, *given, config=CONFIG, name="select"):
    """Runs a program in this process: status, and the lines of stdout and stderr."""
    entry = importlib.import_module(f"routejax.{name}")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [name, config, *given])
    with signals_kept():
        forget()
        status = entry.run_program(entry.main)
    out, err = capsys.readouterr()
    return status, out.splitlines(), err.splitlines()


def made(root):
    """SHA-256 of what a selection leaves, without times, inputs and fingerprints."""
    names = ("phi/*", "picks/*/*", "selected/*", "manifest.json")
    files = sorted(path for name in names for path in root.glob(name))
    return {
        str(path.relative_to(root)): workdir.sha256(path.read_bytes())
        for path in files
        if path.is_file()
        and path.name not in ("seconds.json", "stage.json", "inputs.json")
    }


def ids(root, method):
    """Chosen ids in order, as the Parquet file has them."""
    table = pq.read_table(root / f"selected/{method}.parquet", columns=["routejax_id"])
    return sorted(table["routejax_id"].to_pylist())


def chats(root, method):
    lines = (root / f"selected/{method}.chat.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def facts(root, method):
    return json.loads((root / f"selected/{method}.selection.json").read_text())
