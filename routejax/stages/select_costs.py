"""About how much memory and time each stage of a selection takes.

The formulas have the shape that the code has, and constants that were measured on two
cores. They are for a decision before hours of work. Left out: vectors beside phi, which
lie in files.
"""

from __future__ import annotations

from typing import NamedTuple

from routejax.stages.select_geometry import PAIRS
from routejax.stages.select_memory import GIB
from routejax.stages.select_settings import Settings

_BASE = 0.55 * GIB  # interpreter, libraries, one part of features
_ROW = 250  # bytes: names of a row, in order and counted
_FILES = 0.6 * GIB  # chosen rows of a piece of the pool, and those that wait
# Bytes beside phi for each entry of the rows that a selector works on at a time.
_ENTRY = {"similar": 10, "diverse": 6, "topology_clusters": 6, "random": 0}
_ENTRY_FPS = 4
# Seconds on one core.
_FINGERPRINT_S = 1.2e-3  # per row of about 20,000 characters
_PROJECT_S = 1.2e-10  # per multiplication of features
_CANDIDATE_S = 1e-6  # per row and selector
_ROW_S = 2e-5  # per row: features read, or a coarse partition
_PRODUCT_S = 6e-11  # per multiplication of grid rows with grid rows
_SEED_S = 9e-11  # the same in the seeding of `sklearn`
_READ_S = 1.5e-4  # per row of the pool that is read once more
_NEAREST_S = 3.3e-11  # per multiplication, the nearest of many rows
_MEASURE_S = 1e-4  # per row: features read and standardised
_ROUTES_S = 2.0  # per selector
_NAMED = 150  # bytes: group of a row, coordinates on the map
_CHOSEN = 1500  # bytes: what a report knows of a chosen row, before it is cut


class Size(NamedTuple):
    """What memory and time depend on.

    `rows` of the pool, `eligible` of them, `features` of a fingerprint, `projected`
    ones of phi; `groups` are (eligible, rows to choose, clusters) of each.
    """

    rows: int
    eligible: int
    features: int
    projected: int
    groups: tuple[tuple[int, int, int], ...]


class Cost(NamedTuple):
    """Peak of memory in bytes, and seconds on one core."""

    bytes: float
    seconds: float


def costs(size: Size, settings: Settings) -> dict[str, Cost]:
    """Of every stage from phi on, by its name."""
    entry = 2 if settings.precision == "exact" else 4
    phi = size.eligible * size.projected * entry
    names = _BASE + size.eligible * _ROW
    work = size.eligible * size.features * (settings.r or 1) * _PROJECT_S
    found = {"phi": Cost(names + phi, work + size.eligible * _ROW_S)}
    for method in settings.methods:
        held, seconds = _selector(method, size, settings)
        cost = Cost(names + phi + held, seconds + size.eligible * _CANDIDATE_S)
        found[method] = cost
    found["files"] = Cost(names + _FILES, size.rows * _READ_S)
    found["report"] = _report(names, size, settings)
    return found


def fingerprint_s(rows: int, threads: int) -> float:
    """Seconds for the fingerprints of so many rows."""
    return rows * _FINGERPRINT_S / threads


def _selector(method: str, size: Size, settings: Settings) -> tuple[float, float]:
    """Bytes beside phi and seconds of a selector."""
    largest = max(rows for rows, _, _ in size.groups)
    worked = size.eligible if method == "topology_clusters" else largest
    held = worked * size.projected * _ENTRY.get(method, _ENTRY_FPS)
    if method == "topology_clusters":
        k = min(settings.global_clusters, size.eligible)
        return held, _kmeans_s(size.eligible, k, size.projected, settings)
    if method == "diverse":
        fits = (_kmeans_s(m, k, size.projected, settings) for m, _, k in size.groups)
        return held, sum(fits)
    if method.endswith("_fps"):
        # about half of all pairs are looked at
        pairs = sum(rows * quota for rows, quota, _ in size.groups) / 2
        return held, pairs * size.projected * _PRODUCT_S
    return held, 0.0


def _report(names: float, size: Size, settings: Settings) -> Cost:
    """Of what is measured of every selection, and of drawing some of its routes."""
    chosen, selectors = sum(quota for _, quota, _ in size.groups), len(settings.methods)
    pairs = min(size.eligible * chosen, PAIRS) + chosen * chosen
    seconds = pairs * selectors * size.projected * _NEAREST_S
    seconds += size.eligible * _MEASURE_S + selectors * _ROUTES_S
    held = size.eligible * _NAMED + chosen * _CHOSEN
    return Cost(names + held, seconds)


def _kmeans_s(rows: int, k: int, width: int, settings: Settings) -> float:
    """Seconds of k-means on `rows` rows."""
    whole_pass = rows * k * width * _PRODUCT_S
    if settings.engine != "sklearn":
        return whole_pass + rows * _ROW_S
    batch = min(settings.batch, rows)
    trials = 2 + k.bit_length() * 0.7  # 2 + log k
    seeds = settings.n_init * k * min(rows, 3 * batch) * trials * width * _SEED_S
    return seeds + whole_pass * (1 + settings.max_iter / 3)  # it mostly stops early
