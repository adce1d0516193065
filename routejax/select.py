"""Which traces of a pool to train on: diverse ones, alike ones, and every baseline.

    python -m routejax.select --config=configs/openthoughts3.py
        --config.pool.paths=FILES [--config.selection.n=N] [--workdir=DIR]
    python -m routejax.select --config=… --plan
    python -m routejax.select --config=… --why=ID

Fingerprints are made in DIR/features, or taken from the folder that
`--config.features` names. All selectors of `--config.selection.methods` choose the same
number of rows under the same quotas; their rows are in DIR/selected, as Parquet with
the pool's own columns and as lines of chat messages; DIR/report.html shows what was
chosen and how far apart it lies. `--plan` says what would be done, and ends; `--why`
says what each selector made of one row of the pool, chosen or not.

Stages are skipped where their results are there already, so the same command goes on
after a kill. Exit status as for every entry (`routejax.program`).
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import flags

from routejax import features, pools
from routejax.errors import UserError
from routejax.program import run_program
from routejax.progress import terminal
from routejax.stages import select_plan as plan
from routejax.stages import select_run, select_spaces, select_why
from routejax.stages.select_features import find_fingerprints, make_fingerprints
from routejax.stages.select_files import make_files
from routejax.stages.select_manifest import write_manifest
from routejax.stages.select_phi import make_phi
from routejax.stages.select_picks import make_picks
from routejax.stages.select_report import make_report
from routejax.stages.select_run import SelectRun
from routejax.stages.select_settings import read_settings
from routejax.workdir import opened, require_config

_PLAN = flags.DEFINE_bool("plan", False, "Prints what would be done, and ends.")
_WHY = flags.DEFINE_string("why", None, "Id of a row of the pool to be told about.")


def main(config: dict[str, Any], root: Path) -> None:
    run = open_run(config, root)
    if _WHY.value is not None:
        return say_why(run, _WHY.value, asked(config))
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
    pool = pool | {"paths": pools.parse_paths(pool["paths"])}
    pools.require_apart(pool["paths"], root, select_run.examples(root))
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
        console=terminal(soft_wrap=True),
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
    make_report(run, made, phi, picks, manifest, commands(sys.argv, run))
    run.say(f"Rows: {run.root / 'selected'}\nReport: {run.root / 'report.html'}")
    run.say(f"Manifest: {run.root / 'manifest.json'}")


def commands(argv: Sequence[str], run: SelectRun) -> dict[str, str]:
    """Command lines about another row of the pool, which want its id at their end.

    `why` is this one with `--why`; `route` draws the row's steps as a page.
    """
    own = ("plan", "noplan", "why", "workdir")
    kept, left = [], iter(argv[1:])
    for given in left:
        name, joined, _ = given.lstrip("-").partition("=")
        if name not in own:
            kept.append(given)
        elif not joined and name in ("why", "workdir"):
            next(left, None)  # the value stands by itself
    same = shlex.join(kept)
    python = "python -m routejax."
    page = f"--workdir={shlex.quote(str(run.features))} --html=route.html --explain="
    return {
        "why": f"{python}select {same} --workdir={shlex.quote(str(run.root))} --why=",
        "route": f"{python}fingerprint {same} {page}",
    }


def say_why(run: SelectRun, name: str, config: dict[str, Any]) -> None:
    """Prints what every selector made of a row.

    Raises:
        UserError: the folder's selection is another than the one asked about; see
            `select_why.why`.
    """
    if (run.root / "config.json").exists():
        require_config(run.root, config)
    find_fingerprints(run.job, run.features, owned=run.owns_features)
    found = select_why.why(run, name)
    say(run, select_why.lines(found, select_why.reports(run)))


def say_plan(run: SelectRun, fingerprints: Mapping[str, Any]) -> None:
    """Prints the plan.

    Raises:
        UserError: it cannot be carried out.
    """
    made = plan.make_plan(run, fingerprints)
    say(run, plan.lines(run, made, fingerprints["rejected"]))
    plan.require_memory(made)
    say(run, select_spaces.require_vectors(run))


def say(run: SelectRun, lines: Any) -> None:
    run.say("\n".join(lines))


if __name__ == "__main__":
    status = run_program(main)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads may be in the middle of a part, which is made anew the next time.
    os._exit(status)
