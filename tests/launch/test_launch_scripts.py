"""The set-up scripts, with a stand-in Python that records what it is asked for."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Answers the questions of the set-up, and makes an environment of more stand-ins.
STANDIN = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "$ASKED"
case "$*" in
    --version) cat "$(dirname "$0")/version" 2>/dev/null ||
        echo "${VERSION:-Python 3.11.0}" ;;
    "-m venv .venv")
        mkdir -p .venv/bin
        for name in python uv ruff pyright; do cp "$0" ".venv/bin/$name"; done
        "$0" --version > .venv/bin/version
        echo 'PATH="$PWD/.venv/bin:$PATH"' > .venv/bin/activate ;;
    *sys.exit*) exit "${TOO_OLD:-0}" ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    shutil.copytree(ROOT / "launch", tmp_path / "launch")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    standin = tmp_path / "standin"
    standin.write_text(STANDIN)
    standin.chmod(0o755)
    return tmp_path


def launch(clone, script, *arguments, **environment):
    """How it ended, and the calls of this time."""
    asked = clone / "asked"
    asked.unlink(missing_ok=True)
    ended = subprocess.run(
        ["bash", str(clone / "launch" / script), *arguments],
        capture_output=True,
        text=True,
        env={
            "PATH": "/usr/bin:/bin",
            "ROUTEJAX_PYTHON": str(clone / "standin"),
            "ASKED": str(asked),
            **environment,
        },
        check=False,
    )
    return ended, asked.read_text().splitlines()


def installs(calls):
    return [call.split()[-1] for call in calls if call.startswith("uv ")]


def test_arguments_of_the_main_job_pass_through_and_install_nothing_more(clone):
    ended, calls = launch(clone, "local.sh", "--config.seeds=0,1", "--workdir=a b")
    assert ended.returncode == 0, ended.stderr
    assert installs(calls) == ["."]
    assert calls[-1] == (
        "python -m routejax.train --config=configs/rlve.py "
        "--config.seeds=0,1 --workdir=a b"
    )


@pytest.mark.parametrize("flag", [["--config=a.py:b"], ["--config", "a.py"]])
def test_a_recipe_of_the_user_takes_the_place_of_the_default(clone, flag):
    _, calls = launch(clone, "local.sh", *flag, "--config.n=1")
    assert calls[-1] == f"python -m routejax.train {' '.join(flag)} --config.n=1"


def test_another_python_makes_the_environment_anew(clone):
    launch(clone, "local.sh")
    (clone / ".venv" / "left").touch()
    launch(clone, "local.sh")
    assert (clone / ".venv" / "left").exists()
    ended, calls = launch(clone, "local.sh", VERSION="Python 3.12.1")
    assert ended.returncode == 0, ended.stderr
    assert not (clone / ".venv" / "left").exists()
    assert installs(calls) == ["."]


def test_a_python_that_is_not_there_is_named(clone):
    ended = subprocess.run(
        ["bash", str(clone / "launch" / "local.sh")],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "ROUTEJAX_PYTHON": "nosuch"},
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("There is no Python called nosuch.")


def test_tests_install_their_extra_and_pass_arguments_to_pytest(clone):
    ended, calls = launch(clone, "test.sh", "-k", "layers")
    assert ended.returncode == 0, ended.stderr
    assert installs(calls) == [".[test]"]
    assert calls[-1] == "python -m pytest -k layers"
    assert {"ruff check .", "ruff format --check .", "pyright "} <= set(calls)


def test_the_environment_is_made_once_and_renewed_with_pyproject(clone):
    launch(clone, "local.sh")
    _, again = launch(clone, "local.sh")
    assert installs(again) == []
    with (clone / "pyproject.toml").open("a") as file:
        file.write("# another version\n")
    _, renewed = launch(clone, "local.sh")
    assert installs(renewed) == ["."]


def test_an_old_python_is_refused_before_anything_is_made(clone):
    ended, _ = launch(clone, "local.sh", TOO_OLD="1")
    assert ended.returncode == 2
    assert "routejax needs Python 3.11 or newer" in ended.stderr
    assert not (clone / ".venv").exists()
