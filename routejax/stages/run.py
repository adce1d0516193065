"""What every stage is handed: the run's folder, its config and where to print."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from routejax import models, workdir
from routejax.grpo import PRESETS, Preset
from routejax.models import Student
from routejax.rollout import Decoding
from routejax.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One run of the study. `config` is plain: dicts, tuples, numbers and strings."""

    root: Path
    config: Mapping[str, Any]
    console: Console

    @functools.cached_property
    def code(self) -> str:
        """Hash of the package's source: with other code a stage is made anew."""
        return workdir.code_hash()

    def stage(
        self, folder: Path, inputs: Mapping[str, Any], work: Callable[[Path], None]
    ) -> dict[str, str]:
        """`workdir.stage` with the code among the inputs."""
        return workdir.stage(folder, {"code": self.code, **inputs}, work, self.say)

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False)

    def arm(self, name: str, seed: int) -> Path:
        return self.root / "arms" / name / f"seed_{seed}"

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer((self.root / "pool" / "tokenizer.model").read_bytes())

    @functools.cached_property
    def student(self) -> Student:
        sizes = dict(self.config["student"])
        family = sizes.pop("family")
        return models.create(family, vocabulary=self.tokenizer.size, **sizes)

    def decoding(self, temperature: float) -> Decoding:
        return Decoding(temperature=temperature, **self.config["decoding"])

    @functools.cached_property
    def preset(self) -> Preset:
        return PRESETS[self.config["grpo"]["preset"]]
