"""One trace: found by its id, with its steps, and the moments of its pool if known."""

import shutil

import numpy as np
import pytest
from features_pools import job_over, row, thought, write_pool, write_rows
from rich.console import Console

from routejax import features, fingerprints
from routejax.errors import UserError
from routejax.stages import look as stage
from routejax.stages.look import look

QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return job_over(write_pool(tmp_path_factory.mktemp("pool")))


@pytest.fixture(scope="module")
def root(job, tmp_path_factory):
    """A finished folder."""
    folder = tmp_path_factory.mktemp("run")
    features.run_shard(job, folder, (1, 1), 1, QUIET)
    features.collect(job, folder)
    return folder


def test_what_is_seen_of_a_trace(job, tmp_path):
    view = look(job, tmp_path, "t0045")
    assert (view.id, view.family, view.span) == ("t0045", "dolci", "closed")
    assert view.prompt == row(45)["prompt"]
    assert [step.step for step in view.steps] == [
        step.step for step in fingerprints.explain(thought(45), "dolci")
    ]
    assert np.array_equal(view.values, fingerprints.fingerprint(thought(45), "dolci"))
    assert view.pool_mean is view.pool_sigma is view.pool_rows is None


def test_the_pool_is_seen_when_it_is_there(job, root):
    view = look(job, root, "t0060")
    everything = np.concatenate(
        [found for _, found in features.read_features(root, eligible_only=False)]
    )
    assert view.pool_rows == len(everything) == 60
    np.testing.assert_allclose(view.pool_mean, everything.mean(0), atol=1e-6)
    np.testing.assert_allclose(view.pool_sigma, everything.std(0), atol=1e-5)


@pytest.mark.parametrize("made", [True, False])
def test_of_rows_with_one_id_the_first_is_shown(made, job, root, tmp_path):
    view = look(job, root if made else tmp_path, "t0002")
    assert np.array_equal(view.values, fingerprints.fingerprint(thought(2), "dolci"))
    rows = [row(5, id="same"), row(6, id="same")]
    pool = job_over([write_rows(tmp_path / "p.parquet", rows)])
    assert look(pool, tmp_path / "none", "same").prompt == row(5)["prompt"]


@pytest.mark.parametrize("made", [True, False])
def test_ids_near_the_one_that_is_missing(made, job, root, tmp_path):
    said = r"has the id 't0x57'; the nearest are 't0057', 't00\d\d', 't00\d\d'$"
    with pytest.raises(UserError, match=said):
        look(job, root if made else tmp_path, "t0x57")


def test_likeness_by_hand():
    assert stage._likeness("trace-17", "trace-71") == 6
    assert stage._likeness("abcd", "xbcd") == 3
    assert stage._likeness("", "abc") == 0


def test_a_family_that_labels_no_text_names_those_that_do(job, tmp_path):
    omega = job_over(list(job.files), family="omega", testbed="omega")
    with pytest.raises(UserError, match="with a family that does: corpus, dolci, rlve"):
        look(omega, tmp_path, "t0001")


def test_moments_of_another_job_are_not_taken(job, root):
    other = job_over(list(job.files[:1]))
    with pytest.raises(UserError, match="holds fingerprints of another job"):
        look(other, root, "t0001")


STANDING = {  # id → what is said before and after the parts are collected
    "t0001": ("passes the rules that look at a row alone; whe", "eligible"),
    "t0003": ("not eligible: non_empty, ", "not eligible: non_empty, "),
    "t0007": ("not eligible: complete_span, ", "not eligible: complete_span, "),
    "t0002": ("passes the rules", "eligible; 2 rows have this id, this is the first"),
}


@pytest.mark.parametrize("name", STANDING)
def test_whether_a_trace_may_be_selected(name, job, root, tmp_path):
    for folder, said in zip((tmp_path, root), STANDING[name], strict=True):
        assert look(job, folder, name).standing.startswith(said)


@pytest.mark.parametrize("made", [True, False])
def test_an_unreadable_row_is_said_to_be_one(made, job, root, tmp_path):
    said = (
        r"'b\.jsonl:4', row 4 of .*b\.jsonl, cannot be read.*: unreadable/json, no JSON"
    )
    with pytest.raises(UserError, match=said):
        look(job, root if made else tmp_path, "b.jsonl:4")


def test_an_id_that_is_not_utf8(job, tmp_path):
    with pytest.raises(UserError, match=r"the id must be UTF-8, got '\\udcff'"):
        look(job, tmp_path, "\udcff")


@pytest.mark.parametrize("table", ["rows", "rejected", "moments"])
def test_a_damaged_table_is_named(table, job, root, tmp_path):
    shutil.copytree(root, tmp_path / "run")
    (tmp_path / f"run/{table}.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UserError, match=rf"{table}\.parquet is missing or damaged"):
        look(job, tmp_path / "run", "t0001")
