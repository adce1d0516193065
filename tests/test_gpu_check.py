"""The check of a GPU runs from end to end where there is none, on tiny sizes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from routejax import models
from tests.benchmarks import gpu_check

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_a_dry_run_passes_every_check():
    env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    ended = subprocess.run(
        ["bash", "launch/gpu_check.sh", "--dry", "--json"],
        cwd=ROOT,
        env=env | {"ROUTEJAX_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["dry"]
    assert len(found["checks"]) == 3
    assert all(one["passed"] for one in found["checks"].values())


def test_the_step_is_of_a_billion_parameters():
    """V 151,936, E 1536 tied; 28 layers of 1536·128·48 + 3·1536·4608 and four norms."""
    student = models.create("qwen3", **gpu_check.BILLION)
    shapes = jax.eval_shape(lambda: student.init(0))
    layer = 1536 * 128 * 48 + 3 * 1536 * 4608 + 2 * 128 + 2 * 1536
    assert models.count(shapes) == 151_936 * 1536 + 28 * layer + 1536
    assert models.count(shapes) == pytest.approx(1.09e9, rel=0.01)


def test_without_a_gpu_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu_check"])
    assert gpu_check.main() == 2
    assert "no GPU here; --dry" in capsys.readouterr().err
