"""The samples that GRPO was trained on, in the terminal and as a page.

    python -m routejax.rollouts WORKDIR [--arm=NAME] [--seed=N] [--step=N]
        [--filter=all-fail|mixed|all-correct|longest|truncated|unparsed]
        [--problem=ID] [--n=4] [--html=PAGE]

Prints what every step came to, then `n` samples, newest first. The page, which is
WORKDIR/rollouts.html if no other file is named, has groups side by side, filters of its
own, and the log-probability of every token; `--html=` writes none. A run may be in
progress, or killed: what is on disk is shown. Exit status as for every entry
(`routejax.program`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from absl import flags
from rich.console import Console

from routejax.errors import UserError
from routejax.program import WORKDIR, run_command
from routejax.progress import terminal
from routejax.report import rollouts_page, rollouts_text, rollouts_view
from routejax.report.rollouts_view import Sample
from routejax.stages import rollout_files
from routejax.workdir import write

_ARM = flags.DEFINE_string("arm", None, "Name of an arm; all if none is named.")
_SEED = flags.DEFINE_integer("seed", None, "A training seed; all if none is named.")
_STEP = flags.DEFINE_integer("step", None, "A step of GRPO; all if none is named.")
_FILTER = flags.DEFINE_string(
    "filter", None, f"One of {', '.join(rollouts_view.FILTERS)}."
)
_PROBLEM = flags.DEFINE_string("problem", None, "Id of a problem.")
_N = flags.DEFINE_integer("n", 4, "Samples to print.")
_HTML = flags.DEFINE_string(
    "html",
    None,
    "File for the page; WORKDIR/rollouts.html if none is named.",
    allow_override=True,
)

Files = Mapping[tuple[str, int], Mapping[int, Path]]

PAGE_TOKENS = 800_000  # about 8 MB: what a browser still opens at once


def main(argv: Sequence[str]) -> None:
    root = workdir(argv)
    require_flags()
    files = narrowed(root, rollout_files.found(root))
    rows = index(files)
    if _PROBLEM.value is not None:
        rows = of_problem(rows, _PROBLEM.value)
    console = terminal()
    console.print(rollouts_text.summary([*rollouts_view.steps(rows)]))
    places = rollouts_view.chosen(rows, _FILTER.value)
    if not len(places):
        console.print(f"No sample is {_FILTER.value}.", highlight=False)
        return
    first = [int(place) for place in places[: _N.value]]
    console.print(rollouts_text.cards(samples(files, rows, first)))
    console.print(f"{len(first):,} of {len(places):,} samples shown", highlight=False)
    if _HTML.value != "":
        whole = rollouts_view.fitting(rows, places, PAGE_TOKENS)
        shown = rollouts_page.Shown(
            samples=samples(files, rows, whole),
            lines=[*rollouts_view.steps(rows)],
            of=len(rows),
            workdir=str(root),
        )
        write_page(root, rollouts_page.rollouts_page(shown), console)


def workdir(argv: Sequence[str]) -> Path:
    """The folder of the run that the command line names.

    Raises:
        UserError: it names none or several, or what is no folder.
    """
    named = [*argv[1:], *filter(None, [WORKDIR.value])]
    if len(named) != 1:
        raise UserError(
            "name the folder of one run: python -m routejax.rollouts WORKDIR; got "
            f"{', '.join(named) or 'none'}"
        )
    if not Path(named[0]).is_dir():
        raise UserError(f"there is no folder {named[0]!r} in {Path.cwd()}")
    return Path(named[0])


def require_flags() -> None:
    """Raises: UserError, where a flag is not as it must be."""
    if _FILTER.value not in (None, *rollouts_view.FILTERS):
        raise UserError(
            f"--filter must be one of {', '.join(rollouts_view.FILTERS)}; got "
            f"{_FILTER.value!r}"
        )
    if _N.value < 1:
        raise UserError(f"--n must be at least 1, got {_N.value}")
    if _HTML.value and Path(_HTML.value).is_dir():
        raise UserError(f"--html must be the name of a file; got {_HTML.value!r}")


def narrowed(root: Path, files: Files) -> Files:
    """The files of the arm, the seed and the step that the flags ask for.

    Raises:
        UserError: there are none.
    """
    if not files:
        raise UserError(no_rollouts(root))
    asked = (("arm", _ARM.value, 0), ("seed", _SEED.value, 1))
    for name, value, at in asked:
        known = sorted({key[at] for key in files})
        if value is not None and value not in known:
            raise UserError(f"no {name} {value!r} in {root}; there are {_some(known)}")
        files = {k: v for k, v in files.items() if value in (None, k[at])}
    if _STEP.value is None:
        return files
    kept = {
        k: {_STEP.value: v[_STEP.value]} for k, v in files.items() if _STEP.value in v
    }
    if not kept:
        steps = sorted({step for found in files.values() for step in found})
        raise UserError(f"no samples of step {_STEP.value}; there are {_some(steps)}")
    return kept


def no_rollouts(root: Path) -> str:
    """Why there may be none."""
    if not (root / "config.json").exists():
        return f"{root} is not the folder of a run: it has no config.json"
    return (
        f"{root} has no samples yet: they come with GRPO, which follows SFT, where "
        "grpo.rollouts_every is not 0"
    )


def index(files: Files) -> pa.Table:
    """The small columns of all files."""
    return rollouts_view.index(
        (named(run), rollout_files.read(file, rollouts_view.COLUMNS))
        for run, steps in files.items()
        for file in steps.values()
    )


def of_problem(rows: pa.Table, problem: str) -> pa.Table:
    """Raises: UserError, where no sample is of it."""
    there = rows["problem"].to_numpy(zero_copy_only=False) == problem
    found = rows.filter(pa.array(there))
    if not len(found):
        raise UserError(
            f"no sample is of problem {problem!r}; ids are in the cards, and in "
            "pool/problems_rl.json"
        )
    return found


def samples(files: Files, rows: pa.Table, places: Sequence[int]) -> list[Sample]:
    """The samples at some places of the index, whole, in the order of the places."""
    by_name = {named(run): steps for run, steps in files.items()}
    wanted = rows.select(["run", "step", "row"]).take(pa.array(places, pa.int64()))
    keys = [(row["run"], row["step"], row["row"]) for row in wanted.to_pylist()]
    found = {}
    for run, step in dict.fromkeys((run, step) for run, step, _ in keys):
        table = rollout_files.read(by_name[run][step])
        pieces = rollout_files.pieces_of(table)
        own = [row for r, s, row in keys if (r, s) == (run, step)]
        for row, values in zip(own, table.take(own).to_pylist(), strict=True):
            del values["score"], values["prompt_ids"]
            texts = [pieces.get(str(i), "") for i in values["response_ids"]]
            found[run, step, row] = Sample(run=run, pieces=texts, **values)
    return [found[key] for key in keys]


def named(run: tuple[str, int]) -> str:
    return f"{run[0]}, seed {run[1]}"


def write_page(root: Path, page: str, console: Console) -> None:
    """Raises: UserError, where the file that was asked for cannot be written."""
    path = Path(_HTML.value or root / "rollouts.html")
    try:
        write(path, page)
    except UserError as error:
        if _HTML.value:
            raise
        console.print(f"No page: {error}; name a file with --html", highlight=False)
    else:
        console.print(f"Page: {path}", highlight=False, soft_wrap=True)


def _some(values: Sequence[object]) -> str:
    """All of a few; of many, the first and the last."""
    if len(values) <= 12:
        return ", ".join(map(str, values))
    return f"{', '.join(map(str, values[:5]))}, … {values[-1]}"


if __name__ == "__main__":
    sys.exit(run_command(main))
