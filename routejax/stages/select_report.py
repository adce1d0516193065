"""`report.json` and `report.html` of a selection, from what its stages measured.

Schema of `report.json` (version 1); the page is a function of it alone:

    schema, routejax, config       version of the file and the package, the recipe
    commands                       what to run for the why and the route of other rows
    pool                           rows, eligible, groups, sources, lengths, map
    order                          names of the selectors, as they were asked for
    selectors.<name>               selected, ids_sha256, geometry, spread, quotas, what
                                   it is made of, and `rows`: those that the page shows
    overlap                        rows in both of two selections, and by chance
    compared, ratio                two selectors, and the spread of one over the other's
    separating                     the features in which these two differ most

Of every selection at most `SHOWN` rows are in the file, the first ones and others at
even steps; `shown` says how many. What any other row was chosen by, `--why` tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Float, Int64

import routejax
from routejax import workdir
from routejax.report.choice_page import choice_page
from routejax.selection import SELECTORS
from routejax.stages.select_geometry import make_geometry
from routejax.stages.select_measures import compared, make_measures
from routejax.stages.select_phi import Phi, read_phi
from routejax.stages.select_picks import Picks, read_picks
from routejax.stages.select_pool_facts import length_bin, make_pool_facts
from routejax.stages.select_routes import first_rows, make_routes, route_file
from routejax.stages.select_run import Outputs, SelectRun
from routejax.stages.select_why import measured, number_facts

SCHEMA = 1
SHOWN = 1000  # rows of each selector in the file


class _Pool(NamedTuple):
    """What all selectors share."""

    phi: Phi
    groups: np.ndarray  # by row of `phi/`
    plane: Float[np.ndarray, "E 2"]
    drawn: frozenset[str]  # files of routes


def make_report(
    run: SelectRun,
    fingerprints: Mapping[str, Any],
    phi: Outputs,
    picks: Mapping[str, Outputs],
    manifest: Mapping[str, Any],
    commands: Mapping[str, str],
) -> dict[str, Any]:
    """What `report.json` says; writes it and `report.html`.

    Args:
        fingerprints, manifest: the manifests of the fingerprints and of the selection.
        commands: `why` and `route`, command lines that end before the id.
    """
    make_geometry(run, phi, picks)
    make_measures(run, fingerprints, picks)
    make_pool_facts(run, phi, fingerprints)
    routes = make_routes(run, phi, picks)
    report = _report(run, manifest, commands, frozenset(routes))
    workdir.write_json(run.root / "report.json", report)
    workdir.write(run.root / "report.html", choice_page(report))
    return report


def _report(
    run: SelectRun,
    manifest: Mapping[str, Any],
    commands: Mapping[str, str],
    drawn: frozenset[str],
) -> dict[str, Any]:
    folder, methods = run.root / "measures", run.settings.methods
    measures = workdir.read_json(folder / "features" / "measures.json")
    phi = read_phi(run.root)
    groups = phi.rows["group"].to_numpy()
    plane = np.load(folder / "pool" / "plane.npy", mmap_mode="r")
    pool = _Pool(phi, groups, plane, drawn)
    spread = measures["spread"]
    pair = compared(methods)
    selectors = {
        name: _selector(run, name, pool, manifest["selectors"][name])
        | {"spread": spread[name] if spread else None}
        for name in methods
    }
    return {
        "schema": SCHEMA,
        "routejax": routejax.__version__,
        "config": manifest["config"]["name"],
        "commands": dict(commands),
        "family": run.job.family,
        "grammar": run.job.of.grammar is not None,
        "pool": manifest["rows"]
        | workdir.read_json(folder / "pool" / "pool.json")
        | {"rejected": manifest["rejected"]},
        "order": list(methods),
        "selectors": selectors,
        "overlap": _overlap(run, groups),
        "compared": list(pair) if pair else None,
        "ratio": _ratio(spread, pair) if spread and pair else None,
        "separating": measures["separating"],
    }


def _selector(
    run: SelectRun, name: str, pool: _Pool, entry: Mapping[str, Any]
) -> dict[str, Any]:
    found = read_picks(run.root, name)
    facts = workdir.read_json(run.root / "selected" / f"{name}.selection.json")["rows"]
    folder = run.root / "measures" / name
    places = shown(found, pool.groups[found.at])
    return {
        "sentence": SELECTORS[name].sentence,
        "measured": measured(name),
        "selected": entry["selected"],
        "ids_sha256": entry["ids_sha256"],
        "prompts": len(set(facts["prompt_id"])),
        "geometry": workdir.read_json(folder / "geometry.json"),
        "quotas": quotas(entry["report"], pool.groups[found.at]),
        "by_source": _counts(source or "" for source in facts["source"]),
        "by_length": _counts(str(length_bin(n)) for n in facts["characters"]),
        "rows": _rows(run, found, pool, places, facts, name),
    }


def shown(found: Picks, groups: np.ndarray) -> Int64[np.ndarray, "k"]:
    """Places of the picks that the page shows: the first ones, then even steps."""
    first = first_rows(found, groups)
    steps = np.unique(np.linspace(0, len(found.at) - 1, SHOWN).astype(np.int64))
    rest = steps[~np.isin(steps, first)]
    return np.concatenate([first, rest])[:SHOWN]


def quotas(report: Mapping[str, Any], groups: np.ndarray) -> dict[str, Any]:
    """Of every group what there was, what it gave, and how much that is short.

    A group is short where it gives fewer rows than its budget set by hand, or than an
    even split would ask of it, whatever its size.
    """
    entries, selected = report["groups"], Counter(groups.tolist())
    even = report["n"] // max(1, len(entries))
    found = {}
    for group, entry in entries.items():
        wanted = report["quotas"].get(group, even if not report["quotas"] else 0)
        found[group] = {
            "eligible": entry["eligible"],
            "budget": entry["budget"],
            "selected": selected[group],
            "short": max(0, max(wanted, entry["budget"]) - selected[group]),
        }
    return found


def _rows(
    run: SelectRun,
    found: Picks,
    pool: _Pool,
    places: Int64[np.ndarray, "k"],
    facts: Mapping[str, Any],
    name: str,
) -> list[dict[str, Any]]:
    beside = pq.read_table(run.root / "measures" / name / "picks.parquet")
    near, gap = (beside[key].to_numpy()[places] for key in ("near", "distance"))
    names = _names(pool.phi, near)
    rows = []
    for k, place in enumerate(places.tolist()):
        at = int(found.at[place])
        row = number_facts(found, place)
        file = route_file(at)
        rows.append(
            {
                "id": facts["id"][place],
                "group": facts["group"][place],
                "source": facts["source"][place],
                "characters": facts["characters"][place],
                **row,
                **_cluster_facts(found.report, facts["group"][place], row["cluster"]),
                "near": names[k],
                "near_distance": round(float(gap[k]), 5) if near[k] >= 0 else None,
                "x": round(float(pool.plane[at, 0]), 4),
                "y": round(float(pool.plane[at, 1]), 4),
                "route": f"routes/{file}" if file in pool.drawn else None,
            }
        )
    return rows


def _names(phi: Phi, at: Int64[np.ndarray, "k"]) -> list[str | None]:
    ids = phi.rows["id"].take(np.maximum(at, 0)).to_pylist()
    return [name if a >= 0 else None for name, a in zip(ids, at.tolist(), strict=True)]


def _cluster_facts(
    report: Mapping[str, Any], group: str, cluster: int | None
) -> dict[str, int | None]:
    """Rows of the cluster that there were, and that were chosen."""
    entry = report["groups"].get(group, {})
    sizes = entry.get("cluster_sizes")
    if cluster is None or not sizes or cluster >= len(sizes):
        return {"cluster_rows": None, "cluster_chosen": None}
    return {
        "cluster_rows": sizes[cluster],
        "cluster_chosen": entry["cluster_quotas"][cluster],
    }


def _overlap(run: SelectRun, groups: np.ndarray) -> dict[str, Any]:
    """Rows in both, of every two selections, and what draws by chance would share.

    Two uniform draws of n_d of the m_d rows of each group share the sum of n_d²/m_d.
    """
    methods = run.settings.methods
    at = {name: read_picks(run.root, name).at for name in methods}
    first = read_picks(run.root, methods[0])
    chance = sum(
        entry["budget"] ** 2 / entry["eligible"]
        for entry in first.report["groups"].values()
        if entry["eligible"]
    )
    return {
        "rows": [[len(np.intersect1d(at[a], at[b])) for b in methods] for a in methods],
        "by_chance": round(float(chance), 1),
    }


def _ratio(
    spread: Mapping[str, Mapping[str, Any]], pair: tuple[str, str]
) -> dict[str, float | None]:
    """Each statistic of the first selector over that of the second."""
    one, two = (spread[name] for name in pair)
    return {
        key: round(one[key] / two[key], 4)
        if one[key] is not None and two[key]
        else None
        for key in one
        if key not in ("rows", "prompts")
    }


def _counts(values: Any) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
