"""`manifest.json` of a selection: what it was made from and what came out.

Nothing in it depends on the clock, the machine or the number of threads.

    schema, versions      of this file, of the package and what decides bytes below it
    inputs                hashes: pool files, features and moments, phi
    config                what was asked for
    rows, rejected        of the pool, and how many rows each rule rejected
    columns               of the Parquet files: own, written as JSON text, added
    selectors.<name>      selected, ids_sha256, files with their hashes, report
    overlap.<a>|<b>       rows in both
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from routejax import workdir
from routejax.selection.manifest import ids_sha256, versions
from routejax.stages.select_phi import read_phi
from routejax.stages.select_picks import read_picks
from routejax.stages.select_run import Outputs, SelectRun

SCHEMA = 1
_FAMILY = ("family", "version", "testbed", "rules", "moments_over")


def write_manifest(
    run: SelectRun,
    fingerprints: Mapping[str, Any],
    phi: Outputs,
    files: Outputs,
    config: Mapping[str, Any],
) -> dict[str, Any]:
    """What `manifest.json` says; writes it."""
    rows = read_phi(run.root)
    picks = {name: read_picks(run.root, name) for name in run.settings.methods}
    columns = workdir.read_json(run.root / "selected" / "columns.json")
    selectors = {}
    for name, found in picks.items():
        ids = rows.rows["id"].to_numpy()[found.at].tolist()
        selectors[name] = {
            "selected": len(ids),
            "ids_sha256": ids_sha256(ids),
            "files": {f: sha for f, sha in files.items() if f.startswith(f"{name}.")},
            "report": found.report,
        }
    manifest = {
        "schema": SCHEMA,
        "versions": versions(),
        "inputs": {
            "pool": fingerprints["files"],
            "family": {key: fingerprints[key] for key in _FAMILY},
            "features": workdir.content_hash(fingerprints["parts"]),
            **fingerprints["tables"],
            **phi,
            **({"grid": rows.facts["sha256"]} if "sha256" in rows.facts else {}),
        },
        "config": dict(config),
        "rows": fingerprints["rows"],
        "rejected": fingerprints["rejected"],
        "columns": columns,
        "selectors": selectors,
        "overlap": {
            f"{a}|{b}": len(np.intersect1d(picks[a].at, picks[b].at))
            for a, b in itertools.combinations(picks, 2)
        },
    }
    workdir.write_json(run.root / "manifest.json", manifest)
    return manifest
