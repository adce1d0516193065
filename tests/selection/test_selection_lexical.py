"""Lexical vectors: a plain reference, hand-worked counts, batches, and what is odd."""

import hashlib
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.selection import lexical, lexical_vectors, select
from routejax.selection.grid import to_grid

ALL = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def split_mix(seed, number):
    """Output `number` (from 0) of SplitMix64."""
    z = (seed + (number + 1) * STEP) & ALL
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ALL
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ALL
    return z ^ (z >> 31)


def grams(tokens, buckets):
    """Counts by bucket, in order of first appearance."""
    found = Counter()
    for i, token in enumerate(tokens):
        keys = [(token + 1) << 32]
        if i:
            keys.append(((tokens[i - 1] + 1) << 32) + token + 1)
        for key in keys:
            found[split_mix(key, 0) >> (65 - buckets.bit_length())] += 1
    return found


def signs(bucket, r, seed):
    halves = -(-r // 32)
    words = -(-halves // 2)
    parts = []
    for i in range(words):
        word = split_mix(seed, bucket * words + i)
        parts += [word & 0xFFFFFFFF, word >> 32]
    return [1 if parts[c % halves] >> (31 - c // halves) & 1 else -1 for c in range(r)]


def reference(documents, inside, *, r, buckets, seed):
    """Integer projections in plain Python."""
    counted = [grams(tokens, buckets) for tokens in documents]
    frequency = Counter()
    for one, taken in zip(counted, inside, strict=True):
        if taken:
            frequency.update(one.keys())
    rows = np.zeros((len(documents), r), int)
    for row, one in enumerate(counted):
        weight = {
            bucket: (1 + math.log(count))
            * (math.log((1 + sum(inside)) / (1 + frequency[bucket])) + 1)
            for bucket, count in one.items()
        }
        length = math.sqrt(sum(w * w for w in weight.values()))
        for bucket, w in weight.items():
            whole = round(w * (2**20 / length))
            rows[row] += whole * np.array(signs(bucket, r, seed))
    return rows


def test_the_generator_is_split_mix():
    # first outputs for the seed 1234567, as published with the generator
    assert [split_mix(1234567, i) for i in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_counts_by_hand():
    documents = lexical.documents_of([[5, 6, 5, 6], [6], []])
    counts = lexical.document_counts(documents)
    # 5, 6, (5 6), (6 5) and, in the second, 6: four buckets, one of them twice
    assert sorted(counts[counts > 0].tolist()) == [1, 1, 1, 2]
    six = split_mix(7 << 32, 0) >> 43
    assert counts[six] == 2
    idf = lexical.inverse_document_frequency(counts, 2)
    assert idf[six] == 1
    assert sorted(set(idf.tolist())) == [1, math.log(3 / 2) + 1, math.log(3) + 1]


def test_a_document_of_one_bucket_is_its_signs():
    documents = lexical.documents_of([[3], [3], []])
    idf = np.ones(2**21)
    rows = lexical.project_documents(documents, idf, 100, seed=9)
    expected = 2**20 * np.array(signs(split_mix(4 << 32, 0) >> 43, 100, 9))
    assert rows.tolist() == [expected.tolist()] * 2 + [[0] * 100]


_TOKENS = st.lists(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 3), max_size=12))


@given(_TOKENS, st.sampled_from([1, 31, 64, 100]), st.sampled_from([2, 64, 2**21]))
@settings(deadline=None, max_examples=60)
def test_projections_are_those_of_the_reference(documents, r, buckets):
    ids = [f"{i}" for i in range(len(documents))]
    inside = lexical.in_sample(ids, Fraction(1, 2))
    expected = reference(documents, inside, r=r, buckets=buckets, seed=42)
    sampled = [d for d, taken in zip(documents, inside, strict=True) if taken]
    counts = lexical.document_counts(lexical.documents_of(sampled), buckets)
    idf = lexical.inverse_document_frequency(counts, int(inside.sum()))
    found = lexical.project_documents(lexical.documents_of(documents), idf, r)
    assert found.tolist() == expected.tolist()


def test_signs_are_balanced_and_independent():
    found = np.array([signs(bucket, 1024, 42) for bucket in range(200)])
    # means of 200 and of 1,024 signs: standard deviations .071 and .031
    assert abs(found.mean(axis=0)).max() < 5 * 200**-0.5
    assert abs(found.mean(axis=1)).max() < 5 * 1024**-0.5
    products = found @ found.T / 1024 - np.eye(200)
    assert abs(products).max() < 5.5 / 32


def words(count=40, seed=0):
    rng = np.random.default_rng(seed)
    return [
        "".join(rng.choice(list("abcdefgh "), rng.integers(1, 60)))
        for _ in range(count)
    ]


def letters(texts):
    return [[ord(c) for c in text] for text in texts]


def batches_of(texts, order, size):
    def batches():
        for first in range(0, len(order), size):
            rows = np.asarray(order[first : first + size], np.int64)
            yield rows, [texts[row] for row in rows]

    return batches


def test_batches_and_their_order_change_no_byte():
    texts = words()
    ids = [f"t{i}" for i in range(40)]
    whole = lexical_vectors(batches_of(texts, range(40), 40), ids, letters)
    assert whole.values.shape == (40, 1024)
    assert whole.scale == 4080
    rng = np.random.default_rng(1)
    for size in (1, 3, 39):
        batches = batches_of(texts, rng.permutation(40), size)
        assert lexical_vectors(batches, ids, letters).sha256 == whole.sha256
    back = lexical_vectors(batches_of(texts[::-1], range(40), 7), ids[::-1], letters)
    assert np.array_equal(back.values, whole.values[::-1])
    norms = np.linalg.norm(whole.values, axis=1)
    assert norms == pytest.approx(np.full(40, 4080), rel=0.004)


def test_vectors_follow_the_cosines_of_tf_idf():
    texts, r, everything = words(30), 1024, Fraction(1)
    ids = [f"t{i}" for i in range(30)]
    batches = batches_of(texts, range(30), 8)
    found = lexical_vectors(batches, ids, letters, sample=everything, exact=False)
    counted = [grams(tokens, 2**21) for tokens in letters(texts)]
    columns = sorted(set().union(*counted))
    counts = np.array([[one[c] for c in columns] for one in counted])
    tf = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    weights = tf * (np.log(31 / (1 + (counts > 0).sum(axis=0))) + 1)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    assert found.dtype == np.float32
    gaps = found @ found.T - weights @ weights.T
    assert abs(gaps).max() < 4.5 / math.sqrt(r)


def test_scikit_learn_has_the_same_weights():
    # only its hash differs, so its counts are ours
    text = pytest.importorskip("sklearn.feature_extraction.text")
    documents = letters(words(20))
    weigher = text.TfidfTransformer(sublinear_tf=True, smooth_idf=True)
    counted = [grams(tokens, 2**21) for tokens in documents]
    columns = sorted(set().union(*counted))
    counts = np.array([[one[c] for c in columns] for one in counted])
    theirs = weigher.fit_transform(counts)
    packed = lexical.documents_of(documents)
    found = lexical.document_counts(packed)
    idf = lexical.inverse_document_frequency(found, 20)
    assert idf[columns] == pytest.approx(weigher.idf_)
    ours = lexical.project_documents(packed, idf, 64, seed=1) / 2**20
    table = np.array([signs(column, 64, 1) for column in columns])
    assert ours == pytest.approx(theirs @ table, abs=1e-3)


def test_the_sample_is_a_fixed_share():
    ids = [f"row-{i}" for i in range(1001)]
    inside = lexical.in_sample(ids)
    assert inside.sum() == 51
    digests = {i: hashlib.sha256(f"42:{i}".encode()).digest() for i in ids}
    lowest = sorted(ids, key=digests.__getitem__)[:51]
    assert {i for i, taken in zip(ids, inside, strict=True) if taken} == set(lowest)
    assert np.array_equal(lexical.in_sample(ids[::-1]), inside[::-1])
    assert not np.array_equal(lexical.in_sample(ids, seed=1), inside)
    assert lexical.in_sample(["alone"]).tolist() == [True]
    assert lexical.in_sample([]).tolist() == []


def test_texts_without_tokens_and_equal_texts():
    texts = ["", "abc", "abc", "abc", "abc", "abc"]
    ids = [f"{i}" for i in range(6)]
    grid = lexical_vectors(batches_of(texts, range(6), 4), ids, letters)
    assert not grid.values[0].any()
    assert (grid.values[1:] == grid.values[1]).all()
    chosen = select(
        "lexical_fps",
        ids=ids,
        groups=["g"] * 6,
        prompt_ids=ids,
        phi=np.eye(6, dtype="f4"),
        n=6,
        spaces={"lexical": grid},
    )
    assert chosen.ids == ids
    assert chosen.report["space"]["grid"]["scale"] == 4080


def test_distant_words_are_picked_first():
    texts = ["aaaa", "aaab", "zyzy", "aaaa", "mmmm"]
    ids = list("abcde")
    for exact in (True, False):
        vectors = lexical_vectors(
            batches_of(texts, range(5), 2), ids, letters, exact=exact
        )
        chosen = select(
            "lexical_fps",
            ids=ids,
            groups=["g"] * 5,
            prompt_ids=ids,
            phi=np.eye(5, dtype="f4"),
            n=3,
            precision="exact" if exact else "float32",
            spaces={"lexical": vectors},
        )
        assert {"c", "e"} < set(chosen.ids)


@pytest.mark.parametrize(
    ("change", "words_of_error"),
    [
        ({"r": 0}, "r must be at least 1"),
        ({"buckets": 1000}, "power of two in 2"),
        ({"buckets": 2**22}, r"power of two in 2\.\.2\^21, got 4194304"),
        ({"sample": Fraction(0)}, r"share in \(0, 1\], got 0"),
        ({"ids": ["a", "a", "b"]}, "unique, 'a' stands in rows 0 and 1"),
        ({"encode": lambda texts: []}, "each of 3 texts, got 0"),
        ({"encode": lambda texts: [[-1]] * len(texts)}, r"in 0\.\..*, got -1\.\.-1"),
        ({"rows": [0, 1]}, "1 of 3 rows have no text, the first is row 2 .id 'c'"),
        ({"rows": [0, 1, 2, 1]}, "row 1 has more than one text"),
        ({"rows": [0, 1, 3]}, r"rows must be in 0\.\.2, got 0\.\.3"),
    ],
)
def test_mistakes_are_named(change, words_of_error):
    rows = change.pop("rows", [0, 1, 2])
    arguments = {"ids": ["a", "b", "c"], "encode": letters, "sample": Fraction(1)}
    batches = batches_of(["ab"] * 4, rows, 4)
    with pytest.raises(UserError, match=words_of_error):
        lexical_vectors(batches, **(arguments | change))


def test_a_batch_has_a_text_per_row():
    with pytest.raises(UserError, match="one text per row, got 1 texts for 2 rows"):
        lexical_vectors(lambda: [(np.arange(2), ["a"])], ["a", "b"], letters)


def test_vectors_in_a_scratch_file(tmp_path):
    texts, ids = words(9), [f"{i}" for i in range(9)]
    batches = batches_of(texts, range(9), 4)
    found = lexical_vectors(batches, ids, letters, scratch=tmp_path)
    assert isinstance(found.values, np.memmap)
    assert found.sha256 == lexical_vectors(batches, ids, letters).sha256
    assert to_grid(found.values / 1.0, 1).values.shape == (9, 1024)
    assert list(tmp_path.iterdir()) == []
