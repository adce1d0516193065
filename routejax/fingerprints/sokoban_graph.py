"""Fourth group of Sokoban signatures: shape and transitions of the path graph (A.7).

Nodes are the distinct cells of the walk, edges join cells that follow each other. Which
measures stand for shape and transitions is our choice. Components, cycles, degrees and
the diameter are of the edges of length 1 alone: jumps say how a trace speaks, not what
the board is like.
"""

from __future__ import annotations

from math import log1p

import numpy as np
from jaxtyping import Int

from routejax.fingerprints.sokoban_path import (
    WAYS,
    Path,
    evenness,
    log_mean,
    log_most,
    row_shares,
    run_lengths,
    share,
)

THIRDS = ("first", "middle", "last")

TABLE = {
    # Size.
    "log_nodes": "log(1 + distinct cells)",
    "log_edges": "log(1 + distinct edges, whatever their direction)",
    "density": "distinct edges over those a graph of as many nodes can have",
    # Visits.
    "revisits": "share of the walk's cells visited before",
    "edge_reuse": "share of the walk's steps along an edge taken before",
    "both_ways": "share of distinct edges taken in both directions",
    "fresh": "longest stretch of new cells over the cells of the walk",
    "visit_evenness": "entropy of the visits per node over that of even ones",
    **{f"new_{t}": f"share of new cells in the {t} third of the walk" for t in THIRDS},
    # Components and cycles.
    "log_components": "log(1 + components)",
    "largest_component": "share of the nodes in the largest component",
    "cycles": "independent cycles over nodes",
    "log_diameter": "log(1 + steps between two far ends of the largest component)",
    # Degrees.
    "mean_degree": "mean neighbours of a node",
    **{
        f"degree_{d}": f"share of nodes with {d} neighbours, of 4 possible"
        for d in range(1, 5)
    },
    # Extent.
    "log_height": "log(1 + rows from the uppermost to the lowest cell)",
    "log_width": "log(1 + columns from the leftmost to the rightmost cell)",
    "squareness": "shorter side of the rectangle around the walk over the longer",
    "end_distance": "distance between first and last cell over the greatest from the "
    "first",
    "drift": "distance between the middles of the walk's halves over height + width",
    # Steps.
    "log_longest_step": "log(1 + longest step)",
    "steps_2": "share of steps of length 2",
    "steps_3_4": "share of steps of length 3 or 4",
    "steps_5": "share of steps of length 5 or more",
    "aligned": "share of the longer steps that stay in their row or column",
    "diagonal": "share of the longer steps as long down as across",
    # Directions.
    **{f"way_{way}": f"share of steps that are {way}" for way in WAYS},
    "way_evenness": "entropy of up, down, left and right over that of even ones",
    "log_run": "log(1 + mean steps in one direction in a row)",
    "log_longest_run": "log(1 + most steps in one direction in a row)",
    "single_runs": "share of the runs in one direction that are a single step",
    **{
        f"{a}->{b}": f"share of {b} among the steps after {a}"
        for a in WAYS
        for b in WAYS
    },
}


def graph(walk: Path) -> dict[str, float]:
    """The values of `TABLE`."""
    return {
        **_visits(walk),
        **_edges(walk),
        **_components(walk),
        **_extent(walk),
        **_steps(walk),
        **_directions(walk),
    }


def _visits(walk: Path) -> dict[str, float]:
    """Cell i of n is in third ⌊3i / n⌋."""
    new, count = walk.is_new, len(walk.visits)
    thirds = 3 * np.arange(count) // max(1, count)
    visits = np.bincount(walk.visits)
    runs = [length for length, is_new in _runs(new.tolist()) if is_new]
    return {
        "log_nodes": log1p(len(walk.distinct)),
        "revisits": share(count - len(walk.distinct), count),
        "fresh": share(max(runs, default=0), count),
        "visit_evenness": evenness(visits),
        **{
            f"new_{name}": share(new[thirds == i].sum(), (thirds == i).sum())
            for i, name in enumerate(THIRDS)
        },
    }


def _runs(values: list[bool]) -> list[tuple[int, bool]]:
    """Length and value of each run."""
    found, at = [], 0
    for length in run_lengths(values):
        found.append((length, values[at]))
        at += length
    return found


def _edges(walk: Path) -> dict[str, float]:
    pairs = np.stack([walk.visits[:-1], walk.visits[1:]], axis=1)
    directed = {(a, b) for a, b in pairs.tolist()}
    edges = {(min(pair), max(pair)) for pair in directed}
    nodes = len(walk.distinct)
    return {
        "log_edges": log1p(len(edges)),
        "density": share(2 * len(edges), nodes * (nodes - 1)),
        "edge_reuse": share(len(pairs) - len(edges), len(pairs)),
        "both_ways": share(len(directed) - len(edges), len(edges)),
    }


