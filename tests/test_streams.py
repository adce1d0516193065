"""What becomes of the output of an entry where nobody can have it."""

import subprocess
import sys

import pytest

# Prints a line as an entry does, works on, and says how it went in a file.
SCRIPT = """
import sys
from pathlib import Path
from routejax import streams
from routejax.errors import UserError

streams.fill()
with streams.kept():
    try:
        for _ in range(3):
            print("one line ü \\udc80", flush=True)
        print("an error ü", file=sys.stderr, flush=True)
        Path(sys.argv[1]).write_text("done")
    except UserError as error:
        Path(sys.argv[1]).write_text(str(error))
        raise SystemExit(2)
"""


@pytest.fixture
def run(tmp_path):
    """Runs the script in a shell with a redirection: status, file, stdout, stderr."""

    def call(redirection, **env):
        said = tmp_path / "said"
        command = f'"{sys.executable}" -c "$SCRIPT" "{said}" {redirection}'
        ended = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command}"],
            env={"SCRIPT": SCRIPT, "PYTHONPATH": ":".join(sys.path), **env},
            capture_output=True,
            check=False,
        )
        return ended.returncode, said.read_text(), ended.stdout, ended.stderr

    return call


def test_all_is_written_where_there_is_a_reader(run):
    status, said, out, err = run("", PYTHONUTF8="1")
    assert (status, said, err) == (0, "done", "an error ü\n".encode())
    assert out.startswith("one line ü ".encode())
    assert out.count(b"\n") == 3


@pytest.mark.parametrize(
    "redirection",
    ["| true", "| head -1", "2>&1 | true", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"],
)
def test_a_reader_that_is_gone_ends_no_work(redirection, run):
    status, said, out, _ = run(redirection, PYTHONUTF8="1")
    assert (status, said) == (0, "done")
    assert b"error" not in out  # what is meant for one is not sent to the other


def test_a_descriptor_that_is_closed_is_no_file_s(run, tmp_path):
    """A file that is opened takes the lowest number that is free."""
    run("2>&-", PYTHONUTF8="1")
    assert (tmp_path / "said").read_text() == "done"


@pytest.mark.parametrize(
    ("redirection", "name"),
    [(">/dev/full", "standard output"), ("2>/dev/full", "standard error")],
)
def test_a_full_disk_is_the_users_to_mend(redirection, name, run):
    status, said, _, err = run(redirection, PYTHONUTF8="1")
    assert status == 2
    assert said.startswith(f"cannot write to {name}: No space left on device; free")
    assert b"Traceback" not in err


def test_characters_that_the_encoding_lacks(run):
    status, said, out, _ = run("", PYTHONIOENCODING="ascii")
    assert (status, said) == (0, "done")
    assert out == b"one line ? ?\n" * 3
