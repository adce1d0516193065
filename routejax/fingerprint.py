"""Fingerprints of a whole pool, or a look at one trace.

    python -m routejax.fingerprint --config=configs/openthoughts3.py
        --config.pool.paths=FILES [--config.shard=3/64] [--workdir=DIR]
    python -m routejax.fingerprint --config=… --explain=ID [--html=PAGE]
    python -m routejax.fingerprint --config=… --features

Parts that are there already are kept, so the same command goes on after a kill, and
the jobs of a scheduler's array may share one folder: `--config.shard=K/N` makes the
K-th of N runs of parts. When all are there, moments and manifest are written.
`--config.beam.runner=…` hands the parts to the workers of an Apache Beam pipeline.
Where no layout is recognised, `--config.pool.columns.prompt=question` and its like say
where fields lie. Exit status as for every entry (`routejax.program`).
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from absl import flags
from rich.console import Console

from routejax import features, fingerprints, pools
from routejax.errors import UserError
from routejax.features import Job
from routejax.program import run_program
from routejax.progress import terminal
from routejax.workdir import write

_EXPLAIN = flags.DEFINE_string("explain", None, "Id of a trace to look at.")
_HTML = flags.DEFINE_string(
    "html", None, "File for the page of --explain.", allow_override=True
)
_FEATURES = flags.DEFINE_bool(
    "features", False, "Prints the family's features, a line each, and ends."
)


def main(config: dict[str, Any], root: Path) -> None:
    console = terminal(soft_wrap=True)
    if not {"pool", "fingerprint", "shard", "beam"} <= config.keys():
        raise UserError(
            f"the recipe {config.get('name')!r} is not one of fingerprints; choose "
            "configs/openthoughts3.py or another of its kind (README)"
        )
    pool, settings = config["pool"], config["fingerprint"]
    require_page(_HTML.value, _EXPLAIN.value)
    if _FEATURES.value:
        return list_features(settings["family"])
    shard = parse_shard(config["shard"])
    threads = features.at_least_one(
        "threads", config["threads"], at_most=features.MOST_THREADS
    )
    pool = pool | {"paths": pools.parse_paths(pool["paths"])}
    pools.require_apart(pool["paths"], root, features.examples(root))
    if (root / "phi").exists():
        raise UserError(
            f"{root} holds a selection; fingerprints want a folder of their own: "
            "choose another --workdir"
        )
    job = features.open_job(**pool, **settings)
    say_repeated(job, console)
    if _EXPLAIN.value is not None:
        return explain(job, root, _EXPLAIN.value, console)
    if config["beam"]["runner"]:
        if shard != (1, 1):
            raise UserError("beam.runner makes all parts; leave out it or the shard")
        make_with_beam(pool | settings, root, **config["beam"])
    else:
        features.run_shard(job, root, shard, threads, console)
    finish(job, root, console)


def finish(job: Job, root: Path, console: Console) -> None:
    """Collects the parts if all are there, and says how things stand."""
    if left := features.missing(job, root):
        done = len(job.parts) - len(left)
        return console.print(
            f"{done} of {len(job.parts)} parts are done; the shard that makes the last "
            "one writes the moments and the manifest",
            highlight=False,
        )
    manifest = features.collect(job, root)
    rows, rejected = manifest["rows"], manifest["rejected"]
    said = ", ".join(f"{n:,} {rule}" for rule, n in rejected.items() if n)
    console.print(
        f"{rows['solutions']:,} traces of {rows['input']:,} rows, {rows['eligible']:,} "
        f"eligible{f'; rejected: {said}' if said else ''}\nManifest: "
        f"{root / 'manifest.json'}",
        highlight=False,
    )


def make_with_beam(
    settings: dict[str, Any], root: Path, *, runner: str, options: str
) -> None:
    """All parts, made by the workers of a Beam pipeline."""
    logging.getLogger().addFilter(_of_use)  # its import has a word on others
    try:
        beam = importlib.import_module("routejax.features.beam")
    except ModuleNotFoundError as error:
        raise UserError(
            "beam.runner needs Apache Beam, which is not installed; "
            'pip install "routejax[beam]", or leave the runner empty'
        ) from error
    finally:
        logging.getLogger().removeFilter(_of_use)
    try:
        listed = shlex.split(options)
    except ValueError as error:
        raise UserError(f"beam.options {options!r} cannot be read: {error}") from error
    beam.run(settings, root, runner=runner, options=listed)


def _of_use(record: logging.LogRecord) -> bool:
    return "apitools not found" not in record.getMessage()


def explain(job: Job, root: Path, name: str, console: Console) -> None:
    """One trace in the terminal, and as a page if a file is named."""
    # Loaded here: the report takes longer to import than all that a run of parts needs.
    look, text, page = (
        importlib.import_module(f"routejax.{name}")
        for name in ("stages.look", "report.trace_text", "report.trace_page")
    )
    view = look.look(job, root, name)
    console.print(text.explained_text(view))
    if _HTML.value:
        write(Path(_HTML.value), page.explained_page(view))
        console.print(f"Page: {_HTML.value}", highlight=False)


def list_features(family: str) -> None:
    """Every feature with its definition."""
    for name, meaning in fingerprints.describe(family).items():
        print(f"{name}\t{meaning}")


def require_page(page: str | None, name: str | None) -> None:
    """Raises: UserError, where the page of --html cannot be one."""
    if page is not None and name is None:
        raise UserError("--html is the page of one trace; name it with --explain=ID")
    if page is not None and (not page or Path(page).is_dir()):
        raise UserError(
            f"--html must be the name of a file, such as page.html; got {page!r}"
        )


def say_repeated(job: Job, console: Console) -> None:
    """Says which paths of the pool lead to a file that another one names."""
    repeated = job.pool.repeated
    if repeated:
        more = f" and {len(repeated) - 1:,} more" if len(repeated) > 1 else ""
        console.print(
            f"left out, as the same file is named already: {min(repeated)}{more}",
            highlight=False,
        )


def parse_shard(text: str) -> tuple[int, int]:
    """(K, N) of "K/N".

    Raises:
        UserError: it is not of this form with 1 ≤ K ≤ N.
    """
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", str(text), re.ASCII)
    if found and 1 <= int(found[1]) <= int(found[2]):
        return int(found[1]), int(found[2])
    raise UserError(f"shard must be K/N with 1 <= K <= N, such as 3/64; got {text!r}")


if __name__ == "__main__":
    status = run_program(main)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads may be in the middle of a part, which is made anew the next time; joining
    # them could take longer than a scheduler waits after its SIGTERM.
    os._exit(status)
