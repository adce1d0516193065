"""One arm of a study, read for comparison: the same questions under several seeds.

A run is one training seed: `seed`, and under `sft` and `rl` what `checkpoint_metrics`
gave, or None where that stage was not run.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from jaxtyping import Bool, Float, Int

from routejax.errors import UserError
from routejax.metrics.checkpoint import CELLS, cell_mask
from routejax.metrics.counts import as_counts

STAGES = ("sft", "rl")
OUTCOMES = ("acc1", "passN")

Run = Mapping[str, Any]


class Arm(NamedTuple):
    """Runs of one arm.

    Attributes:
        samples: N, answers sampled per question.
        runs: by training seed, in the order given.
        counts: by stage that every run has, correct answers per seed and question.
        masks: by cell of `CELLS`, which questions belong to it.
    """

    name: str
    samples: int
    runs: dict[int, Run]
    counts: dict[str, Int[np.ndarray, "seeds Q"]]
    masks: dict[str, Bool[np.ndarray, "Q"]]

    def only(self, seeds: Sequence[int]) -> Self:
        """The same arm with these training seeds alone, in this order."""
        rows = [list(self.runs).index(seed) for seed in seeds]
        runs = {seed: self.runs[seed] for seed in seeds}
        counts = {stage: table[rows] for stage, table in self.counts.items()}
        return self._replace(runs=runs, counts=counts)

    def values(self, cell: str) -> dict[tuple[str, str], Float[np.ndarray, "seeds Q"]]:
        """By (stage, outcome), one number per seed and question of `cell`.

        acc1 is c/N and passN whether c > 0 (A.3 at k = 1 and k = N); the stage `gain`,
        where both are there, is rl - sft.
        """
        tables = {}
        for stage, counts in self.counts.items():
            inside = counts[:, self.masks[cell]]
            tables[stage, "acc1"] = inside / self.samples
            tables[stage, "passN"] = (inside > 0).astype(np.float64)
        if set(STAGES) <= set(self.counts):
            for outcome in OUTCOMES:
                gain = tables["rl", outcome] - tables["sft", outcome]
                tables["gain", outcome] = gain
        return tables


def read_arm(name: str, entries: Sequence[Run]) -> Arm:
    """The runs of one arm, checked.

    Raises:
        UserError: without runs, with a seed twice, without any evaluated checkpoint, or
            if its checkpoints were evaluated on different questions.
    """
    runs = {entry["seed"]: entry for entry in entries}
    if not runs or len(runs) < len(entries):
        raise UserError(
            f"arm {name} needs one entry per training seed, got seeds "
            f"{[entry['seed'] for entry in entries]}"
        )
    found = [run[stage] for run in runs.values() for stage in STAGES if run.get(stage)]
    if not found:
        raise UserError(f"arm {name} has no evaluated checkpoint; evaluate one first")
    first = found[0]
    _check_one_evaluation(name, found)
    sides = [np.array(first["membership"][key]) == 1 for key in ("seen", "in_range")]
    return Arm(
        name=name,
        samples=first["samples"],
        runs=runs,
        counts={
            stage: np.array([run[stage]["counts"] for run in runs.values()])
            for stage in STAGES
            if all(run.get(stage) for run in runs.values())
        },
        masks={cell: cell_mask(cell, *sides) for cell in CELLS},
    )


def check_alike(arms: Sequence[Arm]) -> None:
    """Raises UserError unless all arms have the same questions and samples."""
    first = arms[0]
    for arm in arms[1:]:
        if arm.samples != first.samples:
            raise UserError(
                f"arms {first.name} and {arm.name} must have equal samples per "
                f"question, got {first.samples} and {arm.samples}"
            )
        cells = ("all", "seen", "in_range")
        if not all(np.array_equal(arm.masks[c], first.masks[c]) for c in cells):
            raise UserError(
                f"arms {first.name} and {arm.name} must answer the same questions in "
                f"the same order, got {len(first.masks['all'])} and "
                f"{len(arm.masks['all'])} that differ in number, environment or "
                "difficulty"
            )


def _check_one_evaluation(name: str, found: Sequence[Mapping[str, Any]]) -> None:
    first = found[0]
    for metrics in found:
        as_counts(metrics["counts"], metrics["samples"])
        for key in ("samples", "membership"):
            if metrics[key] != first[key]:
                raise UserError(
                    f"checkpoints of arm {name} differ in {key}; evaluate all of them "
                    "on the same questions with the same number of samples"
                )
