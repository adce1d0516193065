"""`python -m routejax.select`: every mistake is one line and leaves nothing behind."""

import functools
import re
from pathlib import Path

import pytest
from features_pools import write_rows
from select_pools import call_entry, finished, grouped, over, write_grouped

from routejax.stages import select_memory, select_plan

# How ml_collections loads a config file.
pytestmark = pytest.mark.filterwarnings("ignore:the load_module:DeprecationWarning")


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    def call(*given, workdir=tmp_path / "run", **other):
        flag = f"--workdir={workdir}"
        return call_entry(monkeypatch, capsys, flag, *given, **other)

    return call


@pytest.fixture
def paths():
    return finished().paths


# What is wrong: flags, and what the line must say.
MISTAKES = {
    "unknown selector": (
        ["--config.selection.methods=diverse,best"],
        "selection.methods must be names among diverse, similar, .*'diverse,best'",
    ),
    "no selector": (["--config.selection.methods="], "methods must be names among"),
    "selector twice": (
        ["--config.selection.methods=random,random"],
        "each once, got 'random,random'",
    ),
    "n 0": (
        ["--config.selection.n=0"],
        "n must be a whole number of at least 1, got 0",
    ),
    "K 0": (
        ["--config.selection.K=0"],
        "K must be a whole number of at least 1, got 0",
    ),
    "r 0": (["--config.selection.r=0"], "r must be a whole .* got 0"),
    "seed": (
        ["--config.selection.seed=-1"],
        "seed must be .* in 0..4294967295, got -1",
    ),
    "group_by": (["--config.selection.group_by=env"], "one of group, all, got 'env'"),
    "engine": (["--config.selection.engine=gpu"], "engine must be one of .*got 'gpu'"),
    "precision": (["--config.selection.precision=half"], "one of exact, float32, got"),
    "floor": (["--config.selection.variance_floor=-1"], "finite number of at least 0"),
    "engine of float32": (
        ["--config.selection.precision=float32"],
        "engine 'cpu' works on integers; .* must be sklearn",
    ),
    "two fields": (
        ["--config.selection.n=0", "--config.selection.batch=0"],
        "selection.batch must .*; selection.n must",
    ),
    "quota of no group": (
        ["--config.selection.quotas=5"],
        "quotas must be NAME=ROWS,NAME=ROWS .*got '5'",
    ),
    "quota of text": (["--config.selection.quotas=math=x"], "quotas must be NAME=ROWS"),
    "group twice": (["--config.selection.quotas=math=1,math=2"], "each name once"),
    "quota of half a row": (['--config.selection.quotas={"a": 0.5}'], "quotas must be"),
    "no vectors": (
        ["--config.selection.methods=embedding_fps"],
        "the selector embedding_fps needs selection.embeddings, the file to use",
    ),
    "no such vectors": (
        [
            "--config.selection.methods=gradient_fps",
            "--config.selection.gradients=/no/g.npy",
        ],
        "selection.gradients: /no/g.npy does not exist; check the path",
    ),
    "shard": (["--config.shard=1/2"], "a selection needs the whole pool: make the sha"),
    "beam": (["--config.beam.runner=DirectRunner"], "a selection needs the whole pool"),
    "threads": (
        ["--config.threads=0"],
        r"threads must be a whole number in 1\.\.\d+, got 0",
    ),
    "unknown field": (
        ["--config.selection.N=1"],
        "'N' among: K, batch, embeddings, en",
    ),
    "no fingerprints there": (["--config.features=/tmp"], "/tmp holds no fingerprints"),
    "recipe of another kind": (
        ["--config=configs/rlve.py:smoke"],
        "the recipe 'rlve-smoke' is not one of selections; choose configs/openth",
    ),
    "pool": (["--config.pool.paths=/no/such.parquet"], "such.parquet does not exist"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(what, paths, command, tmp_path):
    given, said = MISTAKES[what]
    if given[0].startswith("--config="):
        status, _, err = command(config=given[0])
    else:
        status, _, err = command(*over(paths), *given)
    assert status == 2
    assert len(err) == 1
    assert err[0].startswith("routejax: ")
    assert re.search(said, err[0]), err[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("path", ["pool", "pool/**", "pool/*/selected/*.jsonl"])
def test_a_run_in_the_pools_folder(path, command, tmp_path):
    write_grouped(tmp_path / "pool")
    inside = tmp_path / "pool/run"
    (tmp_path / "pool/old/selected").mkdir(parents=True)
    write_rows(tmp_path / "pool/old/selected/a.jsonl", [grouped(0)])
    status, _, err = command(*over([str(tmp_path / path)]), workdir=inside)
    assert status == 2
    assert "lies in the pool's folder" in err[0]
    assert not inside.exists()


def test_fingerprints_and_a_selection_in_one_folder(
    paths, monkeypatch, capsys, tmp_path
):
    given = over(paths)[:3]  # those of the pool
    flag = f"--workdir={finished().root}"
    call = functools.partial(call_entry, monkeypatch, capsys, *given)
    status, _, err = call(flag, name="fingerprint")
    assert status == 2
    assert "holds a selection; fingerprints want a folder of their own" in err[0]
    flag = f"--workdir={finished().root / 'features'}"
    status, _, err = call(flag)
    assert status == 2
    assert "holds fingerprints; a selection wants a folder of its own" in err[0]


# What only the pool can tell; fingerprints are there already.
MISFITS = {
    "n too large": (["--config.selection.n=59"], r"n must be in 1\.\.58 .*got 59"),
    "unknown group": (
        ["--config.selection.quotas=maths=3"],
        "the group 'maths', which has no eligible row; groups are code, math, puzzle",
    ),
    "quota too large": (["--config.selection.quotas=math=21"], r"0\.\.20 .* got 21"),
    "quotas of more than n": (
        ["--config.selection.quotas=math=9,code=9"],
        "quotas add up to 18 .* cannot make n = 12",
    ),
}


@pytest.mark.parametrize("what", MISFITS)
def test_what_the_pool_cannot_give(what, paths, command, tmp_path):
    given, said = MISFITS[what]
    status, _, err = command(*over(paths, finished().reused), *given)
    assert (status, len(err)) == (2, 1)
    assert re.search(said, err[0]), err[0]
    assert not (tmp_path / "run").exists()


def test_a_mistake_after_fingerprints_can_be_mended_in_the_same_folder(
    paths, command, tmp_path
):
    status, _, err = command(*over(paths, n=59))
    assert status == 2
    assert "n must be in 1..58" in err[0]
    assert not (tmp_path / "run/phi").exists()
    status, out, _ = command(*over(paths))
    assert status == 0
    assert not any(line.startswith("fingerprint:") for line in out)


def test_fingerprints_of_another_family(paths, command):
    given = (
        finished().reused,
        "--config.fingerprint.family=rlve",
    )
    status, _, err = command(*over(paths), *given)
    assert status == 2
    assert "config.features cannot be used: " in err[0]
    assert "differs in family: 'dolci' there, 'rlve' now" in err[0]
    assert err[0].endswith(
        "Name another folder, or leave it empty to make the fingerprints"
    )


def test_fingerprints_that_are_not_finished_or_have_changed(paths, command, tmp_path):
    folder = tmp_path / "fingerprints"
    fingerprint = [flag for flag in over(paths) if "selection" not in flag]
    command(*fingerprint, "--config.shard=1/2", workdir=folder, name="fingerprint")
    given = over(paths, f"--config.features={folder}")
    status, _, err = command(*given)
    assert status == 2
    assert "are not finished; run routejax.fingerprint there to its end first" in err[0]
    command(*fingerprint, workdir=folder, name="fingerprint")
    (folder / "rows.parquet").write_bytes(b"other")
    status, _, err = command(*given)
    assert status == 2
    assert "rows.parquet is missing or has changed since it was written" in err[0]
    assert not (tmp_path / "run").exists()
    status, _, err = command(*over(paths), workdir=folder)
    assert status == 2
    assert f"--workdir={folder}-selected --config.features={folder}" in err[0]


def test_a_pool_that_has_changed_since(command, tmp_path):
    paths = write_grouped(tmp_path / "pool")
    assert command(*over(paths))[0] == 0
    write_rows(Path(paths[0]), [grouped(n, prompt="other") for n in range(20)])
    status, _, err = command(*over(paths))
    assert status == 2
    assert f"it differs in content of {paths[0]}" in err[0]


def test_the_folder_of_another_config(paths, command):
    status, _, err = command(*over(paths, n=9), workdir=finished().root)
    assert status == 2
    assert (
        "belongs to a run with another config; it differs in selection.n: 12" in err[0]
    )
    status, _, _ = command(*over(paths, "--config.threads=1"), workdir=finished().root)
    assert status == 0


def test_no_row_is_eligible(command, tmp_path):
    rows = [grouped(n, response="no reasoning") for n in range(5)]
    pool = write_rows(tmp_path / "p.parquet", rows)
    status, _, err = command(*over([pool], n=1))
    assert status == 2
    assert "none of 5 rows is eligible (rejected: 5 complete_span)" in err[-1]
    assert not (tmp_path / "run/phi").exists()


def test_memory_that_is_not_there(paths, command, monkeypatch, tmp_path):
    monkeypatch.setattr(select_plan, "allowed_bytes", lambda: 2**28)
    status, out, err = command(*over(paths, finished().reused))
    assert status == 2
    assert re.search(
        r"needs about \d\.\d GiB of memory \(stage \w+\), 0\.2 GiB are", err[0]
    )
    assert "of 0.2 GiB allowed" in out[-1]
    assert not (tmp_path / "run").exists()


def test_limits_of_containers(tmp_path):
    inner = tmp_path / "two/pod/box"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (tmp_path / "two/pod/memory.max").write_text("4096\n")
    (tmp_path / "two/memory").mkdir()
    (tmp_path / "two/memory/memory.limit_in_bytes").write_text("512\n")
    (tmp_path / "cgroup").write_text("4:cpu,memory:/gone\n3:cpu:/x\n0::/pod/box\n")
    found = select_memory.container_limits(tmp_path / "cgroup", tmp_path / "two")
    assert sorted(found) == [512, 4096]
    assert [*select_memory.container_limits(tmp_path / "no", tmp_path)] == []
    assert 2**28 < select_memory.allowed_bytes() < 2**50
