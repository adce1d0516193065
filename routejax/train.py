"""The main job: traces → matched selections → SFT → GRPO → evaluation → report.

    python -m routejax.train --config=configs/rlve.py[:variant] [--workdir=DIR]
        [--config.FIELD=VALUE …]

Stages are skipped where their results are there already, so the same command goes on
after a kill. Exit status: 0 done; 2 something to mend, said on the last line; 75 asked
to stop (SIGTERM, Ctrl-C) with everything saved, run the same command again.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from absl import app, flags
from absl import logging as absl_logging
from ml_collections import ConfigDict, config_flags
from rich.console import Console

from routejax import interrupt
from routejax.errors import UserError
from routejax.report.terminal import study_table
from routejax.stages import evaluate, grpo, pool, report, select, sft
from routejax.stages.checks import require_valid
from routejax.stages.run import Run
from routejax.workdir import opened

_CONFIG = config_flags.DEFINE_config_file("config", "configs/rlve.py", lock_config=True)
_WORKDIR = flags.DEFINE_string(
    "workdir", None, "Folder of the run; runs/<config name> if not given."
)


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise UserError(f"flags begin with --, got {argv[1]!r}")
    quieten()
    config = plain(_CONFIG.value)
    require_valid(config)
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
    made = pool.pool(run)
    features = select.fingerprint(run, made)
    chosen = select.select(run, made, features)
    for seed in run.config["seeds"]:
        for arm in run.config["arms"]:
            train_arm(run, arm, seed, made, chosen)
    return report.write_results(run)


def train_arm(
    run: Run, arm: str, seed: int, made: Mapping[str, str], chosen: Mapping[str, str]
) -> None:
    """SFT, GRPO, and evaluation after each, for one arm and training seed."""
    tokenizer = made["tokenizer.model"]
    rl, questions = made["problems_rl.json"], made["problems_evaluation.json"]

    rows = {"rows": chosen[f"{arm}.parquet"], "tokenizer": tokenizer}
    weights = sft.train(run, arm, seed, rows)
    start = {"weights": weights, "tokenizer": tokenizer}
    asked = start | {"problems": questions}
    evaluate.evaluate(run, arm, seed, "sft", asked)
    trained = grpo.train(run, arm, seed, start | {"problems": rl})
    evaluate.evaluate(run, arm, seed, "grpo", asked | {"weights": trained})


def plain(config: ConfigDict) -> dict[str, Any]:
    """The config as dicts and tuples; `--config.arms=a,b` becomes two names."""

    def value(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: value(inner) for key, inner in found.items()}
        if isinstance(found, tuple | list):
            parts = [p.split(",") if isinstance(p, str) else [p] for p in found]
            return tuple(part for group in parts for part in group if part != "")
        return found

    return value(config.to_dict())


def quieten() -> None:
    """Warnings of libraries stay; what Orbax logs at length it also raises."""
    absl_logging.set_verbosity(absl_logging.WARNING)
    for name in ("absl", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def compile_once(root: Path) -> None:
    """Keeps compiled programs beside the run, so a restart does not compile again."""
    jax.config.update("jax_compilation_cache_dir", str((root / ".compiled").absolute()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # XLA's own caches put the folder's path into every key: a moved run would miss.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")


def parse(argv: list[str]) -> list[str]:
    """absl's flags, with a config's mistakes as one clear line.

    Raises:
        UserError: an unknown flag, file, variant or field, or a value of another type.
    """
    try:
        left = flags.FLAGS(argv)
        _CONFIG.value.keys()  # a file that was not found fails only when it is read
        return left
    except (flags.Error, AttributeError, KeyError, TypeError, OSError) as error:
        raise UserError(_mistake(argv, error)) from error


def _mistake(argv: list[str], error: BaseException) -> str:
    """What is wrong with the command line, in one line."""
    below: BaseException | None = error
    while below := below.__cause__ or below.__context__:
        if isinstance(below, UserError) and "\n" not in str(below):
            return str(below)  # what a config file says about its own variant
    path = _config_path(argv)
    if isinstance(error, OSError):
        return f"no config file {path!r}; the recipes are in configs/"
    overrides = [a.lstrip("-").partition("=")[0] for a in argv[1:]]
    config = config_flags.config_flags.ConfigFileFlagParser("config").parse(path)
    for name in overrides:
        if name.startswith("config.") and (unknown := _unknown(config, name)):
            return unknown
    return str(error).splitlines()[0]


def _config_path(argv: list[str]) -> str:
    """Value of the last `--config`, or its default."""
    path = str(_CONFIG.default)
    for at, arg in enumerate(argv[1:], 1):
        name, given, value = arg.lstrip("-").partition("=")
        if name == "config":
            path = value if given else "".join(argv[at + 1 : at + 2])
    return path


def _unknown(config: Any, name: str) -> str | None:
    """For a field that does not exist, the names there are at that place."""
    at = config
    for part in name.split(".")[1:]:
        if not isinstance(at, ConfigDict):
            return f"unknown field --{name}: {part!r} is asked of a value, {at!r}"
        if part not in at:
            names = ", ".join(sorted(at))
            return f"unknown field --{name}: there is no {part!r} among: {names}"
        at = at[part]
    return None


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
