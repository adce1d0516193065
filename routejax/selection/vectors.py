"""Vectors made elsewhere (embeddings, gradients), brought to the rows of the pool.

Vectors belong to rows by id: in Parquet beside the vector, for npy and Zarr in
`<name>.ids.txt` (one a line) or `<name>.ids.parquet` beside the file. Files are read in
blocks, so they may be larger than memory; the rows that come out are of unit length, on
the grid, in 2 bytes an entry, and may lie in a scratch file.
"""

# pyarrow.compute makes its functions when it is imported.
# pyright: reportAttributeAccessIssue=false

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Float64, Int64, Num

from routejax.errors import UserError
from routejax.selection.columns import Column, texts
from routejax.selection.grid import Grid, hashed, scale_for
from routejax.selection.vector_files import block_rows, open_matrix, read_ids

_SHOWN = 3  # rows that a message names
_IDS = (".ids.txt", ".ids.parquet")


class Vectors(NamedTuple):
    """One vector per id, read block by block in an order of their own.

    Attributes:
        name: what messages call them.
        ids: whose vectors they are, in the order of the rows.
        width: features of a vector.
        blocks: rows from the first to the last, each time it is called.
        scratch: folder for the rows brought to the grid; None for memory.
        of_pool: the ids are those of the pool in its order, as the file has none.
    """

    name: str
    ids: pa.LargeStringArray
    width: int
    blocks: Callable[[], Iterator[Float[np.ndarray, "B R"]]]
    scratch: Path | None = None
    of_pool: bool = False


def open_vectors(
    path: str | Path,
    *,
    ids: str | Path | None = None,
    pool_ids: Column | None = None,
    id_column: str = "id",
    vector_column: str | None = None,
    scratch: str | Path | None = None,
) -> Vectors:
    """The vectors in a file; nothing but ids is read yet.

    Args:
        path: a `.npy` file, a `.parquet` file or a folder of them, or a Zarr array,
            of float16, bfloat16, float32 or float64.
        ids: file of the ids of a npy or Zarr matrix, where it is not the one beside it.
        pool_ids: ids of all rows of the pool in its own order. They are those of the
            vectors where no file of ids is found; then the numbers of rows must agree.
        id_column, vector_column: of Parquet; by default the only column of lists.
        scratch: a folder on disk that may hold the rows when a method reads them, for
            those larger than memory: 2 bytes an entry. Nothing stays there.

    Raises:
        UserError: see `open_matrix`; no ids, more or fewer than vectors, an id that is
            no text or occurs twice.
    """
    path = Path(path)
    matrix = open_matrix(path, id_column, vector_column)
    found = matrix.ids
    if found is None:
        found = _ids_beside(path, ids, pool_ids, id_column)
    names = texts(f"ids of {path}", found)
    if len(names) != matrix.rows:
        raise UserError(
            f"{path} has {matrix.rows} vectors for {len(names)} ids; there must be one "
            "per id, in the same order"
        )
    _check_unique(path, names)
    folder = None if scratch is None else Path(scratch)
    of_pool = found is pool_ids
    return Vectors(str(path), names, matrix.width, matrix.blocks, folder, of_pool)


def in_memory(
    name: str, values: Float[np.ndarray, "N R"], ids: pa.LargeStringArray
) -> Vectors:
    """Vectors that are an array (a memory map will do), one per id in this order."""
    if len(values) != len(ids):
        raise UserError(
            f"{name} must have one row per candidate ({len(ids)}), got {len(values)}"
        )

    def blocks() -> Iterator[np.ndarray]:
        step = block_rows(values.shape[1])
        for first in range(0, len(values), step):
            yield values[first : first + step]

    return Vectors(name, ids, values.shape[1], blocks)


def rows_of_ids(vectors: Vectors, ids: pa.LargeStringArray) -> Int64[np.ndarray, "N"]:
    """The row of each id's vector; vectors of other ids are no mistake.

    Raises:
        UserError: ids without a vector.
    """
    if ids is vectors.ids:
        return np.arange(len(ids))
    rows = pc.index_in(ids, value_set=vectors.ids)
    if rows.null_count:
        without = np.flatnonzero(rows.is_null().to_numpy(zero_copy_only=False))
        shown = _listed(f"{ids[i].as_py()!r} (row {i})" for i in without[:_SHOWN])
        raise UserError(
            f"{vectors.name} has no vector for {len(without)} of {len(ids)} "
            f"candidates, the first {shown}; make those or leave the rows out"
        )
    return rows.to_numpy().astype(np.int64)


