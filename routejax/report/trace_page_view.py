"""One trace as it is explained: the record that the page and the terminal both read.

Left out: how it is filled. Whoever has the pool knows the row; whoever has run the
fingerprints knows the moments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from routejax.errors import UserError
from routejax.fingerprints import Explained

_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z]+)?", re.A)


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """One trace: where it comes from, its steps, its fingerprint, and its pool.

    Attributes:
        id, prompt, group, source, verified: of the pool row (`traces.Trace`).
        span: the state of the reasoning span, in a word.
        family, version: of the fingerprint.
        steps: what `fingerprints.explain` says, in order.
        cues: per step the cue that gave the type, "" where a content test or the
            fallback did; empty where the cues are not known.
        names, meanings, values: the D features.
        pool_mean, pool_sigma: of each feature over the pool; None if not known.
        pool_rows: how many traces the two were taken over, None if not known.
        standing: whether the trace may be selected, and why not, in words.

    Raises:
        UserError: for parts of different lengths, which would not belong together.
    """

    id: str
    prompt: str
    group: str
    source: str | None
    verified: bool | None
    span: str
    family: str
    version: str
    steps: Sequence[Explained]
    names: Sequence[str]
    meanings: Sequence[str]
    values: Float[np.ndarray, "D"]
    pool_mean: Float[np.ndarray, "D"] | None = None
    pool_sigma: Float[np.ndarray, "D"] | None = None
    pool_rows: int | None = None
    cues: Sequence[str] = ()
    standing: str = ""

    def __post_init__(self) -> None:
        parts = {"meanings": self.meanings, "values": self.values}
        pool = {"pool_mean": self.pool_mean, "pool_sigma": self.pool_sigma}
        given = {name: part for name, part in pool.items() if part is not None}
        if len(given) == 1:
            raise UserError(
                f"pool_mean and pool_sigma go together, got only {[*given]}"
            )
        for name, part in (parts | given).items():
            if len(part) != len(self.names):
                raise UserError(
                    f"{name} must have {len(self.names):,} entries, one per feature of "
                    f"family {self.family!r}, got {len(part):,}; the statistics of a "
                    "pool belong to one family and version"
                )
        if self.cues and len(self.cues) != len(self.steps):
            raise UserError(
                f"cues must have one entry per step ({len(self.steps):,}) or none, "
                f"got {len(self.cues):,}"
            )

    def cue(self, step: int) -> str:
        return self.cues[step] if self.cues else ""


class Difference(NamedTuple):
    """One feature of a trace against the pool; `z` is not clipped."""

    name: str
    meaning: str
    value: float
    mean: float
    z: float


def differences(
    view: TraceView, count: int
) -> tuple[list[Difference], list[Difference]] | None:
    """Features furthest above the pool mean, and furthest below: `count` of each.

    By size of z = (value − mean)/σ, ties in the order of the features; a feature that
    does not vary in the pool has σ = 1 as in `selection.standardise`, and one that
    equals the mean is never listed. Buckets of hashed routes, which tell a reader
    nothing, come after all others. None if the pool is not known.
    """
    if view.pool_mean is None or view.pool_sigma is None:
        return None
    values, mean, sigma = (
        np.asarray(column, np.float64)
        for column in (view.values, view.pool_mean, view.pool_sigma)
    )
    z = (values - mean) / np.where(sigma > 0, sigma, 1.0)
    hashed = np.array([name.startswith("hash/") for name in view.names], np.bool_)
    order = [int(i) for i in np.lexsort((-np.abs(z), hashed))]

    def rows(side: list[int]) -> list[Difference]:
        return [
            Difference(
                view.names[i],
                view.meanings[i],
                float(values[i]),
                float(mean[i]),
                float(z[i]),
            )
            for i in side[:count]
        ]

    return rows([i for i in order if z[i] > 0]), rows([i for i in order if z[i] < 0])


def cue_span(step: str, cue: str) -> tuple[int, int] | None:
    """Where the words of `cue` first stand one after another in `step`; else None.

    As the cues are read: whatever case, spaces and punctuation lie between.
    """
    words = [word.lower() for word in _WORD.findall(cue)]
    if not words:
        return None
    found = list(_WORD.finditer(step))
    said = [match.group().lower() for match in found]
    for i in range(len(said) - len(words) + 1):
        if said[i : i + len(words)] == words:
            return found[i].start(), found[i + len(words) - 1].end()
    return None
