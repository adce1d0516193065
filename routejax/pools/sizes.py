"""How much memory rows take, without what only seems to be theirs.

Arrow counts a whole dictionary for every slice of a column, however few of its values
the slice has.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def row_bytes(batch: pa.RecordBatch) -> int:
    """Bytes of the values in a batch, of a dictionary those that its rows have."""
    return sum(map(_bytes, batch.columns))


def _bytes(column: pa.Array) -> int:
    if not _has_dictionary(column.type):
        return column.nbytes
    if isinstance(column, pa.DictionaryArray):
        lengths = _lengths(column.dictionary).take(column.indices)
        return pc.call_function("sum", [lengths]).as_py() or 0
    if isinstance(column, pa.StructArray):
        return sum(map(_bytes, column.flatten()))
    if isinstance(column, pa.ExtensionArray):
        return _bytes(column.storage)
    return _bytes(column.flatten())  # any kind of list


def _lengths(dictionary: pa.Array) -> pa.Array:
    """Bytes of each value of a dictionary; the mean of those that are no text."""
    try:
        return pc.call_function("binary_length", [dictionary])
    except pa.ArrowException:
        mean = dictionary.nbytes // max(1, len(dictionary))
        return pa.repeat(pa.scalar(mean, pa.int64()), len(dictionary))


def _has_dictionary(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return _has_dictionary(kind.storage_type)
    return any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))
