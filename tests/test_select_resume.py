"""A selection that was stopped anywhere goes on and ends with the same bytes."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from features_pools import write_rows
from select_pools import METHODS, call_entry, finished, grouped, made, over, start

from routejax.interrupt import Interrupted
from routejax.stages import select_spool

pytestmark = pytest.mark.filterwarnings("ignore:the load_module:DeprecationWarning")


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    def call(*given, workdir=tmp_path / "run"):
        return call_entry(monkeypatch, capsys, f"--workdir={workdir}", *given)

    return call


@pytest.fixture
def whole():
    """Flags of a selection over finished fingerprints, and what it leaves."""
    run = finished()
    return over(run.paths, run.reused), made(run.root)


class Stops:
    """Instead of `os.fsync`, which every file passes before it takes its name: raises
    at the call with this number."""

    def __init__(self, at=None):
        self.calls, self.at = 0, at

    def __call__(self, file):
        self.calls += 1
        if self.calls == self.at:
            raise Interrupted("SIGTERM")


def test_stopped_at_many_files(whole, command, tmp_path, monkeypatch):
    given, wanted = whole
    counted = Stops()
    monkeypatch.setattr(os, "fsync", counted)
    assert command(*given)[0] == 0
    assert made(tmp_path / "run") == wanted
    assert counted.calls > 30
    for at in range(1, counted.calls, 4):
        root = tmp_path / f"stopped-{at}"
        monkeypatch.setattr(os, "fsync", Stops(at))
        status, _, err = command(*given, workdir=root)
        assert status == 75
        assert "everything finished is saved" in err[-1]
        monkeypatch.setattr(os, "fsync", Stops())
        assert command(*given, workdir=root)[0] == 0
        assert made(root) == wanted
        assert left_over(root) == []


def left_over(root):
    found = [path for name in (".*.part", ".*.tmp") for path in root.rglob(name)]
    return [*found, *root.glob("selected/parts")]


def test_a_selector_that_is_finished_stays(whole, command, tmp_path, monkeypatch):
    given, wanted = whole
    replace = Path.replace

    def stops(path, target):
        if Path(target).match("picks/similar/picks.parquet"):
            raise Interrupted("SIGTERM")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", stops)
    assert command(*given)[0] == 75
    monkeypatch.setattr(Path, "replace", replace)
    done = tmp_path / "run/picks/diverse/picks.parquet"
    before = done.stat().st_mtime_ns
    assert not (tmp_path / "run/picks/similar/picks.parquet").exists()
    assert command(*given)[0] == 0
    assert done.stat().st_mtime_ns == before
    assert made(tmp_path / "run") == wanted


def test_pieces_that_are_read_stay(whole, command, tmp_path, monkeypatch):
    """And however the rows are cut into pieces, the files are the same."""
    given, wanted = whole
    write, calls = select_spool._write_piece, []
    monkeypatch.setattr(select_spool, "PIECE_ROWS", 4)

    def counts(*arguments):
        calls.append(arguments)
        write(*arguments)

    def stops(*arguments):
        if len(calls) == 3:
            raise Interrupted("SIGTERM")
        counts(*arguments)

    monkeypatch.setattr(select_spool, "_write_piece", counts)
    assert command(*given, workdir=tmp_path / "two")[0] == 0
    pieces = len(calls)
    assert pieces > 5
    assert made(tmp_path / "two") == wanted
    calls.clear()
    monkeypatch.setattr(select_spool, "_write_piece", stops)
    assert command(*given)[0] == 75
    assert len([*(tmp_path / "run/selected/parts").glob("*.own.parquet")]) == 3
    monkeypatch.setattr(select_spool, "_write_piece", counts)
    assert command(*given)[0] == 0
    assert len(calls) == pieces
    assert made(tmp_path / "run") == wanted


def test_a_result_that_was_changed_is_made_anew(whole, command, tmp_path):
    given, wanted = whole
    assert command(*given)[0] == 0
    for name in (
        "phi/phi.npy",
        "picks/random/picks.parquet",
        "selected/random.parquet",
    ):
        (tmp_path / "run" / name).write_bytes(b"other")
        status, out, _ = command(*given)
        assert status == 0
        assert any("has changed since it was written" in line for line in out)
        assert made(tmp_path / "run") == wanted


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own whose size can be set."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def resize(kilobytes, *more):
        options = ",".join([*more, f"size={kilobytes}k"])
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("file systems cannot be mounted here")
        return folder

    yield resize
    subprocess.run(["umount", str(folder)], check=False, capture_output=True)


def test_a_full_disk(whole, command, small_disk):
    given, wanted = whole
    root = small_disk(16) / "run"
    met = set()
    for size in range(16, 140, 8):
        small_disk(size, "remount")
        status, _, err = command(*given, workdir=root)
        if status == 0:
            break
        assert status == 2
        assert "No space left on device; free some space and run the same" in err[-1]
        met |= {part for part in ("phi", "picks", "selected") if part in err[-1]}
    assert {"phi", "picks", "selected"} <= met
    small_disk(10_000, "remount")
    assert command(*given, workdir=root)[0] == 0
    assert made(root) == wanted
    assert left_over(root) == []


def wait_for(path, process):
    while process.poll() is None and not path.exists():
        time.sleep(0.001)


@pytest.mark.slow
def test_killed_as_a_process(tmp_path):
    rows = [grouped(n) for n in range(600)]
    paths = [write_rows(tmp_path / "p.parquet", rows)]
    finish(tmp_path / "whole", paths)
    rng, root = random.Random(20260924), tmp_path / "run"
    for place in ("features/job.json", "picks/diverse/inputs.json"):
        process = start(root, paths, n=120)
        wait_for(root / place, process)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.communicate()
    finish(root, paths, like=tmp_path / "whole")
    assert {path.name for path in (root / "picks").iterdir()} == set(METHODS)


@pytest.mark.slow
def test_asked_to_stop_it_says_how_to_go_on(tmp_path):
    """In a new folder, so that the file waited for is this process's own."""
    paths = [write_rows(tmp_path / "p.parquet", [grouped(n) for n in range(600)])]
    finish(tmp_path / "whole", paths)
    root = tmp_path / "run"
    process = start(root, paths, n=120)
    wait_for(root / "features/job.json", process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 75
    assert err.startswith("routejax: stopped by SIGTERM; ")
    assert not (root / "selected/inputs.json").exists()
    finish(root, paths, like=tmp_path / "whole")


def finish(root, paths, like=None):
    process = start(root, paths, n=120)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert left_over(root) == []
    if like is not None:
        assert made(root) == made(like)
