"""However the parts are made, the same files come out."""

import functools
import importlib.util
import random
import threading
from collections import deque
from pathlib import Path

import pytest
from features_pools import hashes, job_over, write_pool
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from routejax import features
from routejax.errors import UserError
from routejax.features import folder, run
from routejax.pools import Part

REAL = Path(__file__).parents[3] / "shared/data/traces/topology.parquet"
QUIET = Console(quiet=True)
SETTINGS = {"family": "dolci", "testbed": "openthoughts3", "rows_per_part": 4}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_pool(tmp_path_factory.mktemp("pool"))


@pytest.fixture(scope="module")
def wanted(paths, tmp_path_factory):
    """The files of one run with one thread."""
    root = tmp_path_factory.mktemp("one") / "run"
    return made(job_over(paths), root, [(1, 1)], 1)


def made(job, root, shards, threads):
    for shard in shards:
        features.run_shard(job, root, shard, threads, QUIET)
    features.collect(job, root)
    return hashes(root)


def test_what_is_there(wanted):
    parts = [f"parts/part-{n:05d}" for n in range(8 + 6 + 3)]
    tables = ["manifest.json", "moments.parquet", "rejected.parquet", "rows.parquet"]
    names = [f"{part}.{kind}" for part in parts for kind in ("json", "parquet")]
    assert [*wanted] == sorted([*names, *tables, "job.json"])


@pytest.mark.parametrize("threads", [2, 3, 40])
def test_threads(threads, paths, wanted, tmp_path):
    assert made(job_over(paths), tmp_path, [(1, 1)], threads) == wanted


@pytest.mark.parametrize("shards", [2, 7, 50])
def test_shards_in_any_order(shards, paths, wanted, tmp_path):
    order = [(k, shards) for k in range(1, shards + 1)]
    random.Random(shards).shuffle(order)
    assert made(job_over(paths), tmp_path, order, 1) == wanted


def test_shards_at_once_over_one_folder(paths, wanted, tmp_path):
    """Also such that make the same parts: each file appears whole."""
    shards = [(1, 2), (2, 2), (1, 3), (2, 3), (3, 3)]
    errors = []

    def make(shard):
        try:
            features.run_shard(job_over(paths), tmp_path, shard, 1, QUIET)
        except BaseException as error:  # told by the assertion
            errors.append(error)

    workers = [threading.Thread(target=make, args=(shard,)) for shard in shards]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []
    features.collect(job_over(paths), tmp_path)
    assert hashes(tmp_path) == wanted


@pytest.mark.parametrize("engine", ["reference", "arrays"])
def test_engines(engine, paths, wanted, tmp_path):
    if engine == "arrays":
        pytest.importorskip("numba")
    assert made(job_over(paths, engine=engine), tmp_path, [(1, 1)], 1) == wanted


@pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is None,
    reason="Apache Beam is not installed (extra `beam`)",
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of Beam and of what it imports
def test_beam(paths, wanted, tmp_path):
    beam = importlib.import_module("routejax.features.beam")
    beam.run({"paths": paths, **SETTINGS}, tmp_path, runner="DirectRunner")
    features.collect(job_over(paths), tmp_path)
    assert hashes(tmp_path) == wanted
    with pytest.raises(UserError, match="'NoSuchRunner' cannot be used"):
        beam.run({"paths": paths, **SETTINGS}, tmp_path, runner="NoSuchRunner")


@pytest.mark.skipif(not REAL.exists(), reason="the shared traces are not there")
def test_real_traces_in_two_ways(tmp_path):
    settings = {"rows_per_part": 40, "engine": "reference"}
    job = job_over([str(REAL)], **settings)
    one = made(job, tmp_path / "one", [(1, 1)], 1)
    assert made(job, tmp_path / "two", [(2, 3), (1, 3), (3, 3)], 2) == one


def test_a_run_goes_on_where_it_stopped(paths, wanted, tmp_path, monkeypatch):
    job, write = job_over(paths), folder.write

    def stops_at(number, path, data):
        if f"part-{number:05d}.json" in path.name:
            raise KeyboardInterrupt
        write(path, data)

    for number in (0, 5, 11):
        monkeypatch.setattr(folder, "write", functools.partial(stops_at, number))
        with pytest.raises(KeyboardInterrupt):
            features.run_shard(job, tmp_path, (1, 1), 1, QUIET)
        assert features.missing(job, tmp_path)[0] == number
    monkeypatch.undo()
    assert made(job, tmp_path, [(1, 1)], 1) == wanted


def test_only_what_is_missing_is_made_again(paths, wanted, tmp_path):
    job = job_over(paths)
    made(job, tmp_path, [(1, 1)], 1)
    (tmp_path / "parts/part-00002.parquet").unlink()
    (tmp_path / "parts/part-00004.json").unlink()
    (tmp_path / "parts/.part-00009.json.host-1-2.tmp").write_text("half")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "parts").iterdir()}
    assert features.missing(job, tmp_path) == [2, 4]
    assert made(job, tmp_path, [(1, 1)], 1) == wanted
    after = {p: p.stat().st_mtime_ns for p in (tmp_path / "parts").iterdir()}
    again = {p.stem for p in after if after[p] != before.get(p)}
    assert again == {"part-00002", "part-00004"}
    assert not [p for p in after if p.name.endswith(".tmp")]


def test_a_shard_in_the_making_is_refused(paths, tmp_path):
    folder.make(tmp_path)
    with (
        folder.locked(tmp_path / ".lock-2-of-3", wait=False),
        pytest.raises(UserError, match="in use by another routejax process that makes"),
    ):
        features.run_shard(job_over(paths), tmp_path, (2, 3), 1, QUIET)
    features.run_shard(job_over(paths), tmp_path, (1, 3), 1, QUIET)


def test_an_error_in_a_thread_is_raised(paths, tmp_path, monkeypatch):
    def gone(job, part):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(run, "part_files", gone)
    with pytest.raises(UserError, match=r"a\.parquet cannot be read \(No such file"):
        features.run_shard(job_over(paths), tmp_path, (1, 1), 2, QUIET)


@given(st.integers(0, 40), st.integers(1, 50))
def test_shards_share_the_parts_evenly(count, of):
    parts = [Part(n, "f", n, 1) for n in range(count)]
    shares = [run.parts_of(parts, (k, of)) for k in range(1, of + 1)]
    assert [part for share in shares for part in share] == parts
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.randoms())
def test_every_part_is_taken_once_in_runs(lengths, rng):
    numbers = iter(range(sum(lengths)))
    lanes = [deque(next(numbers) for _ in range(length)) for length in lengths]
    taken = []
    while (part := run.next_part(lanes, rng.randrange(len(lanes)))) is not None:
        taken.append(part)
        for lane in lanes:
            assert [*lane] == [*range(lane[0], lane[0] + len(lane))] if lane else True
    assert sorted(taken) == [*range(sum(lengths))]


def test_an_empty_lane_takes_the_later_half_of_the_longest():
    lanes = [deque(), deque([1]), deque([2, 3, 4])]
    assert run.next_part(lanes, 0) == 3
    assert [[*lane] for lane in lanes] == [[4], [1], [2]]
