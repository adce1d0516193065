"""Files of problems: Parquet with one row each, and what is known of them beside it.

Columns: id, env, difficulty, seed, prompt, config (JSON), split. Rows are stored and
never made again: some generators of other packages give other problems another time.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import routejax
from routejax.envs import SPLITS, Problem, ProblemSet, registry
from routejax.errors import UserError
from routejax.stages.problem_rows import problem as problem_of
from routejax.stages.problem_rows import require_fit, require_kinds
from routejax.workdir import content_hash, read_json, sha256, write_json, write_parquet

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("env", pa.string()),
        ("difficulty", pa.int32()),
        ("seed", pa.int64()),
        ("prompt", pa.large_string()),  # all prompts of one set may pass 2 GB
        ("config", pa.large_string()),
        ("split", pa.string()),
    ]
)
_FATES = {  # what becomes of a draw, as manifests have it, in words
    "kept": "kept",
    "beyond": "more than wanted",
    "of another split": "of a split that wants none",
    "duplicate": "drawn before",
    "too long": "too long",
    "timeout": "late",
    "error": "failed",
}
# Whose versions decide what is drawn.
_PACKAGES = ("reasoning-gym", "rlve-gym", "networkx", "sympy", "numpy")


def manifest_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}.manifest.json")


def write(path: Path, made: Sequence[Mapping[str, Any]], config: Any) -> dict[str, Any]:
    """Writes the problems of cells (`problem_sets.draw`) and the manifest; the latter.

    Rows are in the order of SPLITS, then of cells, then as drawn. Where two
    environments have one prompt, the first keeps it.
    """
    rows: list[dict[str, Any]] = []
    same: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for split in SPLITS:
        for cell in made:
            for problem in cell["problems"].get(split, ()):
                if owner.setdefault(problem["prompt"], problem["env"]) != cell["env"]:
                    same.setdefault(cell["env"], []).append(problem["id"])
                    continue
                config_text = json.dumps(problem["config"], sort_keys=True)
                rows.append({**problem, "config": config_text, "split": split})
    write_parquet(path, pa.Table.from_pylist(rows, SCHEMA))
    found = manifest(rows, made, same, config)
    found["sha256"] = sha256(path.read_bytes())
    write_json(manifest_of(path), found)
    return found


def manifest(
    rows: Sequence[Mapping[str, Any]],
    made: Sequence[Mapping[str, Any]],
    same: Mapping[str, Sequence[str]],
    config: Any,
) -> dict[str, Any]:
    """What a file was made of, how many rows of what, and what is missing and why."""
    cells = [
        {key: value for key, value in cell.items() if key != "problems"}
        | {"kept": {split: len(own) for split, own in cell["problems"].items()}}
        for cell in made
    ]
    splits = {}
    for split, asked in config["sets"].items():
        kept = {f"{c['env']}/{c['difficulty']}": c["kept"].get(split) for c in cells}
        splits[split] = {
            "rows": sum(row["split"] == split for row in rows),
            "shortfalls": {
                name: asked["per_cell"] - number
                for name, number in kept.items()
                if number is not None and number < asked["per_cell"]
            },
        }
    return {
        "config": config,
        "versions": versions(),
        "rows": len(rows),
        "ids_sha256": content_hash(sorted(row["id"] for row in rows)),
        "splits": splits,
        "same_prompt_as_another_env": same,
        "cells": cells,
    }


def versions() -> dict[str, str]:
    found = {"routejax": routejax.__version__}
    if checkout := os.environ.get("RLVE_PATH"):
        found["RLVE_PATH"] = checkout
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def save(path: str | Path, **problems: Iterable[Problem]) -> None:
    """Writes problems of one's own by their split: `save("mine.parquet", rl=…)`.

    Each gets the id that its question gives it, so that no question can be in two.

    Raises:
        UserError: there is no such split, or a question stands twice.
    """
    rows: list[dict[str, Any]] = []
    seen: dict[str, str] = {}
    for split, own in problems.items():
        if split not in SPLITS:
            raise UserError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
        for problem in own:
            identity = registry.problem_id(problem.env, problem.prompt)
            if identity in seen:
                raise UserError(
                    f"the question {problem.prompt[:60]!r} of {split} stands in "
                    f"{seen[identity]} already; leave it out of one"
                )
            seen[identity] = split
            config = json.dumps(problem.config, sort_keys=True)
            row = dataclasses.replace(problem, id=identity)
            rows.append({**vars(row), "config": config, "split": split})
    write_parquet(Path(path), pa.Table.from_pylist(rows, SCHEMA))


def said_draws(cells: Sequence[Mapping[str, Any]]) -> str:
    """What became of all draws, and why some failed."""
    counts = sum((Counter(cell["counts"]) for cell in cells), Counter[str]())
    parts = [
        f"{counts[name]:,} {word}" for name, word in _FATES.items() if counts[name]
    ]
    line = f"{counts['draws']:,} draws: {', '.join(parts)}"
    why = Counter(detail for cell in cells for _, detail in cell["failed"])
    for detail, number in why.most_common(1):
        line += f"; of those that failed {number:,} say: {' '.join(detail.split())}"
    return line


def finished(path: Path, config: Any) -> dict[str, Any] | None:
    """The manifest of a file that is there, whole and of this config; else None.

    Raises:
        UserError: it is of another config, or has no manifest.
    """
    if not path.exists():
        return None
    beside = manifest_of(path)
    if not beside.exists():
        return None if path.with_name(f"{path.name}.parts").exists() else _refuse(path)
    known = read_json(beside, dict, lost=f"{beside} and {path}")
    if known.get("config") != config:
        _refuse(path)
    return known if known.get("sha256") == sha256(path.read_bytes()) else None


def _refuse(path: Path) -> None:
    raise UserError(
        f"{path} is there and was not made by this config; choose another --out or "
        "delete it"
    )


def read(path: Path) -> dict[str, list[Problem]]:
    """The problems of a file by their split, in order.

    Raises:
        UserError: it is no such file; a row is not right, named by its number.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error
    if missing := [name for name in SCHEMA.names if name not in table.column_names]:
        raise UserError(
            f"{path} has no column {', '.join(missing)}; a file of problems has "
            f"{', '.join(SCHEMA.names)}"
        )
    rows = table.select(SCHEMA.names)
    require_kinds(rows, path)
    problems: dict[str, list[Problem]] = {split: [] for split in SPLITS}
    seen: dict[str, int] = {}
    for number, row in enumerate(rows.to_pylist()):
        where = f"{path}, row {number}"
        split = row.pop("split")
        problem = problem_of(row, where)
        if split not in SPLITS:
            raise UserError(f"{where}: split must be one of {', '.join(SPLITS)}")
        if seen.setdefault(problem.id, number) != number:
            raise UserError(f"{where}: its id is that of row {seen[problem.id]} too")
        problems[split].append(problem)
    return problems


