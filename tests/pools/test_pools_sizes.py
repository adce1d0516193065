"""Bytes of rows by hand, where Arrow counts more."""

import pyarrow as pa

from routejax.pools.sizes import row_bytes

WORDS = pa.array(["a" * 100, None, "b" * 50, "a" * 100] * 10).dictionary_encode()


def bytes_of(column, first=0, rows=40):
    return row_bytes(pa.record_batch({"x": column}).slice(first, rows))


def test_of_a_dictionary_only_the_values_that_rows_have():
    assert bytes_of(WORDS) == 10 * 250
    assert [bytes_of(WORDS, row, 1) for row in range(4)] == [100, 0, 50, 100]


def test_dictionaries_inside_of_other_columns():
    pair = pa.StructArray.from_arrays([WORDS, WORDS], ["x", "y"])
    assert bytes_of(pair, 0, 2) == 200
    ends = pa.array(range(0, 41, 2), pa.int32())
    lists = pa.ListArray.from_arrays(ends, WORDS)
    assert bytes_of(lists, 1, 1) == 150
    numbers = pa.array([7, 8, 7]).dictionary_encode()
    assert bytes_of(numbers, 0, 1) == 8


def test_all_else_as_arrow_counts_it():
    texts = pa.array(["abc", "de"])
    assert bytes_of(texts, 0, 1) == texts.slice(0, 1).nbytes
