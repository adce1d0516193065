"""Choosing rows of a pool by their fingerprints: matrix in, row ids out.

    F [N D] -> moments, project -> phi [N R] -> to_grid -> select -> Selection

`SELECTORS` lists the methods, `ENGINES` what computes k-means. Some methods work in
other vectors than phi: in those of a file (`open_vectors`) or of the texts' tokens
(`lexical_vectors`). The package knows no pool and no layout of a file of traces; it
could be published alone.
"""

from routejax.moments import Moments, moments
from routejax.selection.budgets import (
    cluster_counts,
    cluster_quotas,
    cluster_total,
    group_budgets,
    proportional_quotas,
)
from routejax.selection.candidates import candidates, canonical_order
from routejax.selection.choose import Selection, select, select_all
from routejax.selection.clusters import ENGINES, Clusters, kmeans
from routejax.selection.farthest import farthest_points
from routejax.selection.grid import SCALE, Grid, scale_for, to_grid
from routejax.selection.layout import principal_plane
from routejax.selection.lexical import lexical_vectors
from routejax.selection.manifest import ids_sha256, manifest
from routejax.selection.methods import SELECTORS, Method
from routejax.selection.nearest import Nearest, nearest
from routejax.selection.projection import gaussian_projection, project
from routejax.selection.spread import (
    Coverage,
    Spread,
    coverage,
    spread,
    spread_of_prompts,
    vendi,
)
from routejax.selection.standardise import standardise
from routejax.selection.vectors import Vectors, open_vectors

__all__ = [
    "ENGINES",
    "SCALE",
    "SELECTORS",
    "Clusters",
    "Coverage",
    "Grid",
    "Method",
    "Moments",
    "Nearest",
    "Selection",
    "Spread",
    "Vectors",
    "candidates",
    "canonical_order",
    "cluster_counts",
    "cluster_quotas",
    "cluster_total",
    "coverage",
    "farthest_points",
    "gaussian_projection",
    "group_budgets",
    "ids_sha256",
    "kmeans",
    "lexical_vectors",
    "manifest",
    "moments",
    "nearest",
    "open_vectors",
    "principal_plane",
    "project",
    "proportional_quotas",
    "scale_for",
    "select",
    "select_all",
    "spread",
    "spread_of_prompts",
    "standardise",
    "to_grid",
    "vendi",
]
