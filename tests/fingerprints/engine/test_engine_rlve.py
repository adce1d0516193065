"""The vectors of the `rlve` family from arrays are those of the reference, byte for
byte, from texts; how rows come together makes no difference."""

import functools
import threading

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("numba")

from engine_texts import BETWEEN, TEXTS, batch, made
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax import envs, spans
from routejax.fingerprints import engine, engines, feature_names, features
from routejax.fingerprints.engine import front, rlve

SOLVED = ("sort", "count", "modsum")
ODD = [piece for pieces in BETWEEN for piece in pieces]


@functools.cache
def some() -> pa.RecordBatch:
    """Sixty texts of all sizes, some without a step."""
    texts = [text * (1 + 9 * (i % 7 == 0)) for i, text in enumerate(made(11, 52, 60))]
    return batch(["", *texts, "...", "A", "\x00", " \n", "", "So. " * 300, "Wait.", ""])


@functools.cache
def reference() -> np.ndarray:
    return features(some(), "rlve", "reference")


def same(got: np.ndarray, wanted: np.ndarray) -> None:
    """Bytes are compared: -0.0 is not 0.0."""
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    rows, columns = np.nonzero(got.view(np.uint32) != wanted.view(np.uint32))
    names = [feature_names("rlve")[k] for k in columns[:5]]
    assert not rows.size, (rows[:5], names)


def arrays(given_batch: pa.RecordBatch) -> np.ndarray:
    return features(given_batch, "rlve", "arrays")


def agree(texts: list[str]) -> np.ndarray:
    given_batch = batch(texts)
    wanted = features(given_batch, "rlve", "reference")
    same(arrays(given_batch), wanted)
    return wanted


@pytest.fixture
def fresh(monkeypatch):
    """No array of an earlier test is used again, so that room starts small."""
    monkeypatch.setattr(front, "_threads", threading.local())


def test_made_texts():
    same(arrays(some()), reference())
    same(front.rlve_features(some()["reasoning"]), reference())
    assert (reference() != 0).any(axis=0).mean() > 0.4  # of the transitions a third can


@settings(deadline=None, max_examples=40)
@given(st.lists(TEXTS, max_size=5))
def test_any_texts(texts):
    agree(texts)


def test_odd_pieces(fresh):
    agree([f"Check it{piece}So 4. Wait{piece}" for piece in ODD] + [*ODD, "".join(ODD)])


def test_the_pool_of_the_local_study():
    """Traces as the solvers write them."""
    pool = envs.solver_pool(SOLVED, range(1, 5), 4, 3, seed=3, max_words=10_000)
    texts = [spans.find(trace.response).reasoning for trace in pool.traces]
    assert len(texts) > 100
    assert all(agree(texts).any(axis=1))


@pytest.mark.parametrize("size", [0, 1, 300, 30_000])
def test_the_size_of_groups_does_not_matter(fresh, monkeypatch, size):
    monkeypatch.setattr(rlve, "GROUP", size)
    same(arrays(some()), reference())


EXTREME = {
    "full stops and breaks": ".\n" * 3000,
    "steps of two bytes": "a\n\n" * 3000,
    "wide steps": "\u4e00\u3002" * 3000,
    "NULs": "\x00" * 3000 + ". A" + "\x00. A" * 300,
    "one word": "x" * 30_000,
    "many words": "So " + "x " * 3000 + "\n\nThe answer is " + "3." * 3000,
    "marks left open": "$$ A. B\n\n``` C. D\n\n\\[ E. F\n\n<tool_call>" * 300,
    "a deep path": "Apply it. " * 1500 + "Check it. Maybe. Check it. " * 200,
    "answers": "The answer is 3. Answer: 3.0. " * 90,
    "no room at first": "Wait. So. " * 4000,
}


@pytest.mark.parametrize("text", EXTREME.values(), ids=EXTREME)
def test_extremes(fresh, text):
    agree(["A. B", text, "", f"So. {text}", "Wait. Check."])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_types_of_text_and_slices_of_them(kind):
    columns = [column.cast(kind) for column in some().columns]
    whole = pa.record_batch(columns, names=some().schema.names)
    same(arrays(whole.slice(7, 20)), reference()[7:27])
    same(arrays(whole.slice(whole.num_rows)), reference()[:0])


def test_nulls_are_refused():
    with pytest.raises(ValueError, match="null"):
        front.rlve_features(pa.array(["A. B", None]))


def test_families_in_turns_and_threads_at_once(fresh):
    """Each thread has room of its own for each family."""
    wanted = features(some(), "corpus", "reference")
    got: dict[int, list[np.ndarray]] = {}
    gate = threading.Barrier(4)

    def work(number: int) -> None:
        gate.wait()
        got[number] = [
            found
            for _ in range(3)
            for found in (arrays(some()), features(some(), "corpus", "arrays"))
        ]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(4))
    for found in got.values():
        for ours, others in zip(found[::2], found[1::2], strict=True):
            same(ours, reference())
            assert others.tobytes() == wanted.tobytes()


def test_a_large_pool_gets_arrays():
    assert engines.choose("rlve", "auto", 1 << 30) == "arrays"
    assert engines.choose("rlve", "auto", 1 << 10) == "reference"
    assert engine.front.rlve_features is front.rlve_features
