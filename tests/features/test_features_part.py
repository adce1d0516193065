"""One part: its sums are those of its rows, however many of them are eligible."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from features_pools import job_over, row, thought, write_rows

from routejax import moments
from routejax.features import part_files
from routejax.features.part import PASSED, sums_from_json
from routejax.pools import opened

ROWS = 24


def part(tmp_path, cut_off):
    """Files of a part in which the rows `cut_off` have no answer, and fail."""
    rows = [row(n) for n in range(ROWS)]
    for n in cut_off:
        rows[n] = row(n, response=f"<think>{thought(n)}")
    job = job_over([write_rows(tmp_path / "a.parquet", rows)], rows_per_part=ROWS)
    files = part_files(job, job.parts[0])
    table = pq.read_table(pa.BufferReader(files["parquet"]))
    values = table["features"].combine_chunks().flatten().to_numpy()
    return json.loads(files["json"]), table, values.reshape(len(table), -1)


@pytest.mark.parametrize("failing", [0, 1, 12, 13, 23, 24])
@pytest.mark.parametrize("batch_bytes", [1 << 24, 1000])
def test_sums_are_those_of_the_rows(failing, batch_bytes, tmp_path, monkeypatch):
    """Of eligible rows and others the fewer are summed; half is where that changes."""
    monkeypatch.setattr(opened, "_BYTES", batch_bytes)
    facts, table, values = part(tmp_path, range(failing))
    passed = table["failed"].to_numpy() == PASSED
    assert facts["rows"] == ROWS
    assert passed.tolist() == [n >= failing for n in range(ROWS)]
    assert sums_from_json(facts["sums"]["all"]) == moments.sums([values])
    found = sums_from_json(facts["sums"]["eligible"])
    no_rows = moments.no_sums(values.shape[1])
    assert found == (moments.sums([values[passed]]) if passed.any() else no_rows)


def test_batches_change_no_byte(tmp_path, monkeypatch):
    rows = [row(n) for n in range(ROWS)]
    path = write_rows(tmp_path / "a.parquet", rows, group=ROWS)
    job = job_over([path], rows_per_part=ROWS)
    whole = part_files(job, job.parts[0])
    monkeypatch.setattr(opened, "_BYTES", 1000)
    assert len([*job.pool.read(job.parts[0], job.reads)]) > 4
    assert part_files(job, job.parts[0]) == whole


def test_a_part_without_a_row_that_can_be_read(tmp_path):
    job = job_over(
        [write_rows(tmp_path / "a.jsonl", [row(0), "{no JSON}"])], rows_per_part=1
    )
    files = part_files(job, job.parts[1])
    table = pq.read_table(pa.BufferReader(files["parquet"]))
    facts = json.loads(files["json"])
    assert (len(table), facts["rows"], len(facts["unreadable"])) == (0, 0, 1)
    no_rows = moments.no_sums(len(job.of.features))
    assert sums_from_json(facts["sums"]["all"]) == no_rows
    assert sums_from_json(facts["sums"]["eligible"]) == no_rows
    assert np.array_equal(table["failed"].to_numpy(), [])
