"""Stage `routes`: a page for each of the first rows of every selection.

    row-0000123.html   the route of row 123 of `phi/`, as `--explain` of
                       `routejax.fingerprint` draws it

Families that label no steps in the text have no routes to draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from routejax import workdir
from routejax.progress import track
from routejax.report.trace_page import explained_page
from routejax.stages import look
from routejax.stages.select_phi import read_phi
from routejax.stages.select_picks import Picks, read_picks
from routejax.stages.select_run import Outputs, SelectRun

DRAWN = 12  # rows of each selector


def make_routes(run: SelectRun, phi: Outputs, picks: Mapping[str, Outputs]) -> Outputs:
    """Hashes of the pages."""
    inputs = {"phi": phi, "picks": dict(picks), "drawn": DRAWN}
    return run.stage("routes", inputs, lambda folder: _make(run, folder))


def route_file(at: int) -> str:
    return f"row-{at:07d}.html"


def first_rows(
    found: Picks, groups: np.ndarray, count: int = DRAWN
) -> Int64[np.ndarray, "k"]:
    """Places among the picks of the first `count`, groups taking turns.

    Within a group by rank, then by id; `groups` are those of the picks.
    """
    order = np.lexsort((np.arange(len(found.at)), found.rank, groups))
    _, starts = np.unique(groups[order], return_index=True)
    sizes = np.diff([*starts, len(order)])
    turn = np.arange(len(order)) - np.repeat(starts, sizes)
    return order[np.lexsort((groups[order], turn))][:count]


def _make(run: SelectRun, folder: Path) -> None:
    if run.job.of.grammar is None:
        return
    phi = read_phi(run.root)
    wanted: set[int] = set()
    for name in run.settings.methods:
        found = read_picks(run.root, name)
        groups = phi.rows["group"].to_numpy()[found.at]
        wanted |= {*found.at[first_rows(found, groups)].tolist()}
    with track(run.console, "draw routes", len(wanted), "routes") as progress:
        for done, at in enumerate(sorted(wanted), 1):
            row = phi.rows.slice(at, 1).to_pylist()[0]
            part = run.job.parts[row["part"]]
            view = look.view(run.job, run.features, part, row["id"])
            workdir.write(folder / route_file(at), explained_page(view))
            progress.update(done)
