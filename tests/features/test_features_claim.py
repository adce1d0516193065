"""A folder belongs to one job: its settings, and the content of its input."""

import os
from pathlib import Path

import pytest
from features_pools import job_over, row, write_rows

from routejax import features, workdir
from routejax.errors import UserError
from routejax.features import folder


@pytest.fixture
def pool(tmp_path):
    return write_rows(tmp_path / "pool.parquet", [row(n) for n in range(9)])


def test_job_json_by_hand(pool, tmp_path):
    inputs = features.claim(tmp_path / "run", job_over([pool]))
    assert inputs == workdir.read_json(tmp_path / "run/job.json")
    assert inputs == {
        "family": "dolci",
        "version": job_over([pool]).of.version,
        "testbed": "openthoughts3",
        "rules": ["non_empty", "single_turn", "complete_span"],
        "moments_over": "all",
        "rows_per_part": 4,
        "layout": "auto",
        "columns": {},
        "files": {pool: workdir.sha256((tmp_path / "pool.parquet").read_bytes())},
    }


OTHER = {
    "family": ({"family": "corpus"}, "family: 'dolci' there, 'corpus' now"),
    "testbed": ({"testbed": "dolci"}, "rules: .*testbed: 'openthoughts3' there"),
    "moments": ({"moments_over": "eligible"}, "moments_over: 'all' there"),
    "parts": ({"rows_per_part": 5}, "rows_per_part: 4 there, 5 now"),
    "layout": ({"layout": "pair"}, "layout: 'auto' there"),
    "columns": ({"columns": {"group": "id"}}, "columns.group: None there, 'id' now"),
}


@pytest.mark.parametrize("what", OTHER)
def test_another_job_is_refused(what, pool, tmp_path):
    changed, said = OTHER[what]
    root = tmp_path / "run"
    features.claim(root, job_over([pool]))
    with pytest.raises(UserError, match=f"another job; it differs in .*{said}"):
        features.claim(root, job_over([pool], **changed))
    with pytest.raises(UserError, match="another job"):
        features.is_claimed(root, job_over([pool], **changed))
    features.claim(root, job_over([pool], engine="reference"))  # changes no byte


def test_other_files_are_named(pool, tmp_path):
    more = write_rows(tmp_path / "more.parquet", [row(20)])
    features.claim(tmp_path / "run", job_over([pool]))
    with pytest.raises(UserError, match=r"differs in file .*more\.parquet, only now\."):
        features.claim(tmp_path / "run", job_over([pool, more]))
    said = r"pool\.parquet, only there; file .*more\.parquet, only now\."
    with pytest.raises(UserError, match=said):
        features.claim(tmp_path / "run", job_over([more]))


def test_a_changed_input_file_is_refused(pool, tmp_path):
    root = tmp_path / "run"
    features.claim(root, job_over([pool]))
    write_rows(tmp_path / "pool.parquet", [row(n) for n in range(1, 10)])
    with pytest.raises(
        UserError, match=r"differs in content of .*pool\.parquet\. Choo"
    ):
        features.claim(root, job_over([pool]))


def test_input_is_hashed_again_only_if_it_may_have_changed(pool, tmp_path, monkeypatch):
    hashed = []
    sha256 = folder.file_sha256
    monkeypatch.setattr(folder, "file_sha256", lambda p: hashed.append(p) or sha256(p))
    root, job = tmp_path / "run", job_over([pool])
    inputs = features.claim(root, job)
    assert features.claim(root, job) == inputs
    assert features.is_claimed(root, job)
    assert hashed == [pool]
    os.utime(pool, ns=(1, 1))  # copied back, say
    assert features.claim(root, job_over([pool])) == inputs
    assert hashed == [pool, pool]


def test_a_file_that_grows_after_it_was_looked_over(pool, tmp_path):
    """Its rows would be hashed, and never be read."""
    job = job_over([pool])
    with Path(pool).open("ab") as file:
        file.write(b"{}")
    with pytest.raises(UserError, match="was changed after it was looked over"):
        features.claim(tmp_path / "run", job)
    assert not (tmp_path / "run/job.json").exists()


def test_a_folder_of_nobody_is_not_claimed_and_stays_so(pool, tmp_path):
    assert not features.is_claimed(tmp_path / "run", job_over([pool]))
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_written(pool, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot write .*file/run: Not a directory"):
        features.claim(tmp_path / "file/run", job_over([pool]))


def test_a_full_disk_is_said_and_nothing_is_left(pool, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device; free some space"):
        folder.write(tmp_path / "part.json", b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["pool.parquet"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with (
        pytest.raises(UserError, match=r"cannot be locked \(No locks available\)"),
        folder.locked(tmp_path / ".lock", wait=True),
    ):
        raise AssertionError("nobody holds the lock")


@pytest.mark.parametrize("text", ["{}", "[]", "3", '{"files": 1}', "{"])
def test_a_claim_that_is_not_as_it_was_written(text, pool, tmp_path):
    root, job = tmp_path / "run", job_over([pool])
    features.claim(root, job)
    (root / "job.json").write_text(text)
    with pytest.raises(UserError, match=r"job\.json is (not as it was|damaged)"):
        features.claim(root, job)


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 1}', '{"POOL": {}}', '{"POOL": 3}'])
def test_what_is_remembered_of_input_may_be_lost(text, pool, tmp_path):
    root, job = tmp_path / "run", job_over([pool])
    inputs = features.claim(root, job)
    seen = (root / ".inputs.json").read_text()
    (root / ".inputs.json").write_text(text.replace("POOL", pool))
    assert features.claim(root, job) == inputs
    assert (root / ".inputs.json").read_text() == seen
