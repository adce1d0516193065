"""What every stage is handed: the run's folder, its config and where to print."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from routejax import models
from routejax.errors import UserError
from routejax.grpo import PRESETS, Preset
from routejax.models import Student
from routejax.rollout import Decoding
from routejax.tokenizer import Tokenizer
from routejax.workdir import code_hash


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One run of the study. `config` is plain: dicts, tuples, numbers and strings."""

    root: Path
    config: Mapping[str, Any]
    console: Console

    @functools.cached_property
    def code(self) -> str:
        """Hash of the package's source: other code, other stage keys."""
        return code_hash()

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
        name = self.config["grpo"]["preset"]
        if name not in PRESETS:
            raise UserError(
                f"grpo.preset must be one of {', '.join(PRESETS)}, got {name!r}"
            )
        return PRESETS[name]


def difficulties(bounds: tuple[int, int]) -> range:
    """The range from first to last, both included."""
    return range(bounds[0], bounds[1] + 1)
