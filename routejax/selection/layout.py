"""Two coordinates per row for maps of a pool: the principal plane of phi.

For looking at, never for choosing. Left out: layouts that bend space (t-SNE, UMAP),
because distances in them cannot be compared between two maps.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float64, Num

_BLOCK_ROWS = 8192


def principal_plane(phi: Num[np.ndarray, "N R"]) -> Float64[np.ndarray, "N 2"]:
    """Coordinates of the centred rows on their first two principal axes.

    In units of phi, which may be a memory map: it is read in blocks, three times. The
    sign of an axis is such that its largest loading (the first of equal ones) is
    positive. Where the rows span less than two dimensions, the missing coordinates are
    zero.
    """
    width = phi.shape[1]
    total, products = np.zeros(width), np.zeros((width, width))
    for _, rows in _blocks(phi, np.zeros(width)):
        total += rows.sum(axis=0)
    mean = total / max(1, len(phi))
    for _, rows in _blocks(phi, mean):
        products += rows.T @ rows
    variances, axes = np.linalg.eigh(products)
    floor = variances[-1] * len(variances) * np.finfo(np.float64).eps
    used = np.zeros((width, 2))
    for column, axis in enumerate(axes.T[::-1][:2]):
        if variances[-1 - column] > floor:
            used[:, column] = axis * np.sign(axis[np.abs(axis).argmax()])
    plane = np.empty((len(phi), 2))
    for inside, rows in _blocks(phi, mean):
        plane[inside] = rows @ used
    return plane


def _blocks(
    phi: Num[np.ndarray, "N R"], mean: Float64[np.ndarray, "R"]
) -> Iterator[tuple[slice, Float64[np.ndarray, "B R"]]]:
    """The rows without the mean, block by block."""
    for first in range(0, len(phi), _BLOCK_ROWS):
        inside = slice(first, first + _BLOCK_ROWS)
        yield inside, np.asarray(phi[inside], np.float64) - mean
