"""What every stage of a selection is handed, and which folder of fingerprints it reads.

DIR/features/     the pool's fingerprints, unless another folder is named
DIR/phi/          candidates in order of their ids, and phi on its grid
DIR/picks/        what each selector chose
DIR/selected/     the chosen rows as files, for people and trainers
DIR/manifest.json what it was made from and what came out
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from routejax import features, workdir
from routejax.features import Job
from routejax.stages.select_settings import Settings

Outputs = dict[str, str]  # SHA-256 by name of a stage's files


def examples(root: Path) -> tuple[Path, ...]:
    """Files of every kind that a selection writes in places where a pool has some."""
    names = ("phi/rows.parquet", "picks/a.parquet", "selected/a.parquet")
    lines = root / "selected" / "a.chat.jsonl"
    made = features.examples(root / "features")
    return (*(root / name for name in names), lines, *made)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelectRun:
    """One selection; `features` is the folder of the pool's fingerprints."""

    root: Path
    features: Path
    job: Job
    settings: Settings
    threads: int
    console: Console

    @functools.cached_property
    def code(self) -> str:
        """Hash of the package's source: with other code a stage is made anew."""
        return workdir.code_hash()

    @property
    def owns_features(self) -> bool:
        return self.features == self.root / "features"

    def stage(
        self, name: str, inputs: Mapping[str, Any], work: Callable[[Path], None]
    ) -> Outputs:
        """`workdir.stage` in the folder `name` with the code among the inputs."""
        folder = self.root / name
        return workdir.stage(folder, {"code": self.code, **inputs}, work, self.say)

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False)
