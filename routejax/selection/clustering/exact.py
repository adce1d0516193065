"""The nearest centroid from one float32 product, exactly, and centroids as integers.

Rows q and centroids c are integer vectors with |q|^2, |c|^2 <= 2^24. The nearest
centroid has the largest 2 q.c - |c|^2, whose range of 2^26 float32 cannot tell apart.
With |c|^2 = 2h + p, p in {0, 1}, that number is 2 (q.c - h) - p. So the largest

    s = q.c - h + 2^23

decides, and among equal s a centroid with p = 0 comes first: within a `Tile` the
centroids stand in that order, so the first of the largest s is the nearest.

Every s, and every partial sum on the way to it whatever the order, is an integer in
-2^24..2^24 and exact in float32. Over any subset S of the coordinates

    sum_S q_i c_i - |c|^2 / 2 <= sum_S q_i^2 / 2 <= 2^23,
    sum_S q_i c_i - |c|^2 / 2 >= -|q||c| - |c|^2 / 2 >= -2^24 - 2^23;

adding 2^23 makes both ends 2^24, and without the term of h a partial sum is at most
|q||c| <= 2^24. On accelerators the product must be true float32, not TF32 or bfloat16.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int, Int16, Int32, Int64

from routejax.selection.grid import LIMIT

SHIFT = 2**23
WORST = -(2**31)  # below every score

Labels = Int32[np.ndarray, "N"]
Gaps = Int32[np.ndarray, "N"]
Centroids = Int16[np.ndarray, "K R"]


class Tile(NamedTuple):
    """Some centroids: those with an even squared length first, then by id.

    Attributes:
        ids: of the centroids, among all.
        columns: their coordinates, and as a last row the 2^23 - h of each.
        odd: p of each.
    """

    ids: Int32[np.ndarray, "w"]
    columns: Float32[np.ndarray, "features w"]
    odd: Int32[np.ndarray, "w"]


def squared_lengths(rows: Int[np.ndarray, "N R"]) -> Int32[np.ndarray, "N"]:
    """|q|^2 of rows for which that is at most 2^24."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.int32)


def tile(centroids: Centroids, ids: Int[np.ndarray, "w"]) -> Tile:
    """The tile of the centroids `ids`, which rise."""
    halves, odd = np.divmod(squared_lengths(centroids[ids]), 2)
    order = np.argsort(odd, kind="stable")
    columns = np.empty((centroids.shape[1] + 1, len(ids)), np.float32)
    columns[:-1] = centroids[ids[order]].T
    columns[-1] = SHIFT - halves[order]
    return Tile(ids[order].astype(np.int32), columns, odd[order])


def full_score(
    s: Float32[np.ndarray, "n"], odd: Int32[np.ndarray, "n"]
) -> Int32[np.ndarray, "n"]:
    """2 q.c - |c|^2, by which centroids of different tiles compare, from s and p."""
    return 2 * s.astype(np.int32) - odd - 2 * SHIFT


def means(
    sums: Int64[np.ndarray, "K R"], counts: Int64[np.ndarray, "K"]
) -> Int16[np.ndarray, "K R"]:
    """sums / counts rounded to integers, halves up, for counts above zero.

    Where rounding makes a squared length exceed 2^24, the mean is cut towards zero
    instead, which never lengthens it.
    """
    counts = counts[:, None]
    rounded = (2 * sums + counts) // (2 * counts)
    long = np.einsum("ij,ij->i", rounded, rounded) > LIMIT
    rounded[long] = np.sign(sums[long]) * (np.abs(sums[long]) // counts[long])
    return rounded.astype(np.int16)


def farthest_rows(labels: Labels, gaps: Gaps, count: int) -> Int64[np.ndarray, "m"]:
    """At most `count` rows to start new clusters at, the best first.

    Of each cluster the row farthest from its centroid, ties to the lowest row; of these
    the farthest, ties again to the lowest row. Rows that lie on their centroid are left
    out, so no two rows of the answer are equal.
    """
    if not count:
        return np.empty(0, np.int64)
    apart = np.flatnonzero(gaps > 0)
    order = apart[np.argsort(-gaps[apart], kind="stable")]
    _, first = np.unique(labels[order], return_index=True)
    return order[np.sort(first)[:count]]
