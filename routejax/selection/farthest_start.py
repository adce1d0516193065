"""What every fast engine begins with: the norms of rows, which must be on the grid."""

import numpy as np
from jaxtyping import Int32, Num

from routejax.errors import UserError
from routejax.selection.grid import LIMIT
from routejax.selection.nearness import blocks


def grid_norms(phi: Num[np.ndarray, "N R"]) -> Int32[np.ndarray, "N"]:
    """|q|^2 of every row.

    Raises:
        UserError: rows that are not integers, or a row with |q|^2 above 2^24, whose
            products float32 could not hold.
    """
    if not np.issubdtype(phi.dtype, np.integer):
        raise UserError(
            "this engine needs rows of the integer grid, where distances are exact, "
            f'got {phi.dtype}; use to_grid, or engine="reference"'
        )
    norms = np.empty(len(phi), np.int32)
    for block in blocks(phi):
        rows = phi[block].astype(np.int64)
        squares = np.einsum("ij,ij->i", rows, rows)
        if squares.max() > LIMIT:
            row = int(squares.argmax())
            raise UserError(
                f"grid rows must have |q|^2 <= 2^24, got {squares[row]} in row "
                f"{block.start + row}; make the rows with to_grid"
            )
        norms[block] = squares
    return norms
