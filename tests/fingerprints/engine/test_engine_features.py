"""The vectors of the arrays are those of the reference, byte for byte.

How rows lie in memory, which rows come together and which thread computes them makes
no difference.
"""

import functools
import threading

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("numba")

from engine_texts import TEXTS, batch, made
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.fingerprints import engine, feature_names, features
from routejax.fingerprints.engine import corpus, front

FAMILIES = ("corpus", "dolci")


@functools.cache
def some() -> pa.RecordBatch:
    """Sixty conversations of all sizes, some without a step."""
    texts = [text * (1 + 9 * (i % 7 == 0)) for i, text in enumerate(made(5, 52, 60))]
    return batch(["", *texts, "...", "A", "\x00", " \n", "", "So. " * 300, "Wait.", ""])


@functools.cache
def reference() -> np.ndarray:
    return features(some(), "corpus", "reference")


def arrays(given_batch: pa.RecordBatch, family: str = "corpus") -> np.ndarray:
    return features(given_batch, family, "arrays")


def same(got: np.ndarray, wanted: np.ndarray, family: str = "corpus") -> None:
    """Bytes are compared: -0.0 is not 0.0."""
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    if got.tobytes() != wanted.tobytes():
        rows, columns = np.nonzero(got.view(np.uint32) != wanted.view(np.uint32))
        names = [feature_names(family)[k] for k in columns[:5]]
        raise AssertionError(f"rows {rows[:5]}: {names}")


def agree(given_batch: pa.RecordBatch) -> None:
    for family in FAMILIES:
        wanted = features(given_batch, family, "reference")
        same(arrays(given_batch, family), wanted, family)


@pytest.fixture
def fresh(monkeypatch):
    """No array of an earlier test is used again, so that room starts small."""
    monkeypatch.setattr(front, "_threads", threading.local())


def test_made_conversations():
    same(arrays(some()), reference())
    same(arrays(some(), "dolci"), reference()[:, :631], "dolci")
    assert (reference() != 0).any(axis=0).mean() > 0.6  # of the transitions a third can


@settings(deadline=None, max_examples=40)
@given(st.lists(TEXTS, max_size=5), st.lists(TEXTS, min_size=1, max_size=3))
def test_any_conversations(reasonings, others):
    prompts = [others[i % len(others)] for i in range(len(reasonings))]
    agree(batch(reasonings, prompts, prompts[::-1]))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_few_rows(count):
    same(arrays(some().slice(40, count)), reference()[40 : 40 + count])


def test_rows_without_text(fresh):
    same(arrays(batch([""] * 1000)), np.zeros((1000, 1738), np.float32))


@pytest.mark.parametrize("size", [0, 1, 300, 2_000, 30_000])
def test_the_size_of_groups_does_not_matter(fresh, monkeypatch, size):
    monkeypatch.setattr(corpus, "GROUP", size)
    same(arrays(some()), reference())


def test_groups():
    offsets = np.array([0, 3, 3, 10, 12, 12, 40, 41])
    assert list(front.groups(offsets, 10)) == [(0, 3), (3, 5), (5, 6), (6, 7)]
    assert list(front.groups(offsets + 100, 0)) == [
        (0, 1),
        *((k, k + 1) for k in range(1, 7)),
    ]
    assert list(front.groups(offsets, 41)) == [(0, 7)]
    assert list(front.groups(offsets[:1], 10)) == []


def test_one_huge_row_among_small_ones(fresh):
    """Room grows for it and serves the small ones behind it as well."""
    huge = "\n\n".join(made(7, 60))
    texts = ["So 1 = 1.", "", huge, "Wait. Check.", "", "Add 3. Check it."]
    agree(batch(texts, prompts=["p", huge, "", "q" * 9000, "", "r"]))
    agree(batch(texts[::-1]))


# Texts that make as many events of their bytes as can be, and other extremes.
DENSE = {
    "full stops and breaks": ".\n" * 3000,
    "steps of two bytes": "a\n\n" * 3000,
    "backticks": "`" * 3000,
    "dollars": "$" * 3001,
    "wide stops": "\u3002" * 3000,
    "wide steps": "\u4e00\u3002" * 3000,
    "pauses and breaks": ",\n" * 3000,
    "breaks behind a pause": "a b c," + "\n" * 3000 + "wait",
    "openers": "Wait. " * 3000,
    "markers": "a b c, so " * 1000,
    "NULs": "\x00" * 3000 + ". A" + "\x00. A" * 300,
    "one word": "x" * 30_000,
    "white space": " \n" * 3000 + "x" + "\r\n\u2028" * 3000,
    "marks left open": "$$ A. B\n\n``` C. D\n\n\\[ E. F\n\n<tool_call>" * 300,
    "begun and never ended": "\\begin{align} A. B\n\n" * 500,
    "list marks": "1. \n" * 2000,
    "apostrophes": "'a" * 2000 + "'" * 2000,
}


