"""Why a row of the pool was chosen by each selector, or was not."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from routejax import selection
from routejax.errors import UserError
from routejax.report.wording import visible
from routejax.selection import SELECTORS
from routejax.stages.select_phi import Phi, read_phi
from routejax.stages.select_picks import Picks, read_clusters, read_picks
from routejax.stages.select_run import SelectRun

# What the distance of a pick was taken to.
MEASURED = {
    "diverse": "the nearest earlier pick of its cluster (of the first: its mean)",
    "similar": "the mean of its group",
}
FARTHEST = "the nearest earlier pick of its group"


def measured(method: str) -> str | None:
    """What a selector's distances are taken to; None where it takes none."""
    far = method.endswith("_fps")
    return FARTHEST if far else MEASURED.get(method)


def why(run: SelectRun, name: str) -> dict[str, Any]:
    """The candidate with this id as every selector saw it.

    `selectors.<name>` has `chosen`, `cluster`, `rank`, `distance` (null where there is
    none) and the nearest other chosen row, `near`, at `near_distance` in phi.

    Raises:
        UserError: the selection is not finished; no row of the pool has the id, or only
            one that is not eligible.
    """
    missing = [
        method
        for method in run.settings.methods
        if not (run.root / "picks" / method / "stage.json").exists()
    ]
    if missing or not (run.root / "phi" / "stage.json").exists():
        raise UserError(
            f"the selection in {run.root} is not finished; run the same command "
            "without --why first"
        )
    phi = read_phi(run.root)
    at = _row(run, phi, name)
    row = phi.rows.slice(at, 1).to_pylist()[0]
    found = {
        method: _seen(phi, at, read_picks(run.root, method))
        for method in run.settings.methods
    }
    for method, one in found.items():
        clusters = read_clusters(run.root, method)
        if clusters is not None and clusters[at] >= 0:
            one["cluster"] = int(clusters[at])
    keys = ("id", "prompt_id", "group")
    return {"at": at, **{key: row[key] for key in keys}, "selectors": found}


def reports(run: SelectRun) -> dict[str, Any]:
    """What every selector says of its groups."""
    return {name: read_picks(run.root, name).report for name in run.settings.methods}


def lines(found: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[str]:
    """What `why` found, as it is printed; `report` gives a selector's own report."""
    yield (
        f"{visible(found['id'])}  group {visible(found['group'])}, "
        f"prompt {visible(found['prompt_id'])}"
    )
    for method, one in found["selectors"].items():
        yield f"  {method}: {'chosen' if one['chosen'] else 'not chosen'}"
        yield f"      {SELECTORS[method].sentence}"
        if said := cluster_said(one, report[method]["groups"].get(found["group"])):
            yield f"      {said}"
        if one["rank"] is not None:
            where = "its cluster" if one["cluster"] is not None else "its group"
            yield f"      pick {one['rank'] + 1:,} of {where}"
        if one["distance"] is not None:
            to = measured(method) or "what it was chosen by"
            yield f"      at distance {one['distance']:.4f} to {to}"
        if one["near"] is not None:
            what = "nearest other chosen row" if one["chosen"] else "nearest chosen row"
            yield (
                f"      {what}: {visible(one['near'])} at {one['near_distance']:.4f}"
            )


def cluster_said(one: Mapping[str, Any], group: Mapping[str, Any] | None) -> str | None:
    """The cluster of a row, its size and its quota, in words."""
    if one["cluster"] is None:
        return None
    sizes = (group or {}).get("cluster_sizes")
    if not sizes or one["cluster"] >= len(sizes):
        return f"cluster {one['cluster']:,}"
    size, quota = (
        (group or {})[key][one["cluster"]]
        for key in ("cluster_sizes", "cluster_quotas")
    )
    return (
        f"cluster {one['cluster']:,} of {len(sizes):,}: {size:,} "
        f"{'row' if size == 1 else 'rows'}, {quota:,} chosen"
    )


def _row(run: SelectRun, phi: Phi, name: str) -> int:
    ids = phi.rows["id"]
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"the id must be UTF-8, got {name!r}") from error
    options = pc.IndexOptions(pa.scalar(name, ids.type))
    at = pc.call_function("index", [ids], options).as_py()
    if at >= 0:
        return at
    path = run.features / "rejected.parquet"
    for row in pq.read_table(path, filters=[("id", "==", name)]).to_pylist():
        raise UserError(
            f"{name!r}, row {row['row']} of {row['file']}, is not eligible, so no "
            f"selector looked at it: {row['rule']}, {row['reason']}"
        )
    place = bisect.bisect_left(_Texts(ids), name)
    around = ids.slice(max(0, place - 1), 2).to_pylist()
    raise UserError(
        f"no row of the pool has the id {name!r}; near it in order: "
        f"{', '.join(map(repr, around))}"
    )


class _Texts:
    """An Arrow column as the sequence that `bisect` wants, in order of UTF-8."""

    def __init__(self, column: pa.ChunkedArray):
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, place: int) -> str:
        return self._column[place].as_py()


def _seen(phi: Phi, at: int, found: Picks) -> dict[str, Any]:
    place = int(np.searchsorted(found.at, at))
    chosen = place < len(found.at) and int(found.at[place]) == at
    others = np.delete(found.at, place) if chosen else found.at
    seen: dict[str, Any] = {"chosen": chosen, "near": None, "near_distance": None}
    seen |= number_facts(found, place) if chosen else dict.fromkeys(_NUMBERS)
    if len(others):
        near = selection.nearest(phi.values[at : at + 1], phi.values[others])
        gap = float(near.distance[0]) / phi.facts.get("scale", 1)
        seen["near"] = phi.rows["id"][int(others[near.place[0]])].as_py()
        seen["near_distance"] = round(gap, 6)
    return seen


_NUMBERS = ("cluster", "rank", "distance")


def number_facts(found: Picks, place: int) -> dict[str, Any]:
    """Cluster, rank and distance of a pick; null where its selector has none."""
    cluster, distance = int(found.cluster[place]), float(found.distance[place])
    return {
        "cluster": cluster if cluster >= 0 else None,
        "rank": int(found.rank[place]),
        "distance": None if math.isnan(distance) else round(distance, 6),
    }
