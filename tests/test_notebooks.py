"""Every notebook runs from top to bottom, and shows numbers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import select_pools
from runs import finished

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
# What each notebook must show on a finished run.
SHOWN = {
    "reading_a_study": ("acc@1", "diverse minus similar", "topology_distance"),
    "selection_geometry": (
        "58 eligible traces of 60",
        "What each selector took",
        "topology_distance",
        "diverse over similar:",
        "covering radius",
        "effect of diverse minus similar",
        "chosen solutions",
        "distances between them:",
    ),
}

pytestmark = pytest.mark.slow


def run(path, **environment):
    """What a notebook prints; it must end well."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        env=os.environ | environment | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_every_notebook_is_run():
    assert {path.stem for path in NOTEBOOKS} == {*SHOWN}


def test_reading_a_study():
    out = run(ROOT / "notebooks/reading_a_study.py", ROUTEJAX_RUN=str(finished().root))
    for text in SHOWN["reading_a_study"]:
        assert text in out


def test_selection_geometry():
    root = str(select_pools.finished().root)
    out = run(ROOT / "notebooks/selection_geometry.py", ROUTEJAX_SELECTION=root)
    for text in SHOWN["selection_geometry"]:
        assert text in out


def test_selection_geometry_makes_a_pool_where_there_is_none(tmp_path):
    """In a clone without traces beside it."""
    clone = tmp_path / "clone"
    (clone / "notebooks").mkdir(parents=True)
    (clone / "configs").symlink_to(ROOT / "configs")
    path = shutil.copy(ROOT / "notebooks/selection_geometry.py", clone / "notebooks")
    out = run(path, ROUTEJAX_SELECTION="", TMPDIR=str(tmp_path))
    assert "288 eligible traces of 288" in out
    assert "What each selector took" in out
    assert "chosen solutions" in out
