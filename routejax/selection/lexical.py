"""Vectors of the words a text uses: hashed TF-IDF of tokens, projected (paper C.4).

    text -> tokens -> 1- and 2-grams -> 2^21 buckets -> tf-idf -> 1,024 features -> L2

A row's vector depends on its text, on the sample's document counts and on nothing else,
so batches, threads and the order of rows change no byte. Definitions, where the paper
leaves them open:

  hash     A unigram t has the key (t+1) 2^32, a bigram (s, t) the key (s+1) 2^32 + t+1;
           its bucket is the upper bits of the first output of SplitMix64 seeded with
           the key. No signs: counts of a bucket add up.
  tf       1 + ln(count)
  idf      ln((1 + n)/(1 + df)) + 1 over the n documents of the sample
  sample   the ceil(5 %) rows whose SHA-256 of "seed:id" is lowest
  signs    bucket b owns w = ceil(ceil(r/32)/2) outputs of SplitMix64 seeded with
           `seed`, from the (b w)-th on, as 2w half words of 32 bits, the lower first.
           With h = ceil(r/32), the sign of column c is bit 31 - c//h of half word
           c mod h, plus where it is set.
  weights  tf-idf of a document at length 2^20, rounded to integers: the projection is
           a sum of integers below 2^31 in size, exact in any order.

Signs are made anew whenever a bucket is met: 70 to 100 ns for 1,024 columns, where a
table of them costs 300 to 700 ns because it never stays in a cache (256 MB as bits,
2 GB as bytes). Left out: which text a row has and what cuts it into tokens.
"""

import hashlib
import importlib
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64, Num

from routejax.errors import UserError
from routejax.selection.columns import Column, order_of_ids, taken, texts
from routejax.selection.grid import Grid, hashed, scale_for
from routejax.selection.vectors import room

BUCKETS = 2**21
FEATURES = 1024
SAMPLE = Fraction(1, 20)

Encode = Callable[[list[str]], Sequence[Sequence[int] | Int[np.ndarray, "_"]]]
Batches = Callable[[], Iterable[tuple[Int64[np.ndarray, "_"], Sequence[str]]]]


class Documents(NamedTuple):
    """Token ids of documents one after the other; document d is starts[d:d+2]."""

    tokens: Int64[np.ndarray, "tokens"]
    starts: Int64[np.ndarray, "documents+1"]


def lexical_vectors(
    batches: Batches,
    ids: Column,
    encode: Encode,
    *,
    r: int = FEATURES,
    buckets: int = BUCKETS,
    sample: Fraction = SAMPLE,
    seed: int = 42,
    exact: bool = True,
    scratch: Path | None = None,
) -> Grid | Num[np.ndarray, "N R"]:
    """Unit vectors of all rows in order of `ids`: on the grid, or float32.

    The texts are read twice: the sample's for document counts, then all of them. What
    is held is a batch, two arrays of `buckets` and the vectors. A text without tokens
    has the vector zero.

    Args:
        batches: gives, each time it is called, (rows, texts) of all rows in pieces of
            any size and order; rows count from 0 in the order of `ids`.
        ids: one id per row; they decide the sample.
        encode: token ids of each text of a list.
        r, buckets: features, and hash buckets (a power of two, at most 2^21).
        sample, seed: share of rows that document counts are taken from, and what draws
            them and the signs.
        scratch: a folder that may hold the vectors, see `open_vectors`.

    Raises:
        UserError: a row that has no text or two, ids that `canonical_order` refuses, a
            token id not in 0..2^31-1, settings out of range.
    """
    if r < 1:
        raise UserError(f"r must be at least 1 (features), got {r}")
    names = texts("ids", ids)
    sampled = in_sample(names, sample, seed)
    counts = np.zeros(_checked(buckets), np.int64)
    for rows, words in batches():
        _check_rows(rows, words, len(sampled))
        inside = [words[int(i)] for i in np.flatnonzero(sampled[rows])]
        counts += document_counts(_encoded(encode, inside), buckets)
    idf = inverse_document_frequency(counts, int(sampled.sum()))
    scale = scale_for(r)
    out = room((len(names), r), "<i2" if exact else "<f4", scratch)
    seen = np.zeros(len(names), bool)
    for rows, words in batches():
        _check_rows(rows, words, len(seen))
        _check_fresh(rows, seen)
        unit = _unit(project_documents(_encoded(encode, list(words)), idf, r, seed))
        out[rows] = np.rint(unit * scale) if exact else unit
        seen[rows] = True
    if not seen.all():
        row, missing = int(seen.argmin()), len(seen) - int(seen.sum())
        raise UserError(
            f"{missing} of {len(seen)} rows have no text, the first is row {row} "
            f"(id {names[row].as_py()!r}); give the text of every row"
        )
    return hashed(out, scale) if exact else out


