"""Stages `fingerprint` and `select`: the pool as numbers, and each arm's rows of it.

Rows that were chosen before (`given`) are looked at in the same way: spread, coverage
and map are those of all arms' rows together.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from routejax import fingerprints, selection, spans
from routejax.progress import Stage, track
from routejax.stages import given
from routejax.stages.overlong import FILE
from routejax.stages.pool import eligible_pool
from routejax.stages.run import Run
from routejax.stages.select_measures import spread_blocks
from routejax.workdir import read_json, write, write_json, write_parquet

_MOST_BYTES = 1 << 30  # of texts whose places fit into 32 bits, with room
_AT_ONCE = 1024  # rows whose features are made together
_EXTRA = ("routejax_rank", "routejax_cluster", "routejax_distance")


def fingerprint(run: Run, pool: dict[str, str]) -> dict[str, str]:
    """Hash of `features.npy`, float32 [N, D], one row per eligible row of the pool."""
    inputs = {
        **_rows(pool),
        "family": run.config["selection"]["family"],
    }

    def work(folder: Path) -> None:
        table = eligible_pool(run)
        found = table["response"].to_pylist()
        reads = fingerprints.FAMILIES[inputs["family"]].reads
        with track(run.console, "fingerprint", len(found), "traces") as progress:
            if reads == ("reasoning",) and not run.config["rows"]["paths"]:
                texts = [spans.split(text).reasoning or "" for text in found]
                features = fingerprints.fingerprints(texts, inputs["family"], progress)
            else:
                features = _features(table, inputs["family"], progress)
        write(folder / "features.npy", _npy(features))

    return run.stage(run.root / "fingerprint", inputs, work)


def _features(
    table: pa.Table, family: str, progress: Stage
) -> Float[np.ndarray, "N D"]:
    """Of families that read more than the reasoning, and of rows of any length."""
    made, done = [], 0
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        split = [spans.split(text) for text in batch["response"].to_pylist()]
        columns = {name: batch[name] for name in batch.schema.names}
        for name in ("prompt", "response"):
            columns[name] = columns[name].cast(pa.large_string())
        for name in ("reasoning", "answer"):
            texts = [getattr(span, name) or "" for span in split]
            columns[name] = pa.array(texts, pa.large_string())
        made.append(fingerprints.features(pa.RecordBatch.from_pydict(columns), family))
        done += len(batch)
        progress.update(done)
    return np.concatenate(made)


def select(run: Run, pool: dict[str, str], features: dict[str, str]) -> dict[str, str]:
    """Hashes of `<arm>.parquet` and `<arm>.json` for every arm.

    The Parquet file has the pool's own columns and, per row, its rank in its cluster,
    its cluster and the distance it was chosen by. The JSON is the manifest with spread
    and coverage of the selection. `plane.json` is the map of the pool.
    """
    inputs = {
        **_rows(pool),
        "features": features["features.npy"],
        "selection": run.config["selection"],
        "arms": run.config["arms"],
        "report": run.config["report"],
    }
    if run.config["rows"]["paths"]:
        inputs |= {"rows": run.config["rows"], "given": pool[given.FILE]}
    return run.stage(
        run.root / "select", inputs, lambda folder: _select(run, folder, inputs)
    )


def _rows(pool: dict[str, str]) -> dict[str, str]:
    """Hashes of what decides which rows may be selected."""
    names = {"pool": "pool.parquet", "overlong": FILE}
    return {key: pool[name] for key, name in names.items() if name in pool}


def _select(run: Run, folder: Path, inputs: dict[str, Any]) -> None:
    settings = dict(run.config["selection"])
    table = eligible_pool(run)
    features = np.load(run.root / "fingerprint" / "features.npy")
    family = settings.pop("family")
    phi = _project(features, family, settings)
    grid = selection.to_grid(phi)
    groups = _groups(table, settings.pop("group_by"))
    arms = run.config["arms"]
    rejected = read_json(run.root / "pool" / "counts.json")["rejected"]
    chosen, before = {}, given.selections(run, table, groups)
    with track(run.console, "select", len(arms), "arms") as progress:
        for done, arm in enumerate(arms, 1):
            picked = before.get(arm) or selection.select(
                arm,
                ids=table["id"].to_pylist(),
                groups=groups,
                prompt_ids=table["prompt_id"].to_pylist(),
                phi=grid if settings["precision"] == "exact" else phi,
                **settings,
            )
            manifest = selection.manifest(
                picked,
                inputs={k: inputs[k] for k in ("pool", "features")}
                | {"grid": grid.sha256},
                config=run.config["selection"],
                rejected=rejected,
            )
            manifest |= _geometry(table, features, grid, picked.rows, family)
            write_parquet(folder / f"{arm}.parquet", _with_choice(table, picked))
            write_json(folder / f"{arm}.json", manifest)
            chosen[arm] = picked.rows
            progress.update(done, arm)
    write_json(folder / "plane.json", _plane(run, table, grid, chosen))


def _project(
    features: Float[np.ndarray, "N D"], family: str, settings: dict[str, Any]
) -> Float[np.ndarray, "N R"]:
    """phi; the binary pattern indicators of RLVE stay unscaled (paper A.2, step 4)."""
    sizes = dict(fingerprints.FAMILIES[family].blocks)
    return selection.project(
        features,
        unscaled=sizes["pattern"] if family == "rlve" else 0,
        r=settings.pop("r"),
        seed=settings.pop("projection_seed"),
    )


def _groups(table: pa.Table, group_by: str) -> list[str]:
    return ["all"] * len(table) if group_by == "all" else table["group"].to_pylist()


def _geometry(
    table: pa.Table,
    features: Float[np.ndarray, "N D"],
    grid: selection.Grid,
    rows: np.ndarray,
    family: str,
) -> dict[str, Any]:
    """Spread per prompt (paper A.4), coverage of the pool, and what was taken.

    Families without the blocks of the spread have none.
    """
    prompts = table["prompt_id"].take(rows).to_pylist()
    blocks = spread_blocks(family)
    spread = selection.spread(features[rows], prompts, **blocks) if blocks else None
    coverage = selection.coverage(grid.values, rows)
    return {
        "spread": {k: _number(v) for k, v in spread._asdict().items()}
        if spread
        else {},
        "covering_radius": _number(coverage.radius / grid.scale),
        "mean_nearest_distance": _number(coverage.mean_nearest / grid.scale),
        "by_env": shares(table, "env", rows),
        "by_strategy": shares(table, "strategy", rows),
    }


def shares(
    table: pa.Table, column: str, rows: np.ndarray | None = None
) -> dict[str, int]:
    """How many of the rows are of which kind, in order of the kinds."""
    found = np.array(kinds(table, column), object)
    return dict(sorted(Counter(found if rows is None else found[rows]).items()))


def kinds(table: pa.Table, column: str) -> list[str]:
    """`env` or `strategy` of each row; without one its group, or its generator."""
    instead = {"env": "group", "strategy": "source"}[column]
    pairs = zip(table[column].to_pylist(), table[instead].to_pylist(), strict=True)
    return [own or other or "unknown" for own, other in pairs]


def _number(value: float) -> float | int | None:
    if isinstance(value, int):
        return value
    return None if np.isnan(value) else round(float(value), 6)


def _with_choice(table: pa.Table, picked: selection.Selection) -> pa.Table:
    """The chosen rows in order of id with how each was chosen."""
    if table.nbytes > _MOST_BYTES:
        long = ("prompt", "response", "meta")
        wider = {f.name: pa.large_string() for f in table.schema if f.name in long}
        table = table.cast(
            pa.schema([f.with_type(wider.get(f.name, f.type)) for f in table.schema])
        )
    kept = table.take(pa.array(picked.rows))
    for name, values in zip(
        _EXTRA, (picked.rank, picked.cluster, picked.distance), strict=True
    ):
        kept = kept.append_column(name, pa.array(values))
    return kept


def _plane(
    run: Run, table: pa.Table, grid: selection.Grid, chosen: dict[str, np.ndarray]
) -> dict[str, Any]:
    """A fixed sample of pool rows on the two principal axes, and who chose which."""
    limit = run.config["report"]["map_rows"]
    rng = np.random.default_rng(0)
    shown = np.sort(rng.permutation(len(table))[:limit])
    xy = selection.principal_plane(grid.values)[shown] / grid.scale
    place = {int(row): i for i, row in enumerate(shown)}
    envs, strategies = kinds(table, "env"), kinds(table, "strategy")
    return {
        "x": np.round(xy[:, 0], 4).tolist(),
        "y": np.round(xy[:, 1], 4).tolist(),
        "env": [envs[row] for row in shown],
        "strategy": [strategies[row] for row in shown],
        "arms": {
            arm: [place[int(r)] for r in rows if int(r) in place]
            for arm, rows in chosen.items()
        },
    }


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
