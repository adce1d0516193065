"""Stage `measures/features`: what the features of the chosen rows say.

    spread      per selector the statistics of paper A.4 and Table 3; null for families
                without the blocks that they are defined over
    separating  the features in which two selections differ most

Features are streamed part by part. Those of chosen rows that the statistics read go
into a file, from which they come back prompt by prompt; it is removed at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int64

from routejax import features, fingerprints, selection, workdir
from routejax.moments import moments
from routejax.progress import track
from routejax.stages.select_features import eligible_rows, pool_moments
from routejax.stages.select_phi import read_phi
from routejax.stages.select_picks import read_picks
from routejax.stages.select_run import Outputs, SelectRun

SHOWN = 12  # features of each list
_ROWS = 4096
_LEAST = 1e-3  # of a deviation that a difference is divided by


class Summed(NamedTuple):
    """Standardised features of a selection: their sums and sums of squares."""

    sums: Float64[np.ndarray, "D"]
    squares: Float64[np.ndarray, "D"]


class _Kept(NamedTuple):
    """The file with the first features of all chosen rows, and each row's place."""

    rows: Float[np.ndarray, "m W"]
    place: Int64[np.ndarray, "E"]


def make_measures(
    run: SelectRun, manifest: Mapping[str, Any], picks: Mapping[str, Outputs]
) -> Outputs:
    """The hash of `measures.json`."""
    inputs = {
        "features": {key: manifest[key] for key in ("parts", "tables")},
        "projection": run.settings.projecting(),
        "picks": dict(picks),
    }
    return run.stage("measures/features", inputs, lambda folder: _make(run, folder))


def compared(methods: tuple[str, ...]) -> tuple[str, str] | None:
    """The two selectors whose features are told apart; None where there is but one."""
    if {"diverse", "similar"} <= {*methods}:
        return "diverse", "similar"
    return (methods[0], methods[1]) if len(methods) > 1 else None


def _make(run: SelectRun, folder: Path) -> None:
    chosen = {name: read_picks(run.root, name).at for name in run.settings.methods}
    blocks = spread_blocks(run.job.family)
    width = max((part.stop for part in blocks.values()), default=0)
    (folder / "parts").mkdir(exist_ok=True)
    kept, summed = _stream(run, chosen, folder / "parts" / "features.f32", width)
    found: dict[str, Any] = {"spread": None, "separating": None}
    if blocks:
        prompts = _codes(run)
        found["spread"] = {
            name: _spread(kept, at, prompts[at], blocks) for name, at in chosen.items()
        }
    if (pair := compared(run.settings.methods)) is not None:
        counts = {name: len(at) for name, at in chosen.items()}
        found["separating"] = separating(run.job.family, summed, counts, pair)
    workdir.write_json(folder / "measures.json", found)


def spread_blocks(family: str) -> dict[str, slice]:
    """The blocks that the statistics are defined over; none if the family lacks one."""
    at = fingerprints.block_slices(family)
    names = {
        "continuous": "continuous",
        "topology": "tree" if "tree" in at else "topology",
        "patterns": "pattern",
    }
    whole = all(name in at for name in names.values())
    return {key: at[name] for key, name in names.items()} if whole else {}


def _stream(
    run: SelectRun, chosen: Mapping[str, Int64[np.ndarray, "n"]], path: Path, width: int
) -> tuple[_Kept, dict[str, Summed]]:
    """One pass over the features of the pool."""
    settings, stats = run.settings, pool_moments(run.features)
    at_of = np.argsort(eligible_rows(run.features)["place"].to_numpy())
    member = {name: _mask(at, len(at_of)) for name, at in chosen.items()}
    wanted = np.any([*member.values()], axis=0)
    place = np.full(len(at_of), -1)
    zero = np.zeros(len(stats.mean))
    summed = {name: Summed(zero.copy(), zero.copy()) for name in chosen}
    done = held = 0
    with (
        path.open("wb") as file,
        track(run.console, "read features", len(at_of), "rows") as progress,
    ):
        for ids, values in features.read_features(run.features):
            at = at_of[done : done + len(ids)]
            done += len(ids)
            here = np.flatnonzero(wanted[at])
            rows, at = np.asarray(values[here]), at[here]
            file.write(np.ascontiguousarray(rows[:, :width], np.float32).tobytes())
            place[at] = np.arange(held, held + len(at))
            held += len(at)
            for first in range(0, len(rows), _ROWS):
                block = slice(first, first + _ROWS)
                z = selection.standardise(
                    rows[block],
                    stats,
                    unscaled=settings.unscaled,
                    variance_floor=settings.variance_floor,
                )
                for name, total in summed.items():
                    own = z[member[name][at[block]]]
                    total.sums[:] += own.sum(axis=0)
                    total.squares[:] += (own * own).sum(axis=0)
            progress.update(done)
    shape = (held, width)
    rows = np.memmap(path, np.float32, "r", shape=shape) if width else np.empty(shape)
    return _Kept(rows, place), summed