def in_sample(
    ids: Column, share: Fraction = SAMPLE, seed: int = 42
) -> Bool[np.ndarray, "N"]:
    """Whether each row is among the ceil(share N) that the ids alone decide.

    Raises:
        UserError: a share not in (0, 1], ids that `canonical_order` refuses.
    """
    if not 0 < share <= 1:
        raise UserError(f"the sample must be a share in (0, 1], got {share}")
    names = texts("ids", ids)
    order = order_of_ids(names)
    start = f"{seed}:".encode()
    digests = np.array(
        [
            int.from_bytes(hashlib.sha256(start + name.encode()).digest()[:8], "big")
            for name in taken(names, order).to_pylist()
        ],
        np.uint64,
    )
    lowest = np.argsort(digests, kind="stable")[: -(-len(names) * share // 1)]
    inside = np.zeros(len(names), bool)
    inside[order[lowest]] = True
    return inside


def document_counts(
    documents: Documents, buckets: int = BUCKETS
) -> Int64[np.ndarray, "buckets"]:
    """In how many documents each bucket occurs; counts of several batches add up."""
    found = np.zeros(_checked(buckets), np.int64)
    room_for = _room_for(documents, buckets)
    _engine().add_documents(*documents, _shift(buckets), *room_for, found)
    return found


def inverse_document_frequency(
    counts: Int64[np.ndarray, "buckets"], documents: int
) -> Float64[np.ndarray, "buckets"]:
    """ln((1 + n)/(1 + df)) + 1, as if one more document held every bucket."""
    return np.log((1 + documents) / (1 + counts)) + 1


def project_documents(
    documents: Documents,
    idf: Float64[np.ndarray, "buckets"],
    r: int = FEATURES,
    seed: int = 42,
) -> Int64[np.ndarray, "documents R"]:
    """Each document's TF-IDF at length 2^20 times the matrix of signs, exact."""
    buckets = _checked(len(idf))
    out = np.empty((len(documents.starts) - 1, r), np.int64)
    room_for = _room_for(documents, buckets)
    _engine().project(*documents, _shift(buckets), idf, np.uint64(seed), *room_for, out)
    return out


def documents_of(encoded: Sequence[Sequence[int] | Int[np.ndarray, "_"]]) -> Documents:
    """Token ids of several texts as two arrays.

    Raises:
        UserError: a token id that is not in 0..2^31-1.
    """
    sizes = [len(tokens) for tokens in encoded]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tokens = np.empty(int(starts[-1]), np.int64)
    for i, one in enumerate(encoded):
        tokens[starts[i] : starts[i + 1]] = one
    if len(tokens) and not 0 <= tokens.min() <= tokens.max() < 2**31:
        raise UserError(
            f"token ids must be in 0..{2**31 - 1}, got {tokens.min()}..{tokens.max()}"
        )
    return Documents(tokens, starts)


def _encoded(encode: Encode, words: list[str]) -> Documents:
    encoded = encode(words) if words else []
    if len(encoded) != len(words):
        raise UserError(
            f"the tokenizer must give the ids of each of {len(words)} texts, "
            f"got {len(encoded)}; it is called with a list"
        )
    return documents_of(encoded)


def _unit(rows: Int64[np.ndarray, "B R"]) -> Float64[np.ndarray, "B R"]:
    """At length 1; zero stays zero."""
    values = rows.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
    return np.divide(values, norms, out=values, where=norms > 0)


def _engine():  # numba is imported when tokens are met
    return importlib.import_module("routejax.selection.lexical_engine")


def _shift(buckets: int) -> np.uint64:
    return np.uint64(65 - buckets.bit_length())


def _room_for(
    documents: Documents, buckets: int
) -> tuple[Int32[np.ndarray, "buckets"], Int64[np.ndarray, "most"]]:
    """Zero counts, and places for the buckets of the longest document."""
    longest = int(np.diff(documents.starts).max(initial=0))
    return np.zeros(buckets, np.int32), np.empty(min(buckets, 2 * longest), np.int64)


def _checked(buckets: int) -> int:
    if not 2 <= buckets <= BUCKETS or buckets & (buckets - 1):
        raise UserError(f"buckets must be a power of two in 2..2^21, got {buckets}")
    return buckets


def _check_rows(rows: Int64[np.ndarray, "_"], words: Sequence[str], count: int) -> None:
    if len(rows) != len(words):
        raise UserError(
            f"a batch must have one text per row, got {len(words)} texts for "
            f"{len(rows)} rows"
        )
    if len(rows) and not 0 <= rows.min() <= rows.max() < count:
        raise UserError(
            f"rows must be in 0..{count - 1}, got {rows.min()}..{rows.max()}"
        )


def _check_fresh(rows: Int64[np.ndarray, "_"], seen: Bool[np.ndarray, "N"]) -> None:
    again = np.sort(rows)
    repeats = [*again[1:][again[1:] == again[:-1]], *rows[seen[rows]]]
    if repeats:
        raise UserError(f"row {repeats[0]} has more than one text; give each row once")
