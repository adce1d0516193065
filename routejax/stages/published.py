"""A student that was published: its sizes, its tokenizer, its weights, from one path.

The path is a folder in the Hugging Face layout, or a GGUF file. The weights are read in
float32, for they become the masters that training changes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from routejax import chat, models
from routejax import tokenizer as tokenizers
from routejax.errors import UserError
from routejax.models import Config, Execution, Student, gguf, weights
from routejax.tokenizer import Tokenizer

FRESH = "local"  # the size of models.SIZES that no published checkpoint has

_WAYS = {field.name for field in dataclasses.fields(Execution)}
# Longer contexts of one checkpoint differ in these and in nothing else.
_REACH = ("rope_theta", "rope_scaling", "max_positions")

# What chat templates take for now, so that a prompt is the same text every day.
NOW = datetime(2026, 1, 1)


def student(settings: Mapping[str, Any]) -> Student:
    """The student at `settings["weights"]`, run as the other settings say.

    Its architecture is that of the checkpoint's own config. A published size beside it
    is a claim about the checkpoint, as are the numbers that replace some of that
    size's; what stands beside `local` or no size is meant for fresh students.

    Raises:
        UserError: no checkpoint there, what `weights.read_student` refuses, or another
            one than the size says.
    """
    # On a command line "" is how a size is taken away.
    given = {n: v for n, v in settings.items() if v is not None and v != ""}
    path = given.pop("weights")
    _require_there(path)
    found = weights.read_student(path)
    if given.get("size", FRESH) != FRESH:
        _require_same(found, path, {n: given[n] for n in given if n not in _WAYS})
    # Unknown ways are refused where any student is made.
    sizes = dataclasses.asdict(found.config)
    sizes["rope_scaling"] = found.config.rope_scaling
    ways = {n: given[n] for n in given if n not in {*sizes, "size", "family"}}
    return models.create(found.family, **sizes, **ways)


def _require_there(path: str) -> None:
    if not Path(path).exists() and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", path):
        raise UserError(
            "student.weights must be a folder or a file, and there is no "
            f"{path}. Hub ids are not downloaded; fetch it with `hf download {path} "
            "--local-dir DIR` and name DIR"
        )


def _require_same(found: Student, path: str, given: Mapping[str, Any]) -> None:
    """How far it reaches is the file's own, unless a number for it is given too."""
    sizes = dict(given)
    sizes.setdefault("vocabulary", found.config.vocabulary)
    wanted = models.create(sizes.pop("family", None), **sizes)
    names = [field.name for field in dataclasses.fields(Config)]
    names = [name for name in names if name not in _REACH or name in given]
    pairs = {n: (getattr(found.config, n), getattr(wanted.config, n)) for n in names}
    pairs["family"] = (found.family, wanted.family)
    odd = [f"{n} {a}, not {b}" for n, (a, b) in pairs.items() if a != b]
    if odd:
        raise UserError(
            f"the checkpoint {path} is not the student of the recipe, "
            f"{given['size']}; it has {'; '.join(odd)}. To take it as it is, name no "
            "size: --config.student.size="
        )


def tokenizer(
    path: str,
    *,
    template: str | None = None,
    system: str | None = None,
    pad: str | None = None,
    clock: Callable[[], datetime] = lambda: NOW,
) -> Tokenizer:
    """The tokenizer at `path`, with turns in the form of its chat template.

    Args:
        template, system: as in `chat.chatting`.
        pad: text of the padding id, where the checkpoint's own ends turns too.

    Raises:
        UserError: no tokenizer there, no template, or no id of that text.
    """
    if gguf.is_gguf(Path(path)):
        found = tokenizers.from_gguf(gguf.read_fields(Path(path)))
        gguf.forget()
    else:
        found = tokenizers.load(path)
    if pad:
        if pad not in found.special:
            raise UserError(
                f"tokenizer.pad must be the text of a control id, got {pad!r}; there "
                f"are {', '.join(found.special)}"
            )
        found = dataclasses.replace(found, pad=found.special[pad])
    return chat.chatting(found, template or None, system=system or None, clock=clock)