def adjacency(walk: Path) -> list[set[int]]:
    """The neighbours of each node by steps of length 1."""
    near: list[set[int]] = [set() for _ in walk.distinct]
    unit = walk.lengths == 1
    pairs = zip(walk.visits[:-1][unit], walk.visits[1:][unit], strict=True)
    for a, b in ((int(a), int(b)) for a, b in pairs):
        near[a].add(b)
        near[b].add(a)
    return near


def _components(walk: Path) -> dict[str, float]:
    near = adjacency(walk)
    nodes = len(near)
    degrees = np.array([len(others) for others in near], np.int64)
    groups: list[list[int]] = []
    unseen = set(range(nodes))
    for node in range(nodes):
        if node in unseen:
            group = reached(near, node)
            unseen.difference_update(group)
            groups.append(group)
    largest = max(groups, key=len, default=[])
    cycles = int(degrees.sum()) // 2 - nodes + len(groups)
    return {
        "log_components": log1p(len(groups)),
        "largest_component": share(len(largest), nodes),
        "cycles": share(cycles, nodes),
        "log_diameter": log1p(_diameter(near, largest)),
        "mean_degree": share(degrees.sum(), nodes),
        **{f"degree_{d}": share((degrees == d).sum(), nodes) for d in range(1, 5)},
    }


def reached(near: list[set[int]], node: int) -> list[int]:
    """The nodes that can be reached from `node`, nearest first."""
    found = [node]
    seen = {node}
    for here in found:
        for there in sorted(near[here] - seen):
            seen.add(there)
            found.append(there)
    return found


def _diameter(near: list[set[int]], group: list[int]) -> int:
    """Steps between the node farthest from the first one and the farthest from that.

    The usual double sweep: exact on trees, a lower bound elsewhere.
    """
    if not group:
        return 0
    far = reached(near, group[0])[-1]
    steps = {far: 0}
    order = [far]
    for here in order:
        for there in near[here]:
            if there not in steps:
                steps[there] = steps[here] + 1
                order.append(there)
    return steps[order[-1]]


def _extent(walk: Path) -> dict[str, float]:
    cells = walk.cells
    if not len(cells):
        names = ("log_height", "log_width", "squareness", "end_distance", "drift")
        return dict.fromkeys(names, 0.0)
    height, width = (np.ptp(cells, axis=0) + 1).tolist()
    away = np.abs(cells - cells[0]).sum(axis=1)
    half = len(cells) // 2
    drift = 0.0
    if half:
        before, after = cells[:half].mean(axis=0), cells[-half:].mean(axis=0)
        drift = share(np.abs(after - before).sum(), height + width)
    return {
        "log_height": log1p(height),
        "log_width": log1p(width),
        "squareness": min(height, width) / max(height, width),
        "end_distance": share(away[-1], away.max()),
        "drift": drift,
    }


def _steps(walk: Path) -> dict[str, float]:
    lengths = walk.lengths
    down, across = np.abs(np.diff(walk.cells, axis=0)).T
    longer = lengths > 1
    count = len(lengths)
    return {
        "log_longest_step": log_most(lengths),
        "steps_2": share((lengths == 2).sum(), count),
        "steps_3_4": share(((lengths == 3) | (lengths == 4)).sum(), count),
        "steps_5": share((lengths >= 5).sum(), count),
        "aligned": share((longer & ((down == 0) | (across == 0))).sum(), longer.sum()),
        "diagonal": share((longer & (down == across)).sum(), longer.sum()),
    }


def _directions(walk: Path) -> dict[str, float]:
    ways: Int[np.ndarray, "n"] = walk.ways
    counts = np.bincount(ways, minlength=len(WAYS))
    pairs = np.bincount(len(WAYS) * ways[:-1] + ways[1:], minlength=len(WAYS) ** 2)
    rates = row_shares(pairs.reshape(len(WAYS), len(WAYS))).ravel().tolist()
    runs = [
        length
        for start, end in walk.strolls
        for length in run_lengths(ways[start:end].tolist())
    ]
    names = [f"{a}->{b}" for a in WAYS for b in WAYS]
    return {
        **{f"way_{way}": share(counts[i], len(ways)) for i, way in enumerate(WAYS)},
        "way_evenness": evenness(counts[:4]) if counts[:4].any() else 0.0,
        "log_run": log_mean(runs),
        "log_longest_run": log_most(runs),
        "single_runs": share(runs.count(1), len(runs)),
        **dict(zip(names, rates, strict=True)),
    }
