"""The `sokoban` family: named signatures of how a trace solves a board (A.7).

    travel    how it travels over the board, and which cells it covers
    boxes     how it handles the boxes
    rebuild   how it rebuilds the board
    graph     shape and transitions of the path of cells it visits

The four groups are the paper's; the features and their number are our choice. Each is a
share, an entropy ratio, a logarithm of a count or a count per word as
log(1 + 1000 · count / words), so that long traces do not outweigh short ones, and zero
where there is nothing to measure. Features of the walk do not depend on the notation of
cells and moves (`sokoban_notation`, `sokoban_moves`, `sokoban_read`).
"""

import numpy as np
from jaxtyping import Float

from routejax.fingerprints import (
    sokoban_boxes,
    sokoban_cover,
    sokoban_graph,
    sokoban_rebuild,
    sokoban_travel,
)
from routejax.fingerprints.family import Family, Feature
from routejax.fingerprints.sokoban_path import path
from routejax.fingerprints.sokoban_read import read

VERSION = "sokoban-1"

_TABLES = {
    "travel": sokoban_travel.TABLE | sokoban_cover.TABLE,
    "boxes": sokoban_boxes.TABLE,
    "rebuild": sokoban_rebuild.TABLE,
    "graph": sokoban_graph.TABLE,
}
BLOCKS = tuple((name, len(table)) for name, table in _TABLES.items())
FEATURES = tuple(
    Feature(f"{block}/{name}", meaning)
    for block, table in _TABLES.items()
    for name, meaning in table.items()
)


def compute(reasoning: str) -> Float[np.ndarray, "D"]:
    """The features of a reasoning text, float32; zeros where nothing is found."""
    reading = read(reasoning)
    walk = path(reading.walk)
    values = {
        "travel": sokoban_travel.travel(reading, walk)
        | sokoban_cover.cover(reading, walk),
        "boxes": sokoban_boxes.boxes(reading),
        "rebuild": sokoban_rebuild.rebuild(reading),
        "graph": sokoban_graph.graph(walk),
    }
    ordered = [values[b][name] for b, table in _TABLES.items() for name in table]
    return np.array(ordered, np.float32)


SOKOBAN = Family(
    name="sokoban",
    version=VERSION,
    vocabulary=(),
    blocks=BLOCKS,
    features=FEATURES,
    compute=compute,
)