def read_rows(
    vectors: Vectors, rows: Int64[np.ndarray, "n"], *, exact: bool = True
) -> Grid | Num[np.ndarray, "n R"]:
    """The vectors `rows` in this order, of unit length: on the grid, or float32.

    The scale of the grid is that of `scale_for`: lower than 4080 above 1,024 features.

    Raises:
        UserError: a vector that is not finite or is zero; the disk is full.
    """
    scale = scale_for(vectors.width)
    out = room((len(rows), vectors.width), "<i2" if exact else "<f4", vectors.scratch)
    place = np.full(len(vectors.ids), -1)
    place[rows] = np.arange(len(rows))
    first = 0
    for block in vectors.blocks():
        to = place[first : first + len(block)]
        wanted = np.flatnonzero(to >= 0)
        if len(wanted):
            unit = _unit(vectors, block[wanted], first + wanted)
            out[to[wanted]] = np.rint(unit * scale) if exact else unit
        first += len(block)
    return hashed(out, scale) if exact else out


def _unit(
    vectors: Vectors, block: Float[np.ndarray, "B R"], rows: Int64[np.ndarray, "B"]
) -> Float64[np.ndarray, "B R"]:
    """The same directions at length 1."""
    values = np.array(block, np.float64, order="C")
    largest = np.abs(values).max(axis=1)
    for wrong, what in ((~np.isfinite(largest), "finite"), (largest == 0, "not zero")):
        if wrong.any():
            named = rows[wrong][:_SHOWN]
            shown = _listed(f"{int(i)} (id {vectors.ids[i].as_py()!r})" for i in named)
            raise UserError(
                f"vectors must be {what}; {vectors.name} has another in row {shown}"
                f"{', ...' if wrong.sum() > _SHOWN else ''}; make those again or leave "
                "the rows out"
            )
    values /= largest[:, None]  # so that no square overflows
    values /= np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
    return values


def room(shape: tuple[int, int], dtype: str, scratch: Path | None) -> np.ndarray:
    """An array in memory, or in a file of `scratch` that has no name.

    The disk space is taken at once: a map that meets a full disk would end the process.
    """
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if scratch is None or not size:
        return np.empty(shape, dtype)
    try:
        with tempfile.TemporaryFile(dir=scratch) as file:
            os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype, "r+", shape=shape)
    except OSError as error:
        raise UserError(
            f"{scratch} cannot hold {size / 2**30:.1f} GiB of vectors "
            f"({error.strerror}); free some space or choose another folder"
        ) from error


def ids_beside(path: Path) -> tuple[Path | None, Path]:
    """The file of ids beside a matrix, None if there is none, and what to call one."""
    stem = path.with_name(path.name.removesuffix(".npy").removesuffix(".zarr"))
    beside = [stem.with_name(stem.name + ending) for ending in _IDS]
    return next((file for file in beside if file.exists()), None), beside[0]


def _ids_beside(
    path: Path, ids: str | Path | None, pool_ids: Column | None, id_column: str
) -> Column:
    if ids is not None:
        return read_ids(Path(ids), id_column)
    file, preferred = ids_beside(path)
    if file:
        return read_ids(file, id_column)
    if pool_ids is not None:
        return pool_ids
    raise UserError(
        f"{path} has no ids; put them beside it in {preferred.name}, one a line in the "
        "order of the vectors, or say that it has the pool's order"
    )


def _check_unique(path: Path, ids: pa.LargeStringArray) -> None:
    codes = ids.dictionary_encode().indices.to_numpy()
    fresh = np.maximum.accumulate(codes) if len(codes) else codes
    repeats = np.flatnonzero(codes[1:] <= fresh[:-1]) + 1
    if len(repeats):
        row = int(repeats[0])
        before = int(np.flatnonzero(codes == codes[row])[0])
        raise UserError(
            f"{path} has {len(repeats)} ids more than once, first "
            f"{ids[row].as_py()!r} in rows {before} and {row}; keep one vector per id"
        )


def _listed(words: Iterator[str]) -> str:
    return ", ".join(words)
