"""`diverse` chooses the same ids whatever computes it, from raw features on."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.benchmarks import one_hash
from tests.benchmarks.one_hash import ROOT, WAYS, Way


def test_the_ways_differ_in_everything_that_must_change_nothing():
    assert len({way.name for way in WAYS}) == len(WAYS)
    by_engine = {name: [w for w in WAYS if w.engine == name] for name in ("cpu", "jax")}
    for ways in by_engine.values():
        assert {way.threads for way in ways} == {1, 2}
        assert {way.permuted for way in ways} == {True, False}
        assert len({way.batch for way in ways}) > 1
    assert {way.devices for way in by_engine["jax"]} == {1, 2, 4, 8}


@pytest.mark.slow
def test_one_hash():
    found = dict(one_hash.synthetic(400))
    assert {*found} == {way.name for way in WAYS}
    assert len(set(found.values())) == 1
    assert all(len(one) == 64 for one in found.values())


def test_other_rows_have_another_hash():
    assert one_hash.chosen(200, Way("cpu")) != one_hash.chosen(201, Way("cpu"))


def test_permuted_pools_have_the_same_rows_elsewhere(tmp_path):
    (tmp_path / "pool").mkdir()
    for name in ("a", "b"):
        table = pa.table({"id": [f"{name}{i}" for i in range(30)]})
        pq.write_table(table, tmp_path / f"pool/{name}.parquet")
    one_hash.permute(tmp_path / "pool", tmp_path / "other")
    before, after = (
        np.concatenate(
            [pq.read_table(path)["id"].to_numpy() for path in sorted(folder.iterdir())]
        )
        for folder in (tmp_path / "pool", tmp_path / "other")
    )
    assert sorted(before) == sorted(after)
    assert (before != after).mean() > 0.8


TRACES = ROOT.parent / "shared/data/traces"


@pytest.mark.slow
@pytest.mark.skipif(not TRACES.exists(), reason="the shared traces are not there")
def test_one_hash_of_real_traces(tmp_path):
    """Once as it comes, and once with everything different at the same time."""
    plain = Way("cpu", threads=1)
    other = Way("jax", devices=8, batch=one_hash.BATCH, permuted=True)
    found = {one_hash.by_command(TRACES, tmp_path, way) for way in (plain, other)}
    assert len(found) == 1
