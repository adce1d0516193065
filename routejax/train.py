"""The main job: traces → matched selections → SFT → GRPO → evaluation → report.

    python -m routejax.train --config=configs/rlve.py[:variant] [--workdir=DIR]
        [--config.FIELD=VALUE …]

Stages are skipped where their results are there already, so the same command goes on
after a kill. Exit status: 0 done; 2 something to mend, said on the last line; 75 asked
to stop (SIGTERM, Ctrl-C) with everything saved, run the same command again.

On several hosts the same command runs on each; `routejax.hosts` has the flags for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from routejax import mesh, processes
from routejax.hosts import (
    compile_once,
    console,
    leave_with,
    opened_by_first,
    run_together,
)
from routejax.report.terminal import study_table
from routejax.stages import evaluate, export, finetune, grpo, pool, report, select, sft
from routejax.stages.checks import cautions, require_valid
from routejax.stages.run import Run


def main(config: dict[str, Any], root: Path) -> None:
    """The job, in this process alone or together with others."""
    run_together(work, config, root)


def work(config: dict[str, Any], root: Path) -> None:
    if "traces" in config:  # no arms: a published student on rows at hand
        finetune_published(config, root)
        return
    require_valid(config)
    run = Run(root=root, config=config, console=console())
    warn(run)
    run.require_divides()
    with opened_by_first(root, config):
        compile_once(root)
        with mesh.entered(run.mesh), run.judges:
            results = study(run)
            run.say_failures()
        run.console.print(study_table(results))
        run.say(f"Report: {root / 'report.html'}")


def finetune_published(config: dict[str, Any], root: Path) -> None:
    finetune.require_valid(config)
    run = Run(root=root, config=config, console=console())
    warn(run)
    run.require_divides()
    with opened_by_first(root, config):
        compile_once(root)
        with mesh.entered(run.mesh):
            found = finetune.finetune(run)
    looks = zip(found["heldout_steps"], found["heldout_loss"], strict=True)
    said = ", ".join(f"{loss:.4f} after {done}" for done, loss in looks)
    run.say(f"Held-out loss: {said} steps")
    run.say(f"Export: {root / 'export'}; reloads equal: {found['reloaded_equal']}")


def warn(run: Run) -> None:
    for line in cautions(run.config):
        run.say(line)


def study(run: Run) -> dict[str, Any]:
    """Every stage of every arm and seed, then the results."""
    made = pool.pool(run)
    features = select.fingerprint(run, made)
    chosen = select.select(run, made, features)
    for seed in run.config["seeds"]:
        for arm in run.config["arms"]:
            train_arm(run, arm, seed, made, chosen)
    return processes.first_does(lambda: report.write_results(run))


def train_arm(
    run: Run, arm: str, seed: int, made: Mapping[str, str], chosen: Mapping[str, str]
) -> None:
    """SFT, GRPO, and evaluation after each, for one arm and training seed."""
    tokenizer = made.get("tokenizer.model") or run.tokenizer.digest
    rl, questions = made["problems_rl.json"], made["problems_evaluation.json"]

    rows = {"rows": chosen[f"{arm}.parquet"], "tokenizer": tokenizer}
    weights = sft.train(run, arm, seed, rows)
    export.of_stage(run, run.arm(arm, seed) / "sft", weights)
    start = {"weights": weights, "tokenizer": tokenizer}
    asked = start | {"problems": questions}
    evaluate.evaluate(run, arm, seed, "sft", asked)
    trained = grpo.train(run, arm, seed, start | {"problems": rl})
    export.of_stage(run, run.arm(arm, seed) / "grpo", trained)
    evaluate.evaluate(run, arm, seed, "grpo", asked | {"weights": trained})


def entry() -> NoReturn:
    """Ends this process with the status of the job."""
    leave_with(main, default="configs/rlve.py")


if __name__ == "__main__":
    entry()
