"""`python -m routejax.fingerprint` as a process: Beam, signals, kills, readers."""

import functools
import importlib.util
import random
import re
import signal
import time

import pyarrow.parquet as pq
import pytest
from features_pools import hashes, row, write_pool, write_rows
from fingerprint_runs import end, start

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_pool(tmp_path_factory.mktemp("pool"))


BEAM = {  # runner and options → what is said
    "option": ("Direct", "--nonsense=3", "DirectRunner has no option --nonsense; rem"),
    "value": ("Direct", "--direct_num_workers=x", "options .*num_workers: invalid int"),
    "reasons": ("Dataflow", "", "cannot be used: .*temp_location.*: region"),
}


@pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is None,
    reason="Apache Beam is not installed (extra `beam`)",
)
@pytest.mark.parametrize("what", BEAM)
def test_mistakes_of_beam_are_told_at_the_end(what, paths, tmp_path):
    runner, options, said = BEAM[what]
    flags_ = f"--config.beam.runner={runner}Runner", f"--config.beam.options={options}"
    status, _, err = end(start(tmp_path / "run", paths, *flags_))
    assert status == 2
    assert re.search(said, err.splitlines()[-1])
    assert "usage" not in err
    assert "apitools" not in err


@pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is None,
    reason="Apache Beam is not installed (extra `beam`)",
)
def test_beam_from_the_command_line(paths, tmp_path):
    beam, one = tmp_path / "beam", tmp_path / "one"
    status, out, err = end(start(beam, paths, "--config.beam.runner=DirectRunner"))
    assert status == 0, err
    assert end(start(one, paths))[0] == 0
    assert hashes(beam) == hashes(one)
    assert out.splitlines()[0].startswith("60 traces of 61 rows, 57 eligible")
    status, _, err = end(start(tmp_path / "no", paths, "--config.beam.runner=Nobody"))
    assert status == 2
    assert "beam.runner 'Nobody' cannot be used" in err.splitlines()[-1]


def test_a_reader_that_leaves_ends_no_work(paths, tmp_path):
    with start(tmp_path / "run", paths) as process:
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr.read() == ""
    assert (tmp_path / "run/manifest.json").exists()


@functools.cache
def many(folder):
    """A pool of 600 rows in 150 parts."""
    files = [folder / "a.parquet", folder / "b.jsonl"]
    for first, file in zip((0, 300), files, strict=True):
        write_rows(file, [row(n) for n in range(first, first + 300)], group=50)
    return [str(file) for file in files]


def finished_parts(root):
    return len([*root.glob("parts/*.json")])


def wait_for_parts(root, more, process):
    """Until so many parts are finished by the process, or it has ended."""
    wanted = finished_parts(root) + more
    while process.poll() is None and finished_parts(root) < wanted:
        time.sleep(0.001)


def left_over(root):
    return [p for p in (root / "parts").iterdir() if p.name.startswith(".")]


def test_killed_ten_times_at_random_moments(tmp_path):
    """While it works, from its first part on; once each as it begins and collects."""
    paths, root, whole = many(tmp_path), tmp_path / "killed", tmp_path / "whole"
    assert end(start(whole, paths))[0] == 0
    times = [p.stat().st_mtime for p in whole.glob("parts/*.json")]
    work_s = max(times) - min(times)
    rng, hits = random.Random(20260924), 0
    for more in (0, *[1] * 8, 150):
        process = start(root, paths)
        wait_for_parts(root, min(more, 150 - finished_parts(root)), process)
        time.sleep(rng.uniform(0, 0.1 * work_s))
        before = finished_parts(root)
        process.kill()
        hits += end(process)[0] == -signal.SIGKILL and 0 < before < 150
    assert hits >= 4, "most kills came before or after the work"
    assert end(start(root, paths))[0] == 0
    assert hashes(root) == hashes(whole)
    assert left_over(root) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_it_says_how_to_go_on(number, tmp_path):
    paths, root = many(tmp_path), tmp_path / "run"
    process = start(root, paths)
    wait_for_parts(root, 5, process)
    process.send_signal(number)
    status, out, err = end(process)
    assert status == 75
    assert "stopped" in out
    assert err == (
        f"routejax: stopped by {number.name}; everything finished is saved, "
        "run the same command to go on\n"
    )
    assert 5 <= finished_parts(root) < 150
    assert end(start(root, paths))[0] == 0
    assert pq.read_table(root / "rows.parquet").num_rows == 600
    assert left_over(root) == []
