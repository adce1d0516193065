"""Files that are whole or not there, and stages that are done once."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routejax import workdir
from routejax.errors import UserError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def no_space(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def said():
    return []


@pytest.fixture
def stage(tmp_path, said):
    """Runs the stage at `tmp_path/s` and says whether its work was done."""

    def call(inputs, work=None):
        calls = []

        def counted(folder):
            calls.append(folder)
            (work or write_out)(folder)

        found = workdir.stage(tmp_path / "s", inputs, counted, said.append)
        call.outputs = found
        return bool(calls)

    return call


def write_out(folder):
    workdir.write(folder / "out.txt", "made")


# Atomic files ------------------------------------------------------------------------


def test_write_makes_folders_and_replaces(tmp_path):
    path = tmp_path / "a" / "b.txt"
    workdir.write(path, "one")
    workdir.write(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["b.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_content(step, tmp_path, monkeypatch):
    path = tmp_path / "file"
    workdir.write(path, "old")
    owner = {"fsync": os, "replace": Path}[step]
    monkeypatch.setattr(owner, step, no_space)
    with pytest.raises(
        UserError, match=r"cannot write .*file: No space left .*free som"
    ):
        workdir.write(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_kill_in_the_middle_leaves_the_old_content(tmp_path):
    path = tmp_path / "file"
    workdir.write(path, "old")
    code = (
        "import os, sys\n"
        "os.fsync = lambda fd: os.kill(os.getpid(), 9)\n"
        "from pathlib import Path\n"
        "from routejax.workdir import write\n"
        "write(Path(sys.argv[1]), 'new' * 1000)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -9
    assert path.read_text() == "old"
    workdir.write(path, "new")  # what the kill left is no hindrance
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_other_errors_advise_another_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another --workdir or change its perm"):
        workdir.write(tmp_path / "file" / "below", "x")


def test_parquet_bytes_do_not_depend_on_chunks(tmp_path):
    table = pa.table({"x": [1, 2, 3]})
    cut = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    workdir.write_parquet(tmp_path / "a", table)
    workdir.write_parquet(tmp_path / "b", cut)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert pq.read_table(tmp_path / "a").equals(table)


def test_json_refuses_nan_and_says_which_file_is_damaged(tmp_path):
    path = tmp_path / "a.json"
    workdir.write_json(path, {"x": (1, 2)})
    assert workdir.read_json(path) == {"x": [1, 2]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        workdir.write_json(path, float("nan"))
    path.write_bytes(b'{"x": \xff')
    with pytest.raises(UserError, match=r"a.json is damaged .*; delete"):
        workdir.read_json(path)


# Hashes ------------------------------------------------------------------------------


def test_canonical_by_hand():
    value = {"b": (1, 2.5), "a": {"z": None, "é": True}}
    assert workdir.canonical(value) == '{"a":{"z":null,"\\u00e9":true},"b":[1,2.5]}'
    assert workdir.content_hash([]) == (
        "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"  # of "[]"
    )


@given(JSON)
def test_equal_values_have_equal_hashes_in_any_order(value):
    def turned(x):
        if isinstance(x, dict):
            return {k: turned(x[k]) for k in reversed(x)}
        return tuple(map(turned, x)) if isinstance(x, list) else x

    assert workdir.content_hash(turned(value)) == workdir.content_hash(value)
    assert workdir.as_json(turned(value)) == workdir.as_json(value)


def test_the_code_hash_reads_names_and_content_of_sources_alone(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    first = workdir.code_hash(tmp_path)
    (tmp_path / "notes.txt").write_text("changes nothing")
    assert workdir.code_hash(tmp_path) == first
    seen = {first}
    for name, text in (("a.py", "x = 2"), ("p/b.py", ""), ("p.css", ""), ("p.js", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        seen.add(workdir.code_hash(tmp_path))
    assert len(seen) == 5


def test_differences_name_the_path_and_both_values():
    old = {"a": {"b": 1, "c": [1]}, "d": None}
    new = {"a": {"b": 2, "c": [1]}, "d": None, "e": 0}
    found = list(workdir.differences(old, new, ("there", "now")))
    assert found == ["a.b: 1 there, 2 now", "e: None there, 0 now"]
    assert not list(workdir.differences(old, old, ("there", "now")))


# Stages ------------------------------------------------------------------------------


def test_a_finished_stage_is_skipped(stage, said, tmp_path):
    assert stage({"x": (1, 2)})
    outputs = stage.outputs
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "s").iterdir()}
    assert not stage({"x": [1, 2]})
    assert stage.outputs == outputs == {"out.txt": workdir.sha256(b"made")}
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "s").iterdir()} == before
    assert said == []


@pytest.mark.parametrize("damage", ["edit", "cut", "delete", "deep"])
def test_damaged_outputs_are_made_anew_and_it_says_so(damage, stage, said, tmp_path):
    def work(folder):
        assert not (folder / "out.txt").exists()  # nothing of before
        write_out(folder)
        workdir.write(folder / "weights" / "part", "deep")

    stage({}, work)
    path = tmp_path / "s" / ("weights/part" if damage == "deep" else "out.txt")
    match damage:
        case "cut":
            os.truncate(path, 2)
        case "delete":
            path.unlink()
        case _:
            path.write_text("edited")
    assert stage({}, work)
    assert not stage({}, work)
    (line,) = said
    assert f"{tmp_path}/s has changed since it was written" in line
    assert path.name in line
    assert line.endswith("making it anew")


def test_files_of_others_do_not_undo_a_stage(stage, tmp_path):
    stage({})
    (tmp_path / "s" / "notes.txt").write_text("mine")
    (tmp_path / "s" / ".DS_Store").write_text("")
    assert not stage({})


@pytest.mark.parametrize("folder", ["rollouts", "tensorboard", "wandb"])
def test_what_people_look_at_stays_and_may_go(folder, stage, said, tmp_path):
    """It is no output: without it, or with other bytes, the stage is finished."""

    def work(at):
        workdir.write(at / folder / "1", "a")
        write_out(at)

    assert stage({}, work)
    assert set(stage.outputs) == {"out.txt"}
    path = tmp_path / "s" / folder / "1"
    path.write_text("other")
    assert not stage({})
    path.unlink()
    assert not stage({})
    assert said == []


def test_other_inputs_make_it_anew_and_it_says_which(stage, said, tmp_path):
    stage({"code": "a", "seed": 0}, lambda f: workdir.write(f / "old.txt", ""))
    assert stage({"code": "b", "seed": 0, "more": None})
    assert not (tmp_path / "s" / "old.txt").exists()
    (line,) = said
    assert "was made with other code, more than now; making it anew" in line


def test_an_unfinished_stage_goes_on_from_what_it_kept(stage, tmp_path):
    def fails(folder):
        workdir.write(folder / "checkpoints" / "1", "")
        workdir.write(folder / "parts" / "1", "")
        workdir.write(folder / "log.jsonl", "{}\n")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage({"x": 1}, fails)
    (tmp_path / "s" / ".out.txt.tmp").write_text("half")  # as a kill leaves them
    (tmp_path / "s" / ".pool.parquet.77.part").write_text("half")
    kept = []
    assert stage({"x": 1}, lambda f: kept.extend(p.name for p in f.rglob("*")))
    assert {"checkpoints", "parts", "1", "log.jsonl"} < set(kept)
    assert not any(name.startswith(".") for name in kept)
    names = {p.name for p in (tmp_path / "s").iterdir()}
    assert names == {"inputs.json", "log.jsonl", "seconds.json", "stage.json"}
    assert list(stage.outputs) == ["log.jsonl"]


def test_an_unfinished_stage_with_other_inputs_keeps_nothing(stage, tmp_path):
    with pytest.raises(ZeroDivisionError):
        stage({"x": 1}, lambda f: (f / "checkpoints").mkdir() or 1 / 0)
    found = []
    assert stage({"x": 2}, lambda f: found.extend(p.name for p in f.iterdir()))
    assert found == ["inputs.json"]


def test_a_kill_before_the_checkpoints_are_removed_loses_nothing(stage, monkeypatch):
    """The mark comes first: the stage is finished, what is left goes next time."""

    def work(folder):
        write_out(folder)
        workdir.write(folder / "checkpoints" / "1", "")

    def killed(folder):
        if folder.name == "checkpoints":
            raise KeyboardInterrupt
        raise AssertionError(folder)

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            stage({}, work)
    assert not stage({}, work)


@pytest.mark.parametrize("full", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_in_the_work_is_said_and_mended(full, stage, tmp_path):
    def fails(folder):
        raise OSError(full, os.strerror(full), "somewhere")

    with pytest.raises(
        UserError, match=r"/s: .*free some space and run the same comma"
    ):
        stage({}, fails)
    assert not (tmp_path / "s" / "stage.json").exists()
    assert stage({})


def test_a_defect_of_the_work_stays_a_defect(stage):
    with pytest.raises(FileNotFoundError):
        stage({}, lambda folder: (folder / "none").read_text())


def test_seconds_add_up_over_the_starts(stage, tmp_path, monkeypatch):
    clock = iter([0.0, 3.0, 10.0, 14.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with pytest.raises(ZeroDivisionError):
        stage({}, lambda folder: 1 / 0)
    assert workdir.seconds(tmp_path / "s") == 3.0
    stage({})
    assert workdir.seconds(tmp_path / "s") == 7.0
    stage({})
    assert workdir.seconds(tmp_path / "s") == 7.0
    assert workdir.seconds(tmp_path / "none") == 0.0


# The lock ----------------------------------------------------------------------------


def test_one_process_at_a_time(tmp_path):
    with (
        workdir.opened(tmp_path / "r", {"a": 1}) as root,
        pytest.raises(UserError, match="in use by another routejax process"),
        workdir.opened(root, {"a": 1}),
    ):
        pass
    with workdir.opened(tmp_path / "r", {"a": 1}):  # free once the other is gone
        assert json.loads((root / "config.json").read_text()) == {"a": 1}
