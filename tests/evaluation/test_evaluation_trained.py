"""The entry as a command, on a student that a smoke run has trained."""

import json
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from evaluated_runs import metrics_of, samples_of
from runs import ROOT, environment, finished, scratch, wait_until

pytestmark = pytest.mark.slow

WHO = "--config.student.arm=diverse"


def start(root, *flags):
    module = [sys.executable, "-m", "routejax.evaluate"]
    given = (
        f"--config.student.run={finished().root}",
        WHO,
        "--config.sets.evaluation.passes=4,",
        "--config.problems_per_part=8",
        "--config.resamples=200",
        f"--workdir={root}",
    )
    return subprocess.Popen(
        [*module, *given, *flags],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_runs_own_evaluation_and_a_killed_one_that_asks_for_more():
    """Four samples are those of the run itself, and the first four of eight."""
    root = scratch("evaluation")
    started = start(root, "--config.sets.evaluation.samples=4")
    out, err = started.communicate(timeout=400)
    assert started.returncode == 0, err
    assert "diverse, seed 0, after RL" in out
    own = finished().root / "arms/diverse/seed_0/evaluate_grpo"
    theirs = pq.read_table(own / "samples.parquet").sort_by(
        [("problem_id", "ascending"), ("sample", "ascending")]
    )
    ours = samples_of(root / "evaluation")
    for name in ("problem_id", "sample", "response", "finish", "tokens"):
        assert ours[name].to_pylist() == theirs[name].to_pylist()
    one = metrics_of(root)["sets"]["evaluation"]
    assert one["cells"] == json.loads((own / "metrics.json").read_text())

    def parts():
        return sorted((root / "evaluation/samples").glob("part_*.parquet"))

    first = parts()
    started = start(root, "--config.sets.evaluation.samples=8")
    assert wait_until(lambda: len(parts()) > len(first), started)
    started.send_signal(signal.SIGKILL)
    started.communicate(timeout=400)
    assert started.returncode in (-signal.SIGKILL, 0)  # or it was quicker
    between = {path: path.read_bytes() for path in parts()}
    started = start(root, "--config.sets.evaluation.samples=8")
    _, err = started.communicate(timeout=400)
    assert started.returncode == 0, err
    assert {path: path.read_bytes() for path in between} == between
    whole = scratch("whole")
    started = start(whole, "--config.sets.evaluation.samples=8")
    _, err = started.communicate(timeout=400)
    assert started.returncode == 0, err
    assert samples_of(root / "evaluation").equals(samples_of(whole / "evaluation"))
    assert metrics_of(root) == metrics_of(whole)
    assert not list(root.rglob("*.tmp"))
