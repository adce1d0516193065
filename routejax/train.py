"""The main job: traces → matched selections → SFT → GRPO → evaluation → report.

    python -m routejax.train --config=configs/rlve.py[:variant] [--workdir=DIR]
        [--config.FIELD=VALUE …]

Stages are skipped where their results are there already, so the same command goes on
after a kill. Exit status: 0 done; 2 something to mend, said on the last line; 75 asked
to stop (SIGTERM, Ctrl-C) with everything saved, run the same command again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
from absl import app, flags, logging
from ml_collections import ConfigDict, config_flags
from rich.console import Console

from routejax import interrupt
from routejax.errors import UserError
from routejax.report.terminal import study_table
from routejax.stages import evaluate, grpo, pool, report, select, sft
from routejax.stages.run import Run
from routejax.workdir import opened, read_json, write_json

_CONFIG = config_flags.DEFINE_config_file("config", "configs/rlve.py", lock_config=True)
_WORKDIR = flags.DEFINE_string(
    "workdir", None, "Folder of the run; runs/<config name> if not given."
)
T = TypeVar("T")


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise UserError(f"flags begin with --, got {argv[1]!r}")
    logging.set_verbosity(logging.WARNING)  # Orbax tells of every file it opens
    config = plain(_CONFIG.value)
    require_runnable(config)
    root = Path(_WORKDIR.value or Path("runs") / config["name"])
    console = Console(soft_wrap=True)
    with opened(root, config):
        compile_once(root)
        run = Run(root=root, config=config, console=console)
        results = study(run)
        console.print(study_table(results))
        run.say(f"Report: {root / 'report.html'}")


def study(run: Run) -> dict[str, Any]:
    """Every stage of every arm and seed, then the results."""
    clock = Clock(run.root / "times.json")
    made = clock("pool", lambda: pool.pool(run))
    features = clock("fingerprint", lambda: select.fingerprint(run, made))
    chosen = clock("select", lambda: select.select(run, made, features))
    for seed in run.config["seeds"]:
        for arm in run.config["arms"]:
            train_arm(run, clock, arm, seed, made, chosen)
    return report.write_results(run, clock.seconds)


def train_arm(
    run: Run,
    clock: Clock,
    arm: str,
    seed: int,
    made: Mapping[str, str],
    chosen: Mapping[str, str],
) -> None:
    """SFT, GRPO, and evaluation after each, for one arm and training seed."""
    tokenizer = made["tokenizer.model"]
    rl, questions = made["problems_rl.json"], made["problems_evaluation.json"]
    name = f"{arm}/{seed}"

    rows = {"rows": chosen[f"{arm}.parquet"], "tokenizer": tokenizer}
    weights = clock(f"{name}/sft", lambda: sft.train(run, arm, seed, rows))
    start = {"weights": weights, "tokenizer": tokenizer}
    asked = start | {"problems": questions}
    clock(
        f"{name}/evaluate_sft", lambda: evaluate.evaluate(run, arm, seed, "sft", asked)
    )
    trained = clock(
        f"{name}/grpo",
        lambda: grpo.train(run, arm, seed, start | {"problems": rl}),
    )
    asked |= {"weights": trained}
    clock(
        f"{name}/evaluate_grpo",
        lambda: evaluate.evaluate(run, arm, seed, "grpo", asked),
    )


class Clock:
    """Seconds spent in each stage, kept across restarts of a run."""

    def __init__(self, path: Path):
        self._path = path
        self.seconds: dict[str, float] = read_json(path) if path.exists() else {}

    def __call__(self, name: str, work: Callable[[], T]) -> T:
        began = time.monotonic()
        try:
            return work()
        finally:
            spent = time.monotonic() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            write_json(self._path, self.seconds)


def plain(config: ConfigDict) -> dict[str, Any]:
    """The config as dicts and tuples; `--config.arms=a,b` becomes two names.

    Raises:
        UserError: an arm or a seed named twice, or none.
    """

    def value(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: value(inner) for key, inner in found.items()}
        if isinstance(found, tuple | list):
            parts = [p.split(",") if isinstance(p, str) else [p] for p in found]
            return tuple(part for group in parts for part in group if part != "")
        return found

    settings = value(config.to_dict())
    for name in ("arms", "seeds"):
        given = settings[name]
        if not given:
            raise UserError(f"config.{name} is empty; name at least one")
        twice = sorted({str(one) for one in given if given.count(one) > 1})
        if twice:
            raise UserError(f"config.{name} names {', '.join(twice)} twice: {given}")
    return settings


def require_runnable(config: Mapping[str, Any]) -> None:
    """Refuses a recipe that this machine cannot run, before any work."""
    if config["needs"]:
        raise UserError(
            f"the recipe {config['name']} needs {config['needs']}; "
            "`configs/rlve.py` (local) and `configs/rlve.py:smoke` run anywhere"
        )


def compile_once(root: Path) -> None:
    """Keeps compiled programs beside the run, so a restart does not compile again."""
    jax.config.update("jax_compilation_cache_dir", str((root / ".compiled").absolute()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def parse(argv: list[str]) -> list[str]:
    """absl's flags, with a config's mistakes as one clear line.

    Raises:
        UserError: an unknown flag, file, variant or field, or a value of another type.
    """
    try:
        return flags.FLAGS(argv)
    except (flags.Error, AttributeError, KeyError, FileNotFoundError) as error:
        raise UserError(f"{_named(argv, error)}") from error


def _named(argv: list[str], error: Exception) -> str:
    """The mistake, and for an unknown field the names there are at that place."""
    if isinstance(error, FileNotFoundError):
        return f"no config file {error.filename}; the recipes are in configs/"
    if isinstance(error, flags.Error):
        return str(error).splitlines()[0]
    overrides = [a[2:].split("=")[0] for a in argv if a.startswith("--config.")]
    for name in overrides:
        at: Any = _CONFIG.value
        for part in name.split(".")[1:]:
            if not isinstance(at, ConfigDict) or part not in at:
                known = ", ".join(sorted(at)) if isinstance(at, ConfigDict) else "none"
                return f"unknown field --{name}; there is no {part!r} among: {known}"
            at = at[part]
    return str(error)


def run_program() -> int:
    """Exit status of the program; a user's mistake is one line, not a traceback."""
    try:
        interrupt.install()
        app.run(main, flags_parser=parse)
    except UserError as error:
        print(f"routejax: {error}", file=sys.stderr)
        return 2
    except interrupt.Interrupted as signal:
        print(
            f"routejax: stopped by {signal}; everything finished is saved, "
            "run the same command to go on",
            file=sys.stderr,
        )
        return interrupt.EXIT_CODE
    return 0


if __name__ == "__main__":
    status = run_program()
    sys.stdout.flush()
    sys.exit(status)
