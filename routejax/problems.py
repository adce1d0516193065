"""Sets of problems as a file: drawn once, by workers, for training and evaluation.

    python -m routejax.problems --config=configs/problems.py:NAME --out=FILE.parquet
        [--show=N] [--config.FIELD=VALUE …]

FILE.parquet has id, env, difficulty, seed, prompt, config and split; beside it
FILE.manifest.json says what it was made of, what is missing, and why. The main job
takes it as --config.problems.path=FILE.parquet. Generators of other packages run in
worker processes, with a time limit for every draw. Cells that are finished are kept in
FILE.parquet.parts, so the same command goes on after a kill. `--show` prints some
problems. Exit status as for every entry (`routejax.program`).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import flags
from rich.console import Console

from routejax.envs import registry
from routejax.envs.judging import Setting, Workers, sandbox
from routejax.errors import UserError
from routejax.program import run_program
from routejax.progress import terminal, track
from routejax.stages import checks
from routejax.stages import problem_files as files
from routejax.stages import problem_sets as sets
from routejax.stages.checks import flat, require_rules
from routejax.workdir import as_json, opened, read_json

_OUT = flags.DEFINE_string("out", None, "File to write; NAME.parquet if none is named.")
_SHOW = flags.DEFINE_integer("show", 0, "Problems to print.")


RULES = {
    "seed": checks.RULES["pool.seed"],
    "limits.longest_prompt": checks.whole(1),
    "limits.draw_timeout_s": checks.RULES["judging.timeout_s"],
    "limits.draws": checks.whole(1),
    "limits.failures": checks.whole(1),
    "workers.count": checks.whole(1),
    "workers.memory_mb": checks.whole(1),
}
SET_RULES = {
    "difficulties": checks.RULES["difficulties.rl"],
    "per_cell": checks.whole(1),
}


def main(config: dict[str, Any], root: Path) -> None:
    path = Path(_OUT.value or f"{config['name']}.parquet")
    asked = checked(config, path)
    console = terminal(soft_wrap=True)
    found = files.finished(path, asked)
    if found is None:
        found = make(config, asked, path, console)
    for line in said(found):
        console.print(line, highlight=False)
    console.print(f"Problems: {path}", highlight=False)
    if _SHOW.value:
        for text in files.samples(files.read(path), _SHOW.value):
            console.print(text, highlight=False)


def checked(config: Mapping[str, Any], path: Path) -> Any:
    """The part of a config that decides what is drawn, as JSON.

    Raises:
        UserError: the recipe is of another kind, a field cannot be, or a generator's
            package is not installed.
    """
    if "sets" not in config:
        raise UserError(
            f"the recipe {config.get('name')!r} is not one of problems; choose a "
            "variant of configs/problems.py"
        )
    if path.suffix != ".parquet":
        raise UserError(f"--out must end in .parquet, got {str(path)!r}")
    if _SHOW.value < 0:
        raise UserError(f"--show must be at least 0, got {_SHOW.value}")
    chosen = {split: own for split, own in config["sets"].items() if own["envs"]}
    if not chosen:
        raise UserError("no split has environments: set config.sets.rl.envs, …")
    values = flat(config)
    require_rules(values, RULES)
    for split in chosen:
        require_rules(values, {f"sets.{split}.{n}": r for n, r in SET_RULES.items()})
    sets.cells(chosen)
    registry.require({env for own in chosen.values() for env in own["envs"]})
    return as_json({"sets": chosen, "seed": config["seed"], "limits": config["limits"]})


def make(
    config: Mapping[str, Any], asked: Any, path: Path, console: Console
) -> dict[str, Any]:
    """Draws what is missing and writes the file; its manifest.

    Raises:
        UserError: not one problem could be drawn.
    """
    parts = path.with_name(f"{path.name}.parts")
    known = parts / "config.json"
    if known.exists() and read_json(known) != asked:
        console.print(f"{parts} is of another config; made anew", highlight=False)
        shutil.rmtree(parts)
    cells, by = sets.cells(asked["sets"]), config["workers"]
    with workers(by) as pool, opened(parts, asked):
        with track(console, "problems", len(cells), "cells") as progress:
            made = sets.draw(
                cells,
                pool,
                sets.Limits(**config["limits"]),
                seed=config["seed"],
                at_once=2 * by["count"],
                folder=parts,
                done=progress.update,
            )
        sets.require_drawn(made, parts)
        require_some(made, parts)
        found = files.write(path, made, asked)
    shutil.rmtree(parts)
    return found


def require_some(made: Sequence[Mapping[str, Any]], parts: Path) -> None:
    """Raises UserError if no cell has a problem; what it drew is then forgotten."""
    if not any(own for cell in made for own in cell["problems"].values()):
        shutil.rmtree(parts)
        raise UserError(f"not one problem could be drawn: {files.said_draws(made)}")


def workers(settings: Mapping[str, Any]) -> Workers:
    return Workers(
        settings["count"],
        Setting(
            modules=("routejax.envs.registry",),
            memory_mb=settings["memory_mb"],
            bwrap=sandbox.found() if settings["sandbox"] else None,
            readable=tuple(settings["readable"]),
        ),
    )


def said(manifest: Mapping[str, Any]) -> list[str]:
    """Rows of each split, and what is missing."""
    lines = []
    for split, found in manifest["splits"].items():
        short = found["shortfalls"]
        missing = f", {sum(short.values()):,} missing in {len(short)} cells"
        lines.append(f"{split}: {found['rows']:,} problems{missing if short else ''}")
    return [*lines, files.said_draws(manifest["cells"])]


if __name__ == "__main__":
    status = run_program(main)
    sys.stdout.flush()
    sys.exit(status)
