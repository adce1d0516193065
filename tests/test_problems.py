"""The entry that makes files of problems, as a command."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFIG = f"--config={ROOT / 'configs' / 'problems.py'}"
SMALL = (
    "--config.sets.sft.envs=()",
    "--config.sets.rl.envs=('sort','walk')",
    "--config.sets.rl.difficulties=(1,2)",
    "--config.sets.rl.per_cell=3",
    "--config.sets.evaluation.envs=('sort',)",
    "--config.sets.evaluation.difficulties=(1,1)",
    "--config.workers.count=1",
    "--config.workers.sandbox=False",
)


def command(out, *flags, variant="local"):
    module = [sys.executable, "-m", "routejax.problems"]
    return [*module, f"{CONFIG}:{variant}", f"--out={out}", *flags]


def run(out, *flags, **variant):
    line = command(out, *flags, **variant)
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_a_file_is_made_once_and_shown(tmp_path):
    out = tmp_path / "set.parquet"
    made = run(out, *SMALL, "--show=1")
    assert made.returncode == 0, made.stderr
    assert "rl: 12 problems\n" in made.stdout
    assert "evaluation: 4 problems\n" in made.stdout
    assert "sort, difficulty 1, rl, " in made.stdout
    assert {p.name for p in tmp_path.iterdir()} == {"set.parquet", "set.manifest.json"}
    at = out.stat().st_mtime_ns
    again = run(out, *SMALL)
    assert again.returncode == 0
    assert "rl: 12 problems\n" in again.stdout
    assert out.stat().st_mtime_ns == at
    other = run(out, *SMALL, "--config.seed=5")
    assert other.returncode == 2
    assert "was not made by this config" in other.stderr


def test_a_killed_one_goes_on_and_makes_the_same(tmp_path):
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    big = [flag for flag in SMALL if "difficulties" not in flag]
    assert run(one, *big).returncode == 0
    parts = tmp_path / "other.parquet.parts"
    with subprocess.Popen(command(other, *big), stderr=subprocess.DEVNULL) as killed:
        until = time.monotonic() + 60
        while not [*parts.glob("*-*.json")] and time.monotonic() < until:
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert not other.exists() or killed.returncode == 0
    assert run(other, *big).returncode == 0
    assert one.read_bytes() == other.read_bytes()
    manifests = [
        (tmp_path / f"{n}.manifest.json").read_text() for n in ("one", "other")
    ]
    assert manifests[0] == manifests[1]
    assert json.loads(manifests[0])["rows"] > 50
    assert not parts.exists()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--config.sets.rl.envs=('sorts',)"], "did you mean sort"),
        (["--config.sets.rl.per_cell=0"], "per_cell must be a whole number of at lea"),
        (["--config.sets.rl.difficulties=(1,2,3)"], "first and last difficulty"),
        (["--config.sets.rl.difficulties=(1,)"], "first and last difficulty"),
        (["--config.sets.rl.difficulties=('a','b')"], "first and last difficulty"),
        (["--config.seed=-1"], "config.seed must be a whole number in 0.."),
        (["--config.limits.draw_timeout_s=nan"], "draw_timeout_s must be a finite num"),
        (["--config.limits.draw_timeout_s=0"], "draw_timeout_s must be a finite numb"),
        (["--config.limits.draws=-1"], "limits.draws must be"),
        (["--config.limits.failures=0"], "limits.failures must be"),
        (["--config.limits.longest_prompt=0"], "limits.longest_prompt must be"),
        (["--config.workers.memory_mb=-1"], "workers.memory_mb must be"),
        (["--config.sets.rl.difficulties=(3,16)"], "within 1..15, got (3, 16)"),
        (["--show=-1"], "--show must be at least 0"),
        (["--config.workers.count=0"], "workers.count must be a whole number of at l"),
    ],
)
def test_mistakes_are_one_line(tmp_path, flags, told):
    found = run(tmp_path / "set.parquet", *flags)
    assert found.returncode == 2
    assert told in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert not (tmp_path / "set.parquet").exists()


def test_a_set_without_one_problem_is_no_set(tmp_path):
    out = tmp_path / "set.parquet"
    found = run(out, *SMALL, "--config.limits.longest_prompt=1")
    assert found.returncode == 2
    assert found.stderr == (
        "routejax: not one problem could be drawn: 80 draws: 80 too long\n"
    )
    assert [*tmp_path.iterdir()] == []
    again = run(out, *SMALL)  # what failed is not taken for finished
    assert "rl: 12 problems\n" in again.stdout


def test_an_unknown_variant_or_ending_is_told(tmp_path):
    found = run(tmp_path / "set.parquet", variant="chess")
    assert "no variant 'chess'; there are local, gym, rlve" in found.stderr
    found = run(tmp_path / "set.json")
    assert "--out must end in .parquet" in found.stderr


def test_an_environment_that_gives_none_says_why_and_is_drawn_again(tmp_path):
    """The others are kept; the file is not made, so the same command goes on."""
    out = tmp_path / "set.parquet"
    flags = [flag for flag in SMALL if "rl.envs" not in flag]
    odd = "--config.sets.rl.envs=('sort','math')"
    for _ in range(2):
        found = run(out, *flags, odd)
        assert found.returncode == 2
        assert found.stderr.startswith("routejax: no problem could be drawn of math (")
        assert "are read from files, not generated" in found.stderr
        assert len(found.stderr.splitlines()) == 1
        assert not out.exists()
        parts = {p.name for p in (tmp_path / "set.parquet.parts").glob("*-*.json")}
        assert parts == {"sort-01.json", "sort-02.json"}
