"""Choosing rows of a pool by their fingerprints: matrix in, row ids out.

    F [N D] -> moments, project -> phi [N R] -> to_grid -> select -> Selection

`SELECTORS` lists the methods, `ENGINES` what computes k-means. The package knows no
files and no text; it could be published alone.
"""

from routejax.moments import Moments, moments
from routejax.selection.budgets import (
    cluster_counts,
    cluster_quotas,
    cluster_total,
    group_budgets,
)
from routejax.selection.candidates import candidates, canonical_order
from routejax.selection.choose import Selection, select
from routejax.selection.clusters import ENGINES, Clusters, kmeans
from routejax.selection.farthest import farthest_points
from routejax.selection.grid import SCALE, Grid, to_grid
from routejax.selection.layout import principal_plane
from routejax.selection.manifest import ids_sha256, manifest
from routejax.selection.methods import SELECTORS
from routejax.selection.projection import gaussian_projection, project
from routejax.selection.spread import Coverage, Spread, coverage, spread
from routejax.selection.standardise import standardise

__all__ = [
    "ENGINES",
    "SCALE",
    "SELECTORS",
    "Clusters",
    "Coverage",
    "Grid",
    "Moments",
    "Selection",
    "Spread",
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
    "manifest",
    "moments",
    "principal_plane",
    "project",
    "select",
    "spread",
    "standardise",
    "to_grid",
]
