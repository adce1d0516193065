"""The main job: traces → matched selections → SFT → GRPO → evaluation → report.

    python -m routejax.train --config=configs/rlve.py[:variant] [--workdir=DIR]
        [--config.FIELD=VALUE …]

Stages are skipped where their results are there already, so the same command goes on
after a kill. Exit status: 0 done; 2 something to mend, said on the last line; 75 asked
to stop (SIGTERM, Ctrl-C) with everything saved, run the same command again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from routejax import mesh
from routejax.program import run_program
from routejax.report.terminal import study_table
from routejax.stages import evaluate, finetune, grpo, pool, report, select, sft
from routejax.stages.checks import require_valid
from routejax.stages.run import Run
from routejax.workdir import opened


def main(config: dict[str, Any], root: Path) -> None:
    if "traces" in config:  # no arms: a published student on rows at hand
        finetune_published(config, root)
        return
    require_valid(config)
    console = Console(soft_wrap=True)
    run = Run(root=root, config=config, console=console)
    run.require_divides()
    with opened(root, config):
        compile_once(root)
        with mesh.entered(run.mesh):
            results = study(run)
        console.print(study_table(results))
        run.say(f"Report: {root / 'report.html'}")


def finetune_published(config: dict[str, Any], root: Path) -> None:
    finetune.require_valid(config)
    run = Run(root=root, config=config, console=Console(soft_wrap=True))
    run.require_divides()
    with opened(root, config):
        compile_once(root)
        with mesh.entered(run.mesh):
            found = finetune.finetune(run)
    losses = ", ".join(f"{loss:.4f}" for loss in found["heldout_loss"])
    run.say(f"Held-out loss: {losses}")
    run.say(f"Export: {root / 'export'}; reloads equal: {found['reloaded_equal']}")


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
    tokenizer = made.get("tokenizer.model") or run.tokenizer.digest
    rl, questions = made["problems_rl.json"], made["problems_evaluation.json"]

    rows = {"rows": chosen[f"{arm}.parquet"], "tokenizer": tokenizer}
    weights = sft.train(run, arm, seed, rows)
    start = {"weights": weights, "tokenizer": tokenizer}
    asked = start | {"problems": questions}
    evaluate.evaluate(run, arm, seed, "sft", asked)
    trained = grpo.train(run, arm, seed, start | {"problems": rl})
    evaluate.evaluate(run, arm, seed, "grpo", asked | {"weights": trained})


def compile_once(root: Path) -> None:
    """Keeps compiled programs beside the run, so a restart does not compile again."""
    jax.config.update("jax_compilation_cache_dir", str((root / ".compiled").absolute()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # XLA's own caches put the folder's path into every key: a moved run would miss.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")


if __name__ == "__main__":
    status = run_program(main, default="configs/rlve.py")
    sys.stdout.flush()
    sys.exit(status)
