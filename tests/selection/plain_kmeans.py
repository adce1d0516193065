"""The two-level k-means of the engines `cpu` and `jax`, in whole numbers, row by row.

It states what the engines must find and nothing about how: squared distances are sums
of Python integers, means are fractions, and seeds are scikit-learn's own.
"""

import math
from fractions import Fraction

import numpy as np
from sklearn.cluster import kmeans_plusplus

PROBES, SAMPLE, CELL_PASSES = 8, 256, 10


def clusters(rows, k, seed=42, n_init=3, max_iter=50):
    """Labels and squared distances; rows are lists of integers, some k + 1 distinct."""
    rows = [tuple(int(x) for x in row) for row in rows]
    cells = best_cells(rows, math.isqrt(k), seed, n_init)
    order = [
        sorted(range(len(cells)), key=lambda c: (gap(q, cells[c]), c)) for q in rows
    ]
    home = [near[0] for near in order]
    probes = [set(near[:PROBES]) for near in order]
    centroids = seeds(rows, home, shares(rows, home, cells, k), seed)
    before = None
    for _ in range(max_iter):
        owners = [nearest(c, cells)[0] for c in centroids]
        found = [
            own_nearest(q, centroids, owners, p)
            for q, p in zip(rows, probes, strict=True)
        ]
        centroids = moved(rows, centroids, found)
        inertia = sum(far for _, far in found)
        if before is not None and before - inertia < Fraction(before, 2000):
            break
        before = inertia
    return filled(rows, centroids)


def gap(q, c):
    return sum((a - b) ** 2 for a, b in zip(q, c, strict=True))


def nearest(q, centroids, ids=None):
    """(id, squared distance) of the nearest, the first of equals."""
    ids = range(len(centroids)) if ids is None else ids
    far, best = min((gap(q, centroids[i]), i) for i in ids)
    return best, far


def own_nearest(q, centroids, owners, probes):
    ids = [i for i, owner in enumerate(owners) if owner in probes]
    return nearest(q, centroids, ids or None)


def best_cells(rows, count, seed, n_init):
    tried = []
    for start in range(n_init):
        stream = np.random.Generator(np.random.PCG64([seed, 0, start]))
        chosen = sorted(stream.permutation(len(rows))[: SAMPLE * count].tolist())
        sample = [rows[i] for i in chosen]
        cells = picked(sample, count, seed, 1, start)
        for _ in range(CELL_PASSES):
            found = [nearest(q, cells) for q in sample]
            cells = moved(sample, cells, found)
        tried.append((sum(far for _, far in found), start, cells))
    return min(tried)[2]


def picked(rows, count, seed, use, number):
    stream = np.random.RandomState(np.random.PCG64([seed, use, number]))
    table = np.array(rows, float)
    _, picks = kmeans_plusplus(table, count, random_state=stream)
    return [rows[i] for i in picks]


def shares(rows, home, cells, k):
    sizes = [home.count(c) for c in range(len(cells))]
    costs = [0] * len(cells)
    for q, c in zip(rows, home, strict=True):
        costs[c] += gap(q, cells[c])
    out = [min(1, size) for size in sizes]
    while sum(out) < k:
        open_cells = [c for c in range(len(cells)) if out[c] < sizes[c]]
        out[min(open_cells, key=lambda c: (-Fraction(costs[c], out[c]), c))] += 1
    return out


def seeds(rows, home, share, seed):
    out = []
    for cell, count in enumerate(share):
        inside = [q for q, c in zip(rows, home, strict=True) if c == cell]
        if count:
            out += picked(inside, count, seed, 2, cell)
    return out


def moved(rows, centroids, found):
    out = list(centroids)
    empty = []
    for i in range(len(centroids)):
        inside = [q for q, (label, _) in zip(rows, found, strict=True) if label == i]
        if inside:
            out[i] = mean(inside)
        else:
            empty.append(i)
    for i, row in zip(empty, far_rows(found), strict=False):
        out[i] = rows[row]
    return out


def mean(rows):
    exact = [Fraction(sum(column), len(rows)) for column in zip(*rows, strict=True)]
    rounded = tuple(math.floor(x + Fraction(1, 2)) for x in exact)
    long = sum(x * x for x in rounded) > 2**24
    return tuple(math.trunc(x) for x in exact) if long else rounded


def far_rows(found):
    """The farthest row of each cluster, the farthest first, none at distance zero."""
    best = {}
    for row, (label, far) in enumerate(found):
        if far and (label not in best or far > best[label][0]):
            best[label] = (far, row)
    return [row for _, row in sorted(best.values(), key=lambda b: (-b[0], b[1]))]


def filled(rows, centroids):
    """The full pass, done anew as often as clusters are empty and rows are apart."""
    centroids = list(centroids)
    while True:
        found = [nearest(q, centroids) for q in rows]
        taken = {label for label, _ in found}
        empty = [i for i in range(len(centroids)) if i not in taken]
        far = far_rows(found)
        if not empty or not far:
            return [label for label, _ in found], [far for _, far in found]
        for i, row in zip(empty, far, strict=False):
            centroids[i] = rows[row]
