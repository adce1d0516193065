"""Matrices in files, opened without reading them: npy, Parquet, Zarr.

A file gives its shape, blocks of rows in its own order, and ids where it has them. What
the vectors mean and whose they are is `vectors`' affair.
"""

# pyarrow.compute makes its functions when it is imported.
# pyright: reportAttributeAccessIssue=false

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from routejax.errors import UserError

_BLOCK_ENTRIES = 2**22  # of a block: 32 MiB once they are float64
_ARROW_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}
_FLOATS = ("float16", "bfloat16", "float32", "float64")


class Matrix(NamedTuple):
    """Rows of a file; `ids` is None where the file has none."""

    rows: int
    width: int
    ids: pa.Array | pa.ChunkedArray | None
    blocks: Callable[[], Iterator[np.ndarray]]


def open_matrix(path: Path, id_column: str, vector_column: str | None) -> Matrix:
    """The matrix in a `.npy` or `.parquet` file, a folder of Parquet, or a Zarr array.

    Raises:
        UserError: no such file, another format, a damaged one, or not a matrix of
            floating-point numbers.
    """
    if not path.exists():
        raise UserError(f"there is no {path}; give the file that holds the vectors")
    kind = _kind(path)
    try:
        if kind == "npy":
            return _npy(path)
        if kind == "zarr":
            return _zarr(path)
        return _parquet(path, id_column, vector_column)
    except UserError:
        raise
    except (ValueError, OSError, EOFError, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be read as {kind}: {error}") from error


def read_ids(path: Path, id_column: str) -> pa.Array | pa.ChunkedArray:
    """Ids of a text file, one a line, or of a Parquet file's column of ids.

    Raises:
        UserError: there is no such file or column.
    """
    if not path.exists():
        raise UserError(f"there is no {path}; give the file that holds the ids")
    if path.suffix == ".parquet":
        _require(path, pq.read_schema(path).names, id_column)
        return pq.read_table(path, columns=[id_column])[id_column]
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    try:
        found = pa.array(lines, pa.large_binary())
        return found.cast(pa.large_string())
    except pa.ArrowException as error:
        raise UserError(f"{path} must be ids in UTF-8, one a line: {error}") from error


def _kind(path: Path) -> str:
    if path.is_dir():
        if any((path / name).exists() for name in (".zarray", "zarr.json", ".zgroup")):
            return "zarr"
        if any(path.glob("*.parquet")):
            return "parquet"
    elif path.suffix in (".npy", ".parquet"):
        return path.suffix[1:]
    raise UserError(
        f"vectors must be in a .npy or .parquet file, a folder of Parquet files or a "
        f"Zarr array, got {path}"
    )


def _checked(path: Path, shape: tuple[int, ...], dtype: Any) -> tuple[int, int]:
    if len(shape) != 2 or not shape[1]:
        raise UserError(
            f"{path} must hold a matrix, one row per vector, got the shape {shape}"
        )
    _check_floats(path, dtype.name)
    return shape[0], shape[1]


def _check_floats(path: Path, name: str) -> None:
    if name not in _FLOATS:
        raise UserError(
            f"{path} must hold one of {', '.join(_FLOATS)}, got {name}; convert it"
        )


def _starts(rows: int, step: int) -> Iterator[slice]:
    for first in range(0, rows, step):
        yield slice(first, min(rows, first + step))


def block_rows(width: int) -> int:
    """Rows of a block of vectors of so many features."""
    return max(1, _BLOCK_ENTRIES // width)


def _npy(path: Path) -> Matrix:
    values = np.load(path, mmap_mode="r", allow_pickle=False)
    rows, width = _checked(path, values.shape, values.dtype)

    def blocks() -> Iterator[np.ndarray]:
        # mapped anew for every block, or the pages read so far stay in memory
        for block in _starts(rows, block_rows(width)):
            yield np.load(path, mmap_mode="r", allow_pickle=False)[block]

    return Matrix(rows, width, None, blocks)


def _zarr(path: Path) -> Matrix:
    tensorstore = importlib.import_module("tensorstore")
    version = "zarr3" if (path / "zarr.json").exists() else "zarr"
    if (path / ".zgroup").exists() or (
        version == "zarr3"
        and json.loads((path / "zarr.json").read_bytes()).get("node_type") == "group"
    ):
        raise UserError(f"{path} is a Zarr group; give the folder of the array in it")
    spec = {"driver": version, "kvstore": {"driver": "file", "path": f"{path}/"}}
    store = tensorstore.open(spec, read=True).result()
    rows, width = _checked(path, tuple(store.shape), store.dtype)
    chunk = store.chunk_layout.read_chunk.shape[0]
    step = max(1, block_rows(width) // chunk) * chunk  # no chunk is decoded twice

    def blocks() -> Iterator[np.ndarray]:
        for block in _starts(rows, step):
            yield np.asarray(store[block].read().result())

    return Matrix(rows, width, None, blocks)


def _parquet(path: Path, id_column: str, vector_column: str | None) -> Matrix:
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    schema = pq.read_schema(files[0])
    column = _vector_column(path, schema, vector_column)
    for file in files:
        _require(file, pq.read_schema(file).names, column)
        _require(file, pq.read_schema(file).names, id_column)
    name = str(schema.field(column).type.value_type)
    _check_floats(path, _ARROW_FLOATS.get(name, name))
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    width = _first_width(files, column)

    def blocks() -> Iterator[np.ndarray]:
        done = 0
        for file in files:
            with pq.ParquetFile(file) as opened:
                for batch in opened.iter_batches(block_rows(width), columns=[column]):
                    yield _matrix(path, batch.column(0), width, done)
                    done += len(batch)

    ids = pa.chunked_array(
        [
            chunk.cast(pa.large_string())
            for file in files
            for chunk in pq.read_table(file, columns=[id_column])[id_column].chunks
        ],
        pa.large_string(),
    )
    return Matrix(rows, width, ids, blocks)


def _vector_column(path: Path, schema: pa.Schema, asked: str | None) -> str:
    if asked is not None:
        _require(path, schema.names, asked)
    names = [
        name
        for name in ([asked] if asked is not None else schema.names)
        if isinstance(schema.field(name).type, _LISTS)
    ]
    if len(names) != 1:
        raise UserError(
            f"{path} must have one column of lists, got {', '.join(names) or 'none'}; "
            "name the column of vectors"
        )
    return names[0]


_LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)


def _require(path: Path, names: list[str], column: str) -> None:
    if column not in names:
        raise UserError(f"{path} has no column {column!r}, only {', '.join(names)}")


def _first_width(files: list[Path], column: str) -> int:
    for file in files:
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(1, columns=[column]):
                width = pc.list_value_length(batch.column(0))[0].as_py()
                if not width:
                    raise UserError(f"{file} has no vector in its first row")
                return width
    raise UserError(f"{files[0]} has no rows; it must hold a vector per candidate")


def _matrix(path: Path, column: pa.Array, width: int, first: int) -> np.ndarray:
    """The lists of a batch as rows of a matrix.

    Raises:
        UserError: a list is missing, of another length, or has an empty entry.
    """
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    wrong = np.flatnonzero(lengths != width)
    if len(wrong):
        raise UserError(
            f"vectors must have {width} features like the first, {path} has "
            f"{lengths[wrong[0]]} in row {first + wrong[0]}"
        )
    entries = column.flatten()
    if entries.null_count:
        row = entries.is_null().index(True).as_py() // width
        raise UserError(f"{path} has an empty entry in the vector of row {first + row}")
    return entries.to_numpy(zero_copy_only=False).reshape(-1, width)
