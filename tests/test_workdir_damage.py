"""Files of a stage that are damaged: one line that says what to delete, or no harm."""

import pytest

from routejax import workdir
from routejax.errors import UserError
from routejax.stages import problem_files

DAMAGE = {
    "empty": b"",
    "not text": b"\xff\x00{",
    "another shape": b"[1]",
    "nested without end": b"[" * 10**5,
}


@pytest.fixture
def folder(tmp_path):
    """A finished stage."""
    made(tmp_path / "s")
    return tmp_path / "s"


def made(folder):
    def work(at):
        workdir.write(at / "out.txt", "made")

    return workdir.stage(folder, {"a": 1}, work, print)


def damage(path, how):
    path.unlink()
    if how == "a folder":
        path.mkdir()
    else:
        path.write_bytes(DAMAGE[how])


@pytest.mark.parametrize("how", [*DAMAGE, "a folder"])
@pytest.mark.parametrize("name", ["inputs.json", "stage.json"])
def test_a_damaged_record_says_what_to_delete(name, how, folder):
    damage(folder / name, how)
    with pytest.raises(UserError, match=rf"{name} is damaged .*; delete {folder} and"):
        made(folder)


def test_a_mark_without_outputs_is_damaged(folder):
    (folder / "stage.json").write_text("{}")
    with pytest.raises(UserError, match=r"stage.json is damaged .*; delete"):
        made(folder)


@pytest.mark.parametrize("how", [*DAMAGE, "a folder"])
def test_a_damaged_time_costs_no_work(how, folder):
    damage(folder / "seconds.json", how)
    assert workdir.seconds(folder) == 0.0
    assert made(folder) == {"out.txt": workdir.sha256(b"made")}


@pytest.mark.parametrize("text", [*DAMAGE.values(), b"NaN"])
def test_a_damaged_time_does_not_stop_work_that_goes_on(text, folder):
    (folder / "stage.json").unlink()
    (folder / "seconds.json").write_bytes(text)
    made(folder)
    assert 0 <= workdir.seconds(folder) < 10


@pytest.mark.parametrize("how", [*DAMAGE, "a folder"])
def test_a_damaged_claim_of_the_run_is_one_line(how, folder):
    root = folder.parent
    workdir.write_json(root / "config.json", {"a": 1})
    damage(root / "config.json", how)
    with (
        pytest.raises(UserError, match=r"config.json is damaged .*; delete"),
        workdir.opened(root, {"a": 1}),
    ):
        pass


def test_a_damaged_manifest_of_problems_asks_for_these_files_alone(tmp_path):
    path = tmp_path / "mine.parquet"
    path.write_bytes(b"")
    beside = problem_files.manifest_of(path)
    beside.write_text("[]")
    with pytest.raises(UserError, match=rf"delete {beside} and {path} and run"):
        problem_files.finished(path, {})