@pytest.mark.parametrize("text", DENSE.values(), ids=DENSE)
def test_extremes(fresh, text):
    agree(batch(["A. B", text, "", f"So. {text}"], ["p"] * 4, ["", text, "q", "r"]))


@pytest.mark.parametrize("depth", [1, 57, 58, 59, 63, 64, 65, 121, 122, 123, 186, 1500])
def test_deep_trees(fresh, depth):
    """Paths are hashed in blocks of 64 bytes, of which "path/" takes five. Every node
    of the trunk may have a leaf, and the last ones many children with some of their
    own, so that many nodes end a block."""
    trunk = ["Add 3."] * depth
    checked = [
        piece for k in range(depth) for piece in ("Add 3.", "Check it.")[: 1 + k % 2]
    ]
    texts = [[*trunk, *["Check it."] * 3], checked, [*trunk, *["Maybe."] * 300]]
    texts += [
        [*trunk, *["Maybe.", "Add 3."] * 300],
        [*trunk, *["Maybe.", "So 3.", "Oops."] * 200],
    ]
    agree(batch([" ".join(text) for text in texts]))


def linear(piece: str) -> float:
    """How much longer sixteen times as much text takes than sixteen times as long."""
    import time  # noqa: PLC0415

    def spent(times: int) -> float:
        given_batch = batch([piece * times])
        arrays(given_batch, "dolci")
        took = []
        for _ in range(3):
            begin = time.thread_time()
            arrays(given_batch, "dolci")
            took.append(time.thread_time() - begin)
        return min(took)

    return spent(64_000) / (16 * spent(4_000))


@pytest.mark.parametrize(
    "piece",
    ["Wait. ", ",\n", "\n", "\u3002", "`", "$$", ". ", "1 ", ") ", "a, ", '."', "'"],
)
def test_time_is_linear(piece):
    assert linear(piece) < 4


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str
)
def test_types_of_text_and_slices_of_them(kind):
    columns = [column.cast(kind) for column in some().columns]
    whole = pa.record_batch(columns, names=some().schema.names)
    same(arrays(whole), reference())
    same(arrays(whole.slice(7, 20)), reference()[7:27])
    same(arrays(whole.slice(7).slice(3, 4)), reference()[10:14])
    same(arrays(whole.slice(whole.num_rows)), reference()[:0])


def test_columns_that_begin_at_different_places():
    prompts, reasonings, answers = some().columns
    shifted = [pa.concat_arrays([pa.array(["x\u20acy"] * k), c])[k:] for k, c in
               enumerate((prompts, reasonings, answers), 1)]  # fmt: skip
    same(arrays(pa.record_batch(shifted, names=some().schema.names)), reference())


def test_batches_of_a_table_in_chunks():
    parts = [some().slice(a, b - a) for a, b in ((0, 1), (1, 30), (30, 30), (30, 60))]
    rest = some().slice(60)
    table = pa.Table.from_batches([*parts, rest])
    got = np.concatenate([arrays(part) for part in table.to_batches(max_chunksize=13)])
    same(got, reference())
    same(arrays(table.combine_chunks().to_batches()[0]), reference())


def test_the_memory_of_arrow_is_left_as_it_is():
    given_batch = batch(["A\u2019s. B\r\n\r\nC" * 20, "Wait. So"])
    before = given_batch.serialize().to_pybytes()
    arrays(given_batch)
    assert given_batch.serialize().to_pybytes() == before


def test_nulls_are_refused():
    column = pa.array(["A. B", None])
    for columns in ([column] * 3, [pa.array(["", ""]), column, pa.array(["", ""])]):
        with pytest.raises((ValueError, UserError), match="null"):
            arrays(pa.record_batch(columns, names=some().schema.names))


def test_eight_threads_at_once(fresh, monkeypatch):
    """Each has room of its own; rooms grow at different times."""
    monkeypatch.setattr(corpus, "GROUP", 5_000)
    got: dict[int, list[np.ndarray]] = {}
    gate = threading.Barrier(8)

    def work(number: int) -> None:
        gate.wait()
        order = np.random.default_rng(number).permutation(some().num_rows)
        mixed = some().take(pa.array(order))
        got[number] = [arrays(mixed)[np.argsort(order)] for _ in range(3)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(8))
    for rows in got.values():
        for found in rows:
            same(found, reference())


def test_the_engine_is_what_the_door_calls():
    """So that the tests above do not compare the reference with itself."""
    assert engine.front is front
    got = front.corpus_features(*some().columns)
    same(got, reference())
    same(front.dolci_features(some()["reasoning"]), reference()[:, :631], "dolci")
