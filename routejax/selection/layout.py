"""Two coordinates per row for maps of a pool: the principal plane of phi.

For looking at, never for choosing. Left out: layouts that bend space (t-SNE, UMAP),
because distances in them cannot be compared between two maps.
"""

import numpy as np
from jaxtyping import Float64, Num


def principal_plane(phi: Num[np.ndarray, "N R"]) -> Float64[np.ndarray, "N 2"]:
    """Coordinates of the centred rows on their first two principal axes.

    In units of phi. The sign of an axis is such that its largest loading (the first of
    equal ones) is positive. Where the rows span less than two dimensions, the missing
    coordinates are zero.
    """
    rows = np.asarray(phi, np.float64)
    centred = rows - rows.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred)
    plane = np.zeros((len(rows), 2))
    floor = variances[-1] * len(variances) * np.finfo(np.float64).eps
    for column, axis in enumerate(axes.T[::-1][:2]):
        if variances[-1 - column] > floor:
            sign = np.sign(axis[np.abs(axis).argmax()])
            plane[:, column] = centred @ (sign * axis)
    return plane
