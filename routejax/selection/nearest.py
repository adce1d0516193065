"""The kept row that is nearest to every row, in memory that does not grow with either.

A product of all rows and all kept rows is never held: blocks of rows meet tiles of kept
rows, blocks on threads of their own. On grid rows the answer is exact, whatever the
blocks and threads (`clustering.exact` says why float32 is enough).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int64, Num
from threadpoolctl import threadpool_limits

from routejax.errors import UserError
from routejax.selection.clustering.blocks import run_all
from routejax.selection.clustering.exact import SHIFT, tile

_ROWS, _TILE = 1024, 512
_THREADS = 2  # more wait for memory


class Nearest(NamedTuple):
    """Per row the place of its nearest kept row, the first of equal ones, and the
    Euclidean distance to it in units of the rows; -1 and inf where there is none."""

    place: Int64[np.ndarray, "m"]
    distance: Float64[np.ndarray, "m"]


class _Tile(NamedTuple):
    """Kept rows as columns under a row of ones, places of them, and what a score lacks.

    The largest 2 s - `odd` of a row is that of its nearest kept row.
    """

    columns: Float[np.ndarray, "features w"]
    places: Int64[np.ndarray, "w"]
    odd: Float64[np.ndarray, "w"]


def nearest(
    rows: Num[np.ndarray, "m R"], kept: Num[np.ndarray, "n R"], *, apart: bool = False
) -> Nearest:
    """Of every row the nearest of `kept`; with `apart`, where `rows` is `kept`, the
    nearest other one.

    Rows may be a memory map; grid rows (integers) give exact distances, other rows
    float64 ones.

    Raises:
        UserError: nothing is kept, or rows and kept rows differ in number where they
            are to be the same.
    """
    if not len(kept):
        raise UserError("kept must have at least one row, got none")
    if apart and len(rows) != len(kept):
        raise UserError(
            f"rows must be the kept rows themselves ({len(kept)}) to find their "
            f"nearest others, got {len(rows)}"
        )
    tiles = list(_tiles(kept))
    found = Nearest(np.full(len(rows), -1), np.full(len(rows), np.inf))

    def work(block: slice) -> None:
        place = _best(rows[block], tiles, block.start if apart else None)
        known = place >= 0
        gaps = np.asarray(rows[block], np.float64) - kept[place]
        distance = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
        found.place[block] = place
        found.distance[block] = np.where(known, distance, np.inf)

    with threadpool_limits(limits=1, user_api="blas"):
        run_all(work, _blocks(len(rows)), min(_THREADS, os.cpu_count() or 1))
    return found


def _best(
    rows: Num[np.ndarray, "b R"], tiles: list[_Tile], first: int | None
) -> Int64[np.ndarray, "b"]:
    """Places of the nearest kept rows; not of the row itself, where `first` is the
    place of the first of `rows` among the kept ones."""
    ones = np.ones((len(rows), 1))
    left = np.hstack([rows, ones]).astype(tiles[0].columns.dtype)
    best = np.full(len(rows), -np.inf)
    place = np.full(len(rows), -1)
    every = np.arange(len(rows))
    for one in tiles:
        score = left @ one.columns
        if first is not None:
            own = one.places - first
            inside = np.flatnonzero((own >= 0) & (own < len(rows)))
            score[own[inside], inside] = -np.inf
        top = score.argmax(axis=1)
        value = 2.0 * score[every, top] - one.odd[top]
        better = value > best  # tiles come in order, so the first of equal ones stays
        best[better], place[better] = value[better], one.places[top[better]]
    return place


def _tiles(kept: Num[np.ndarray, "n R"]) -> Iterator[_Tile]:
    for first in range(0, len(kept), _TILE):
        places = np.arange(first, min(first + _TILE, len(kept)))
        if np.issubdtype(kept.dtype, np.integer):
            made = tile(kept, places)
            odd = made.odd + 2.0 * SHIFT
            yield _Tile(made.columns, made.ids.astype(np.int64), odd)
        else:
            rows = kept[places].astype(np.float64)
            halves = -np.einsum("ij,ij->i", rows, rows) / 2
            yield _Tile(np.vstack([rows.T, halves]), places, np.zeros(len(places)))


def _blocks(rows: int) -> Iterator[slice]:
    for first in range(0, rows, _ROWS):
        yield slice(first, min(first + _ROWS, rows))
