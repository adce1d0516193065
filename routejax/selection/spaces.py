"""Vector spaces beside phi: what a method asks for by name, read when it asks.

A space may be a grid or a matrix in the order of the caller's columns, `Vectors` whose
ids say whose they are, or a function that makes one of these. Only one space is held at
a time, and for as long as a method works in it.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int64, Num

from routejax.errors import UserError
from routejax.selection.grid import Grid, hashed
from routejax.selection.vectors import Vectors, in_memory, read_rows, rows_of_ids

Array = Float[np.ndarray, "_ _"]
Source = Grid | Vectors | Array | Callable[[], Grid | Vectors | Array]


class Rows(NamedTuple):
    """Vectors of some rows, `unit` long where phi has length 1."""

    values: Num[np.ndarray, "n R"]
    unit: int
    sha256: str | None


Space = Callable[[Int64[np.ndarray, "n"]], Rows]


def opened(
    spaces: Mapping[str, Source], ids: pa.LargeStringArray, *, exact: bool
) -> dict[str, Space]:
    """Each source as a function from positions in the caller's columns to their rows.

    Raises:
        UserError: a matrix of another number of rows, ids without a vector, or a grid
            where float32 is wanted.
    """
    return {
        name: _opened(name, source, ids, exact=exact) for name, source in spaces.items()
    }


def _opened(
    name: str, source: Source, ids: pa.LargeStringArray, *, exact: bool
) -> Space:
    if isinstance(source, Grid):
        return _of_grid(name, source, len(ids), exact=exact)
    if isinstance(source, np.ndarray):
        source = in_memory(f"space {name!r}", source, ids)
    if isinstance(source, Vectors):
        return _of_vectors(source, ids, exact=exact)

    def read(positions: Int64[np.ndarray, "n"]) -> Rows:
        return _opened(name, source(), ids, exact=exact)(positions)

    return read


def _of_grid(name: str, grid: Grid, rows: int, *, exact: bool) -> Space:
    if len(grid.values) != rows:
        raise UserError(
            f"space {name!r} must have one row per candidate ({rows}), "
            f"got {len(grid.values)}"
        )
    if not exact:
        raise UserError(
            f'precision "float32" needs the vectors of space {name!r} themselves, '
            'got a grid; use "exact"'
        )

    def read(positions: Int64[np.ndarray, "n"]) -> Rows:
        values = rows_at(grid.values, positions)
        return Rows(values, grid.scale, hashed(values, grid.scale).sha256)

    return read


def _of_vectors(vectors: Vectors, ids: pa.LargeStringArray, *, exact: bool) -> Space:
    rows = rows_of_ids(vectors, ids)

    def read(positions: Int64[np.ndarray, "n"]) -> Rows:
        found = read_rows(vectors, rows[positions], exact=exact)
        if isinstance(found, Grid):
            return Rows(*found)
        return Rows(found, 1, None)

    return read


def rows_at(
    values: Num[np.ndarray, "N R"], rows: Int64[np.ndarray, "n"]
) -> Num[np.ndarray, "n R"]:
    """`values[rows]`; a view where `rows` is a range, which every pool in order is."""
    if len(rows) and (np.diff(rows) == 1).all():
        return values[rows[0] : rows[-1] + 1]
    return values[rows]
