"""Which traces of a pool to train on: diverse ones, alike ones, and every baseline.

    python -m routejax.select --config=configs/openthoughts3.py
        --config.pool.paths=FILES [--config.selection.n=N] [--workdir=DIR]
    python -m routejax.select --config=… --plan

Fingerprints are made in DIR/features, or taken from the folder that
`--config.features` names. All selectors of `--config.selection.methods` choose the same
number of rows under the same quotas; their rows are in DIR/selected, as Parquet with
the pool's own columns and as lines of chat messages. `--plan` says what would be done,
and ends.

Stages are skipped where their results are there already, so the same command goes on
after a kill. Exit status as for every entry (`routejax.program`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import flags
from rich.console import Console

from routejax import features
from routejax.errors import UserError
from routejax.program import run_program
from routejax.stages import select_plan as plan
from routejax.stages.select_features import find_fingerprints, make_fingerprints
from routejax.stages.select_files import make_files
from routejax.stages.select_manifest import write_manifest
from routejax.stages.select_phi import make_phi
from routejax.stages.select_picks import make_picks
from routejax.stages.select_run import SelectRun
from routejax.stages.select_settings import read_settings
from routejax.workdir import opened

_PLAN = flags.DEFINE_bool("plan", False, "Prints what would be done, and ends.")


def main(config: dict[str, Any], root: Path) -> None:
    run = open_run(config, root)
    found = find_fingerprints(run.job, run.features, owned=run.owns_features)
    if found is None:
        say(run, plan.lines_before(run))
    else:
        say_plan(run, found)
    if not _PLAN.value:
        with opened(root, asked(config)):
            select(run, found, asked(config))


def open_run(config: Mapping[str, Any], root: Path) -> SelectRun:
    """The run that a config asks for, checked as far as can be told before any work.

    Raises:
        UserError: a field that is not as it must be, or a pool that cannot be read; the
            folder is one of fingerprints.
    """
    if not {"pool", "fingerprint", "selection", "beam"} <= config.keys():
        raise UserError(
            f"the recipe {config.get('name')!r} is not one of selections; choose "
            "configs/openthoughts3.py or another of its kind (README)"
        )
    settings = read_settings(config["selection"])
    threads = features.at_least_one(
        "threads", config["threads"], at_most=features.MOST_THREADS
    )
    if config["shard"] != "1/1" or config["beam"]["runner"]:
        raise UserError(
            "a selection needs the whole pool: make the shards with "
            "routejax.fingerprint, then name their folder with --config.features=DIR"
        )
    pool = config["pool"]
    pool = pool | {"paths": [path for path in pool["paths"].split(",") if path]}
    require_apart(pool["paths"], root)
    job = features.open_job(**pool, **config["fingerprint"])
    if (root / "job.json").exists():
        raise UserError(
            f"{root} holds fingerprints; a selection wants a folder of its own. To use "
            f"them: --workdir={root}-selected --config.features={root}"
        )
    named = config["features"]
    return SelectRun(
        root=root,
        features=Path(named) if named else root / "features",
        job=job,
        settings=settings,
        threads=threads,
        console=Console(soft_wrap=True),
    )


def require_apart(paths: Sequence[str], root: Path) -> None:
    """The run's folder is in none that the pool is read from, where its files would be
    taken for the pool's.

    Raises:
        UserError: it is.
    """
    for path in map(Path, paths):
        if path.is_dir() and root.resolve().is_relative_to(path.resolve()):
            raise UserError(
                f"the folder of the run, {root}, lies in the pool's folder {path}; "
                "choose another --workdir"
            )


def asked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a config that decides what comes out."""
    fingerprint = {k: v for k, v in config["fingerprint"].items() if k != "engine"}
    kept = {key: config[key] for key in ("name", "pool", "selection")}
    return kept | {"fingerprint": fingerprint}


def select(
    run: SelectRun, found: dict[str, Any] | None, config: dict[str, Any]
) -> None:
    """Every stage, those that are finished skipped."""
    made = found or make_fingerprints(run)
    if found is None:
        say_plan(run, made)
    phi = make_phi(run, made)
    picks = make_picks(run, phi)
    files = make_files(run, phi, picks)
    manifest = write_manifest(run, made, phi, files, config)
    for name, one in manifest["selectors"].items():
        run.say(f"{name}: {one['selected']:,} rows, ids sha256 {one['ids_sha256']}")
    run.say(f"Rows: {run.root / 'selected'}\nManifest: {run.root / 'manifest.json'}")


def say_plan(run: SelectRun, fingerprints: Mapping[str, Any]) -> None:
    """Prints the plan.

    Raises:
        UserError: it cannot be carried out.
    """
    made = plan.make_plan(run, fingerprints)
    say(run, plan.lines(run, made))
    plan.require_memory(made)


def say(run: SelectRun, lines: Any) -> None:
    run.say("\n".join(lines))


if __name__ == "__main__":
    status = run_program(main)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads may be in the middle of a part, which is made anew the next time.
    os._exit(status)
