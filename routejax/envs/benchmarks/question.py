"""A question of a benchmark, what its kind means, and cells found by their column."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from routejax.errors import UserError

# The environment that judges; of RLVE each question names its own, `rlve:ID`.
KINDS = {
    "math": "math",
    "choice": "choice",
    "ifeval": "instructions",
    "ifbench": "instructions",
    "code_functions": "code",
    "code_stdio": "code",
    "humaneval": "code",
    "rlve": "rlve",
    "enigmata": "enigmata",
}


@dataclass(frozen=True)
class Question:
    """One question and what its verifier needs; JSON types only.

    Attributes:
        id: unique in its file.
        prompt: the user turn, its instruction about the form of the answer included.
        gold: the right answer of kinds "math" and "choice"; else None.
        kind: a key of `KINDS`.
        meta: all other columns, and what the reader adds: "tolerance", "setting", ...
    """

    id: str
    prompt: str
    gold: str | None
    kind: str
    meta: dict = field(default_factory=dict)


class Cells(Mapping[str, Any]):
    """Cells of a row by column name, without regard to case and spaces in the name."""

    def __init__(self, where: str, cells: dict):
        self.where = where
        self._cells = {_plain(name): value for name, value in cells.items()}
        names = [*map(_plain, cells)]
        self._twice = {name for name in names if names.count(name) > 1}

    def __getitem__(self, name: str) -> Any:
        return self._cells[name]

    def __iter__(self):
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def first(self, names: tuple[str, ...], role: str) -> Any:
        """The cell of the first of these columns that exists and is not empty.

        A `UserError` tells a column that is missing from a cell that is empty, and one
        that is there twice.
        """
        there = [name for name in names if name in self]
        if not there:
            raise UserError(
                f"{self.where}: no column with the {role}; wanted one of "
                f"{', '.join(names)}; the columns are {', '.join(self)}"
            )
        for name in there:
            if name in self._twice:
                raise UserError(
                    f"{self.where}: several columns are {name!r} but for case and "
                    "spaces; leave one"
                )
            if not _empty(self[name]):
                return self[name]
        raise UserError(f"{self.where}: the {role} is missing in column {there[0]!r}")

    def others(self, used: tuple[str, ...]) -> dict:
        """The cells of all columns but these, as JSON types."""
        return {k: _json(v) for k, v in self.items() if k not in used}


def text(value: Any) -> str:
    """A cell as text: whole floats without a point, lists of one as their item."""
    if isinstance(value, list) and len(value) == 1:
        return text(value[0])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(_json(value))


def parsed(where: str, name: str, value: Any) -> Any:
    """The value of a cell that may be JSON in a text.

    Raises:
        UserError: it is a text and no JSON.
    """
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: {name} is not JSON: {error}") from None


def _plain(name: object) -> str:
    return str(name).strip().lower().replace(" ", "_")


def _empty(value: Any) -> bool:
    if isinstance(value, float) and math.isnan(value):
        return True  # what a table of numbers has where there is none
    return value is None or value in ("", [], {}) or not str(value).strip()


def _json(value: Any) -> Any:
    """The value if JSON has it; else its text."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value