def chosen(
    path: Path,
    envs: Sequence[str],
    difficulties: Sequence[int],
    per_cell: int,
    *,
    split: str,
) -> ProblemSet:
    """The first `per_cell` problems of a split in a file, of each cell that is asked.

    Raises:
        UserError: the file cannot be read, has none of an environment, or a problem
            that is none of its environment.
    """
    own = read(path)[split]
    by_cell: dict[tuple[str, int], list[Problem]] = {}
    for problem in own:
        by_cell.setdefault((problem.env, problem.difficulty), []).append(problem)
    cells = [(env, difficulty) for env in envs for difficulty in difficulties]
    known = {env for env, _ in by_cell.keys() & {*cells}}
    if missing := [env for env in envs if env not in known]:
        there = sorted({problem.env for problem in own})
        raise UserError(
            f"{path} has no problems of {', '.join(missing)} for {split} at these "
            f"difficulties; it has those of {', '.join(there) or 'none'}"
        )
    kept = {cell: by_cell.get(cell, [])[:per_cell] for cell in cells}
    shortfalls = {
        f"{env}/{difficulty}": per_cell - len(found)
        for (env, difficulty), found in kept.items()
        if len(found) < per_cell
    }
    problems = [one for found in kept.values() for one in found]
    require_fit(problems, path)
    return ProblemSet(problems, shortfalls)


def digest(path: str) -> str:
    """SHA-256 of a file of problems.

    Raises:
        UserError: it cannot be read.
    """
    try:
        return sha256(Path(path).read_bytes())
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str | Path, error: Exception) -> UserError:
    return UserError(
        f"problems cannot be read from {str(path)!r}: {error}; make a file of them "
        "with python -m routejax.problems"
    )


def samples(problems: Mapping[str, Iterable[Problem]], number: int) -> list[str]:
    """So many problems as text, at equal distances over all."""
    rows = [(split, problem) for split, own in problems.items() for problem in own]
    number = min(number, len(rows))
    lines = []
    for n in range(number):
        split, problem = rows[n * len(rows) // number]
        config = json.dumps(problem.config, sort_keys=True)
        lines.append(
            f"{problem.env}, difficulty {problem.difficulty}, {split}, {problem.id}\n"
            f"{problem.prompt}\nconfig {config[:300]}{'…' * (len(config) > 300)}\n"
        )
    return lines
