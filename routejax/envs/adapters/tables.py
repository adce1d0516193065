"""What is known of every task of the other packages: measured, and kept in git.

`gym.jsonl` and `rlve.jsonl` have a line for each task. The environments are made from
them, so that no package is imported to know what exists. `python -m
tests.benchmarks.adapters --write` makes both anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

LONGEST_PROMPT = 16_000  # characters, our choice; some tasks have two million
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Task:
    """One task of a package.

    Attributes:
        task: its name there.
        difficulties: those of 1 to 15 that can be used; none where it is excluded.
        excluded: why it cannot be used at all, else None.
        refused: by reason, the difficulties that cannot be used for it.
        gold: whether its problems come with an answer ("no", "some", "all").
        guess, guess_share: the one constant answer that is right most often, and for
            which share of the problems; None and 0 where none was.
        raises: whether its verifier raises on some wrong answer.
        seconds: CPU time of drawing one problem, the longest at a usable difficulty.
        characters: of the longest prompt there.
    """

    task: str
    difficulties: tuple[int, ...]
    excluded: str | None
    refused: dict[str, list[int]]
    gold: str
    guess: str | None
    guess_share: float
    raises: bool
    seconds: float
    characters: int


def path(family: str) -> Path:
    """Where the table of a family lies."""
    return _FOLDER / f"{family}.jsonl"


def tasks(family: str) -> list[Task]:
    """All tasks of a family by name, the excluded ones too."""
    found = []
    for line in path(family).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.append(Task(**row | {"difficulties": tuple(row["difficulties"])}))
    return found
