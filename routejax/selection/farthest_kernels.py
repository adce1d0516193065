"""The loops of farthest-point picking that numpy would make several passes of.

All of it is int32 on grid rows: a squared distance is at most 2^26. Numba widens
int32 arithmetic to int64 unless every step is narrowed again, which the int32(...)
around each term does: eight to sixteen distances per instruction instead of four.
No kernel calls another, so numba's own cache (by file) cannot go stale.
"""

from typing import no_type_check

import numpy as np
from numba import int32, njit

_HOW = {"nogil": True, "cache": True, "error_model": "numpy"}


@njit(**_HOW)
@no_type_check
def lower(dots, pick_norms, norms, closest):
    """Lowers `closest` of each row to its nearest pick; `dots` is [rows picks]."""
    for i in range(dots.shape[0]):
        least = int32(2**30)
        for j in range(dots.shape[1]):
            square = int32(pick_norms[j] - int32(2) * int32(dots[i, j]))
            least = min(least, square)
        square = int32(least + norms[i])
        closest[i] = min(closest[i], square)


@njit(**_HOW)
@no_type_check
def count_by_height(closest, shift, counts):
    """Adds to `counts` the rows that are not picked, by closest >> shift."""
    for i in range(len(closest)):
        if closest[i] >= 0:
            counts[closest[i] >> shift] += 1


@njit(**_HOW)
@no_type_check
def greedy(dots, norms, rows, closest, bound, bound_row, order, squares):
    """Picks among candidates until one falls behind the bound; how many were picked.

    `dots` holds the products of all pairs, `rows` is ascending, so the first of equal
    candidates is the lowest row. Picks and their squared distances go to `order` and
    `squares`, at most as many as fit; `closest` becomes -1 for a pick.
    """
    made = 0
    while made < len(order):
        farthest = int32(-1)
        for j in range(len(closest)):
            farthest = max(farthest, closest[j])
        if farthest < bound:
            break
        pick = 0
        while closest[pick] != farthest:
            pick += 1
        if farthest == bound and rows[pick] > bound_row:
            break
        order[made], squares[made] = pick, farthest
        made += 1
        for j in range(len(closest)):
            square = int32(norms[j] - int32(2) * int32(dots[pick, j]))
            square = int32(square + norms[pick])
            closest[j] = min(closest[j], square)
        closest[pick] = -1
        if made == len(closest):
            break
    return made


@njit(**_HOW)
@no_type_check
def within(phi, members, begins, ends, quotas, places, totals, picks, squares):
    """Farthest-point picks of several clusters, one after the other.

    Cluster c has the rows members[begins[c] : ends[c]] and writes its quotas[c] picks
    (rows of phi) and their squared distances from places[c] on; the first, the row
    nearest the mean, has the square 0. Row c of `totals`, zero before, receives the sum
    of the cluster's rows.
    """
    width = phi.shape[1]
    largest = (ends - begins).max()
    norms = np.empty(largest, np.int32)
    closest = np.empty(largest, np.int32)
    for c in range(len(ends)):
        if quotas[c] == 0:
            continue
        inside = members[begins[c] : ends[c]]
        size = len(inside)
        total = totals[c]
        for i in range(size):
            row = phi[inside[i]]
            norm = int32(0)
            for j in range(width):
                value = int32(row[j])
                total[j] += value
                norm = int32(norm + int32(value * value))
            norms[i] = norm
            closest[i] = 2**30
        least = np.int64(2**62)
        pick = 0
        for i in range(size):
            row = phi[inside[i]]
            dot = np.int64(0)
            for j in range(width):
                dot += total[j] * row[j]
            nearness = size * np.int64(norms[i]) - 2 * dot
            if nearness < least:
                least, pick = nearness, i
        place = places[c]
        picks[place], squares[place] = inside[pick], 0
        for k in range(1, quotas[c]):
            closest[pick] = -1
            chosen = phi[inside[pick]]
            farthest, following = int32(-1), 0
            for i in range(size):
                if closest[i] >= 0:
                    row = phi[inside[i]]
                    dot = int32(0)
                    for j in range(width):
                        dot = int32(dot + int32(int32(row[j]) * int32(chosen[j])))
                    square = int32(norms[i] - int32(2) * dot)
                    square = int32(square + norms[pick])
                    closest[i] = min(closest[i], square)
                    if closest[i] > farthest:
                        farthest, following = closest[i], i
            pick = following
            picks[place + k], squares[place + k] = inside[pick], farthest
