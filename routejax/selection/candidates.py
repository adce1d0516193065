"""From the caller's columns to candidates: checked, in order of their ids, capped.

Row order comes from the ids alone, so shuffling the input changes no tie. Columns stay
Arrow arrays and groups become indices, so two million rows take seconds.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int64, Num

from routejax.errors import UserError
from routejax.selection import columns
from routejax.selection.columns import Column
from routejax.selection.grid import Grid, grid_sha256, to_grid
from routejax.selection.spaces import Source, Space, opened, rows_at

PRECISIONS = ("exact", "float32")


class Candidates(NamedTuple):
    """The rows that can be chosen, in order of their ids.

    Attributes:
        phi: grid rows (integers, exact) or float32 rows.
        groups: indices of the rows of each group, ascending; groups in order of name.
        positions: where each row stands in the caller's columns.
        capped: positions of the rows left out by the cap per prompt, in order of id.
        grid: scale and hash of the grid of all rows given in order of id, and the rows
            of the candidates; None for float32.
        spaces: further vectors of the caller's rows by name, read when a method asks.
    """

    phi: Num[np.ndarray, "kept R"]
    groups: dict[str, Int64[np.ndarray, "m"]]
    positions: Int64[np.ndarray, "kept"]
    capped: Int64[np.ndarray, "capped"]
    grid: Grid | None
    spaces: Mapping[str, Space] = {}

    @property
    def unit(self) -> int:
        """Length in the rows of phi of what has length 1."""
        return 1 if self.grid is None else self.grid.scale


def candidates(
    ids: Column,
    groups: Column,
    prompt_ids: Column,
    phi: Num[np.ndarray, "N R"] | Grid,
    *,
    precision: str = "exact",
    per_prompt: int | None = None,
    spaces: Mapping[str, Source] | None = None,
) -> Candidates:
    """The eligible pool as the selection methods read it.

    `per_prompt` is the cap on the rows of one prompt (eight for the single-teacher
    pool, paper Table 7). It acts on the candidates, before budgets: of each prompt the
    rows with the lowest ids stay (our choice). So all methods see the same candidates,
    every selection obeys the cap, and budgets count only rows that can be chosen. It
    does not touch phi, whose statistics are those of the pool before the cap.

    Rows that come in order of their ids, with none capped, are used as they are (a
    memory map will do); otherwise the candidates' rows of phi are copied once.

    Raises:
        UserError: columns of different lengths, an entry that is no text, an id that is
            empty, of several lines or there twice, a cap below one, an unknown
            precision; see `to_grid` and `spaces.opened`.
    """
    named = {"ids": ids, "groups": groups, "prompt_ids": prompt_ids}
    _check_lengths(phi, named)
    text = {name: columns.texts(name, column) for name, column in named.items()}
    order = columns.order_of_ids(text["ids"])
    rows, grid = _rows(phi, precision)
    stays = _within_cap(columns.taken(text["prompt_ids"], order), per_prompt)
    positions = order[stays]
    names, codes = columns.coded(columns.taken(text["groups"], positions))
    by_group = dict(zip(names, columns.members(codes, len(names)), strict=True))
    kept = rows_at(rows, positions)
    if grid is not None:
        sha256 = grid_sha256(rows, grid.scale, order)
        grid = Grid(kept, grid.scale, sha256)
    readers = opened(spaces or {}, text["ids"], exact=precision == "exact")
    return Candidates(kept, by_group, positions, order[~stays], grid, readers)


def canonical_order(ids: Column) -> Int64[np.ndarray, "N"]:
    """Positions that put the rows in order of their ids (by code point).

    Raises:
        UserError: an id that is empty, holds a line break, or occurs twice.
    """
    return columns.order_of_ids(columns.texts("ids", ids))


def _check_lengths(
    phi: Num[np.ndarray, "N R"] | Grid, named: Mapping[str, Column]
) -> None:
    rows = len(phi.values if isinstance(phi, Grid) else phi)
    for name, column in named.items():
        if len(column) != rows:
            raise UserError(
                f"{name} must have one entry per row of phi ({rows}), got {len(column)}"
            )


def _rows(
    phi: Num[np.ndarray, "N R"] | Grid, precision: str
) -> tuple[Num[np.ndarray, "N R"], Grid | None]:
    if precision not in PRECISIONS:
        raise UserError(
            f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}"
        )
    grid = phi if isinstance(phi, Grid) else to_grid(phi)
    if precision == "exact":
        return grid.values, grid
    if isinstance(phi, Grid):
        raise UserError('precision "float32" needs phi itself, got a grid; use "exact"')
    return phi.astype(np.float32), None


def _within_cap(
    prompt_ids: pa.LargeStringArray, limit: int | None
) -> Bool[np.ndarray, "N"]:
    """Whether each row is among the first `limit` of its prompt."""
    if limit is None:
        return np.ones(len(prompt_ids), bool)
    if limit < 1:
        raise UserError(f"per_prompt must be at least 1, or None, got {limit}")
    return columns.earlier(columns.coded(prompt_ids)[1]) < limit
