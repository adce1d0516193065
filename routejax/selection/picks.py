"""What a selection method is told and what it gives back, and its random draws."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64, Num


class Settings(NamedTuple):
    """What methods may read besides the candidates; see `select_all`."""

    K: int
    seed: int
    n_init: int
    max_iter: int
    batch: int
    engine: str
    global_clusters: int


class Picks(NamedTuple):
    """Chosen rows in any order, with columns of the same length, and a report.

    Attributes:
        cluster: -1 where a method has none.
        distance: NaN where a method has none, else in rows that are `unit` long where
            phi has length 1.
        report: JSON-able, of one group, or of all groups by name.
        space: what the distances are taken in, JSON-able; None for phi.
        labels: cluster of every candidate within its group, chosen or not, -1 in groups
            without a budget; None where a method has no clusters.
    """

    rows: Int64[np.ndarray, "n"]
    cluster: Int64[np.ndarray, "n"]
    rank: Int64[np.ndarray, "n"]
    distance: Float64[np.ndarray, "n"]
    report: dict[str, Any]
    unit: int = 1
    space: dict[str, Any] | None = None
    labels: Int64[np.ndarray, "N"] | None = None


def unclustered(
    rows: Int64[np.ndarray, "n"], distance: Float64[np.ndarray, "n"]
) -> Picks:
    """Picks of one group in the order given."""
    return Picks(rows, np.full_like(rows, -1), np.arange(len(rows)), distance, {})


def joined(parts: Mapping[str, Picks], unit: int) -> Picks:
    """The picks of all groups in one record, their reports by group name."""
    return Picks(
        np.concatenate([part.rows for part in parts.values()]),
        np.concatenate([part.cluster for part in parts.values()]),
        np.concatenate([part.rank for part in parts.values()]),
        np.concatenate([part.distance for part in parts.values()]),
        {name: part.report for name, part in parts.items()},
        unit,
    )


def draw(group: str, size: int, seed: int) -> Int64[np.ndarray, "m"]:
    """0..size-1 in an order drawn for the group, whatever other groups there are.

    Each group has its own stream of PCG64, made from the seed and the SHA-256 of the
    group's name (our choice).
    """
    digest = hashlib.sha256(group.encode()).digest()
    stream = np.random.PCG64([seed, int.from_bytes(digest[:8], "big")])
    return np.random.Generator(stream).permutation(size)


def farthest_engine(values: Num[np.ndarray, "m R"], settings: Settings) -> str:
    """What computes farthest points: grid rows go to an engine that is fast, all of
    which make the reference's picks; where k-means runs on devices, so do these."""
    if not np.issubdtype(values.dtype, np.integer):
        return "reference"
    return "jax" if settings.engine == "jax" else "cpu"
