"""What every figure reads, and how an arm looks: colour, marker and dash together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from routejax.errors import UserError
from routejax.report.svg import MARKERS

SCHEMA = 1

# One look per arm, so that arms can be told apart without colour; a seventh arm would
# look like the first, but its name stands beside it.
DASHES = (None, "7 3", "2 3", "9 3 2 3", "4 4", "1 4")


class Look(NamedTuple):
    """How one arm is drawn: `css` holds its colour."""

    name: str
    css: str
    index: int
    marker: str
    dash: str | None


class Inputs(NamedTuple):
    """The results of a study, its training curves, its map and its example traces."""

    results: Mapping[str, Any]
    curves: Mapping[str, Any]
    plane: Mapping[str, Any]
    examples: Mapping[str, Any]
    arms: tuple[Look, ...]

    @property
    def study(self) -> Mapping[str, Any]:
        return self.results["study"]

    @property
    def samples(self) -> int:
        return self.study["samples"]

    @property
    def crowded(self) -> bool:
        """Whether lines before RL would hide those after it."""
        return len(self.arms) > 3

    def interval(
        self, arm: str, cell: str, outcome: str, stage: str
    ) -> Mapping[str, Any] | None:
        """Of one arm; None where the cell has no questions or the stage was not run."""
        found = self.study["arms"][arm]["cells"].get(cell)
        return found[outcome][stage] if found else None

    def checkpoints(self, arm: str, stage: str) -> list[Mapping[str, Any]]:
        """Metrics of one stage, one per training seed that has it."""
        runs = self.results["arms"][arm]["seeds"]
        return [run[stage] for run in runs if run.get(stage)]

    def selection(self, arm: str) -> Mapping[str, Any]:
        return self.results["arms"][arm].get("selection") or {}

    def cells(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that have questions."""
        first = self.study["arms"][self.arms[0].name]["cells"]
        return [name for name in names if first.get(name)]

    def over_seeds(self) -> str:
        """What a number is that stands for all training seeds of an arm."""
        several = any(len(a["seeds"]) > 1 for a in self.study["arms"].values())
        return "mean over training seeds" if several else "one training seed"

    def seeds(self) -> int:
        """The fewest training seeds that an arm has."""
        return min(len(arm["seeds"]) for arm in self.study["arms"].values())


def read_inputs(
    results: Mapping[str, Any],
    curves: Mapping[str, Any],
    plane: Mapping[str, Any],
    examples: Mapping[str, Any],
) -> Inputs:
    """Raises UserError for results of another format or without a study."""
    if results.get("schema") != SCHEMA:
        raise UserError(
            f"results must have schema {SCHEMA}, got {results.get('schema')!r}; "
            "evaluate again with this version of routejax"
        )
    if not results.get("study"):
        raise UserError("results must have a study; run summarise_study on the arms")
    looks = tuple(
        look(name, index) for index, name in enumerate(results["study"]["order"])
    )
    return Inputs(results, curves or {}, plane or {}, examples or {}, looks)


def look(name: str, index: int) -> Look:
    """The look of the arm at `index` in the order of the study."""
    turn = index % len(MARKERS)
    return Look(name, f"arm a{turn}", turn, list(MARKERS)[turn], DASHES[turn])
