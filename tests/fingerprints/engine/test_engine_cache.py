"""Compiled kernels are used with the sources that they were compiled from, only."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

import numba

from routejax.fingerprints import engine

HERE = Path(engine.__file__)
ANSWER = """from numba import njit
@njit(cache=True)
def inner():
    return {answer}
"""
OUTER = """from numba import njit
from routejax.fingerprints.engine import inner
@njit(cache=True)
def outer():
    return inner.inner()
"""
ASK = """from routejax.fingerprints.engine import front
print(front.outer(), sum(front.outer.stats.cache_hits.values()))
"""


def small(folder: Path) -> Path:
    """A package that keeps its kernels by the same rule, with one kernel in another."""
    place = folder / "routejax" / "fingerprints" / "engine"
    place.mkdir(parents=True)
    for parent in (place.parent, place.parent.parent):
        (parent / "__init__.py").touch()
    shutil.copy(HERE, place / "__init__.py")
    (place / "front.py").write_text(OUTER)
    (place / "sums.py").touch()
    (place / "inner.py").write_text(ANSWER.format(answer=1))
    return place


def ask(folder: Path) -> tuple[int, int]:
    """What the outer kernel says in a fresh process, and how many came compiled."""
    env = {name: v for name, v in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    env["PYTHONPATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    answer, hits = done.stdout.split()
    return int(answer), int(hits)


def kept(place: Path) -> list[str]:
    return [p.name for p in (place / "__pycache__").glob("kernels-*")]


@pytest.mark.slow
def test_a_kernel_inside_another_may_change(tmp_path):
    place = small(tmp_path)
    assert ask(tmp_path) == (1, 0)
    assert ask(tmp_path) == (1, 1)
    (before,) = kept(place)
    (place / "inner.py").write_text(ANSWER.format(answer=2))
    assert ask(tmp_path) == (2, 0)
    (after,) = kept(place)  # the old ones are gone
    assert before != after
    (place.parent / "segment.py").write_text("MARKERS = ()\n")  # gives constants
    assert ask(tmp_path) == (2, 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of sources in the engine's stead."""
    place = small(tmp_path)
    monkeypatch.setattr(engine, "_FOLDER", place)
    monkeypatch.setattr(engine, "_before", "")
    return place


def test_every_source_counts(folder):
    named = {engine._sources()}
    for file in (*folder.glob("*.py"), folder.parent / "__init__.py"):
        file.write_text(file.read_text() + "\n")
        named.add(engine._sources())
    (folder / "inner.py").rename(folder / "other.py")
    named.add(engine._sources())
    (folder.parent / "new.py").touch()
    named.add(engine._sources())
    assert len(named) == 8


def test_the_folder_is_beside_the_sources_and_old_ones_go(folder):
    old = folder / "__pycache__" / "kernels-0123456789abcdef"
    other = folder / "__pycache__" / "front.cpython-311.pyc"
    old.mkdir(parents=True)
    other.touch()
    found = Path(engine._compiled())
    assert found == folder / "__pycache__" / f"kernels-{engine._sources()}"
    assert not old.exists()
    assert other.exists()
    found.mkdir()
    assert Path(engine._compiled()) == found
    assert found.exists()


def test_a_folder_that_cannot_be_written(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = Path(engine._compiled())
    assert found == tmp_path / "cache" / "routejax" / f"kernels-{engine._sources()}"


def test_a_users_own_folder_is_theirs(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "_before", str(tmp_path / "mine"))
    assert engine._compiled() == str(tmp_path / "mine")


def test_other_kernels_of_the_process_keep_their_folder():
    assert "kernels-" not in numba.config.CACHE_DIR


def test_it_is_known_whether_kernels_are_compiled(tmp_path):
    small(tmp_path)
    script = (
        "from routejax.fingerprints import engine\n"
        "kept = engine.is_compiled\n"
        "print(kept('front'), engine.front.outer(), kept('front'), kept('other'))"
    )
    env = {name: v for name, v in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    env["PYTHONPATH"] = str(tmp_path)
    run = [sys.executable, "-c", script]
    said = [
        subprocess.check_output(run, env=env, cwd=tmp_path, text=True) for _ in "ab"
    ]
    assert said == ["False 1 True False\n", "True 1 True False\n"]
