"""From the caller's columns to candidates: checked, in order of their ids, capped.

Row order comes from the ids alone, so shuffling the input changes no tie.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, Num

from routejax.errors import UserError
from routejax.selection.grid import Grid, hashed, to_grid

PRECISIONS = ("exact", "float32")


class Candidates(NamedTuple):
    """The rows that can be chosen, in order of their ids.

    Attributes:
        phi: grid rows (integers, exact) or float32 rows.
        groups: indices of the rows of each group, ascending; groups in order of name.
        positions: where each row stands in the caller's columns.
        capped: positions of the rows left out by the cap per prompt, in order of id.
        grid: scale and hash of the grid of all rows given; None for float32.
    """

    phi: Num[np.ndarray, "kept R"]
    groups: dict[str, Int64[np.ndarray, "m"]]
    positions: Int64[np.ndarray, "kept"]
    capped: Int64[np.ndarray, "capped"]
    grid: Grid | None


def candidates(
    ids: Sequence[str],
    groups: Sequence[str],
    prompt_ids: Sequence[str],
    phi: Num[np.ndarray, "N R"] | Grid,
    *,
    precision: str = "exact",
    per_prompt: int | None = None,
) -> Candidates:
    """The eligible pool as the selection methods read it.

    `per_prompt` is the cap on the rows of one prompt (eight for the single-teacher
    pool, paper Table 7). It acts on the candidates, before budgets: of each prompt the
    rows with the lowest ids stay (our choice). So all methods see the same candidates,
    every selection obeys the cap, and budgets count only rows that can be chosen. It
    does not touch phi, whose statistics are those of the pool before the cap.

    Raises:
        UserError: columns of different lengths, an id that is empty, of several lines
            or there twice, a cap below one, an unknown precision; see `to_grid`.
    """
    _check_lengths(phi, ids=ids, groups=groups, prompt_ids=prompt_ids)
    order = canonical_order(ids)
    rows, grid = _rows(phi, precision)
    if grid is not None:
        grid = hashed(grid.values[order], grid.scale)
    stays = _within_cap([prompt_ids[int(i)] for i in order], per_prompt)
    positions = order[stays]
    by_group = _members([groups[int(i)] for i in positions])
    return Candidates(rows[positions], by_group, positions, order[~stays], grid)


def canonical_order(ids: Sequence[str]) -> Int64[np.ndarray, "N"]:
    """Positions that put the rows in order of their ids (by code point).

    Raises:
        UserError: an id that is empty, holds a line break, or occurs twice.
    """
    for row, name in enumerate(ids):
        if not name or "\n" in name or "\r" in name:
            raise UserError(
                f"ids must be texts of one line, got {name!r} in row {row}; rename it"
            )
    order = sorted(range(len(ids)), key=ids.__getitem__)
    for before, after in pairwise(order):
        if ids[before] == ids[after]:
            raise UserError(
                f"ids must be unique, {ids[after]!r} stands in rows {before} and "
                f"{after}; make the ids differ or leave one row out"
            )
    return np.array(order, np.int64)


def _check_lengths(phi: np.ndarray | Grid, **columns: Sequence[str]) -> None:
    rows = len(phi.values if isinstance(phi, Grid) else phi)
    for name, column in columns.items():
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


def _within_cap(prompt_ids: list[str], limit: int | None) -> np.ndarray:
    """Whether each row is among the first `limit` of its prompt."""
    if limit is not None and limit < 1:
        raise UserError(f"per_prompt must be at least 1, or None, got {limit}")
    seen: dict[str, int] = {}
    earlier = []
    for name in prompt_ids:
        earlier.append(seen.get(name, 0))
        seen[name] = earlier[-1] + 1
    return np.array(earlier, np.int64) < (np.inf if limit is None else limit)


def _members(groups: list[str]) -> dict[str, np.ndarray]:
    found: dict[str, list[int]] = {}
    for i, name in enumerate(groups):
        found.setdefault(name, []).append(i)
    return {name: np.array(found[name], np.int64) for name in sorted(found)}
