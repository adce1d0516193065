"""Real traces: both engines give the same vectors, byte for byte."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("numba")

from pathlib import Path

from routejax.fingerprints import engine, feature_names, features
from routejax.spans import find

DATA = Path(__file__).parents[4] / "shared" / "data" / "traces"
FILES = sorted(DATA.glob("*.parquet"))
COLUMNS = ("prompt", "reasoning", "answer")


def conversations(path: Path, every: int) -> pa.RecordBatch:
    """One row in `every`; a response without a span is all reasoning."""
    rows = pq.read_table(path, columns=["prompt", "response"]).to_pylist()[::every]
    found = [find(row["response"]) for row in rows]
    texts = [
        (row["prompt"], span.reasoning or row["response"], span.answer)
        for row, span in zip(rows, found, strict=True)
    ]
    columns = [pa.array(c, pa.string()) for c in zip(*texts, strict=True)]
    return pa.record_batch(columns, names=COLUMNS)


def agree(batch: pa.RecordBatch) -> int:
    """How many rows have steps; rows that differ are named."""
    steps = 0
    for family in ("corpus", "rlve"):
        got = features(batch, family, "arrays")
        wanted = features(batch, family, "reference")
        rows, columns = np.nonzero(got.view(np.uint32) != wanted.view(np.uint32))
        names = [feature_names(family)[k] for k in columns[:5]]
        assert not rows.size, (family, rows[:5], names)
        steps = int(wanted.any(axis=1).sum())
        if family == "corpus":
            dolci = engine.front.dolci_features(batch["reasoning"])
            assert dolci.tobytes() == wanted[:, :631].tobytes()
    return steps


@pytest.mark.skipif(not FILES, reason="the real traces are absent")
def test_a_sample():
    for path in FILES:
        total = pq.read_metadata(path).num_rows
        batch = conversations(path, max(1, total // 8))
        assert agree(batch) > 0.9 * batch.num_rows


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all(path):
    batch = conversations(path, 1)
    assert agree(batch) > 0.9 * batch.num_rows