def _mask(at: Int64[np.ndarray, "n"], size: int) -> np.ndarray:
    mask = np.zeros(size, bool)
    mask[at] = True
    return mask


def _codes(run: SelectRun) -> Int64[np.ndarray, "E"]:
    """A number for the prompt of every candidate."""
    prompts = read_phi(run.root).rows["prompt_id"].combine_chunks()
    return prompts.dictionary_encode().indices.to_numpy().astype(np.int64)


def _spread(
    kept: _Kept,
    at: Int64[np.ndarray, "n"],
    prompts: Int64[np.ndarray, "n"],
    blocks: Mapping[str, slice],
) -> dict[str, float | int | None]:
    places = kept.place[at]
    batches = (
        np.asarray(kept.rows[places[i : i + _ROWS]]) for i in range(0, len(at), _ROWS)
    )
    found = selection.spread_of_prompts(
        (np.asarray(kept.rows[rows]) for rows in shared(places, prompts)),
        moments(batches),
        **blocks,
    )
    return {key: _number(value) for key, value in found._asdict().items()}


def shared(
    places: Int64[np.ndarray, "n"], prompts: Int64[np.ndarray, "n"]
) -> Iterator[Int64[np.ndarray, "m"]]:
    """The places of each prompt that has at least two, prompts in order."""
    order = np.argsort(prompts, kind="stable")
    borders = np.flatnonzero(np.diff(prompts[order])) + 1
    for part in np.split(places[order], borders):
        if len(part) > 1:
            yield part


def separating(
    family: str,
    summed: Mapping[str, Summed],
    counts: Mapping[str, int],
    pair: tuple[str, str],
) -> dict[str, Any]:
    """The features that tell two selections apart, buckets of hashed routes left out.

    In units of the pool's deviation, as a selection reads them. `shift` is Cohen's d:
    the difference of the means over the root of the mean variance; the largest by size
    come first. `spread` lists the largest differences of the deviations.
    """
    one, two = pair
    mean = {name: total.sums / counts[name] for name, total in summed.items()}
    sigma = {
        name: np.sqrt(np.maximum(total.squares / counts[name] - mean[name] ** 2, 0))
        for name, total in summed.items()
    }
    both = np.sqrt((sigma[one] ** 2 + sigma[two] ** 2) / 2)
    effect = (mean[one] - mean[two]) / np.maximum(both, _LEAST)
    meanings = fingerprints.describe(family)
    names = [*meanings]
    readable = np.array([not name.startswith("hash/") for name in names])

    def rows(score: np.ndarray) -> list[dict[str, Any]]:
        sized = np.where(readable, np.round(np.abs(score), 9), -1.0)
        order = np.argsort(-sized, kind="stable")[:SHOWN]
        return [
            {
                "feature": names[i],
                "meaning": meanings[names[i]],
                "effect": round(float(effect[i]), 4),
                "mean": {n: round(float(mean[n][i]), 4) for n in summed},
                "deviation": {n: round(float(sigma[n][i]), 4) for n in summed},
            }
            for i in order.tolist()
            if sized[i] > 0
        ]

    lists = {"shift": rows(effect), "spread": rows(sigma[one] - sigma[two])}
    return {"of": one, "to": two, **lists}


def _number(value: float) -> float | int | None:
    if isinstance(value, int):
        return value
    return None if math.isnan(value) else round(float(value), 6)
