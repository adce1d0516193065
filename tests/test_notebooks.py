"""Every notebook runs from top to bottom on a finished run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import finished

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))

pytestmark = pytest.mark.slow


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_shows_numbers(path):
    environment = os.environ | {"ROUTEJAX_RUN": str(finished().root)}
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "acc@1" in ended.stdout
    assert "diverse minus similar" in ended.stdout
    assert "topology_distance" in ended.stdout
