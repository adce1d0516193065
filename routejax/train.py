"""The main job: traces → matched selections → SFT → GRPO → evaluation → report.

    python -m routejax.train --config=configs/rlve.py[:variant] [--workdir=DIR]
        [--config.FIELD=VALUE …]

Stages are skipped where their results are there already, so the same command goes on
after a kill. Exit status: 0 done; 2 something to mend, said on the last line; 75 asked
to stop (SIGTERM, Ctrl-C) with everything saved, run the same command again.

On several hosts the same command runs on each, with --distributed where jax finds out
by itself how many there are (TPU pods, Slurm), else with --coordinator=HOST:PORT
--processes=N --process=I. The run's folder must be one that all of them see; the first
process writes it and speaks for all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import jax
from absl import flags
from rich.console import Console

from routejax import mesh, processes
from routejax.program import run_program
from routejax.progress import terminal
from routejax.report.terminal import study_table
from routejax.stages import evaluate, export, finetune, grpo, pool, report, select, sft
from routejax.stages.checks import cautions, require_valid
from routejax.stages.run import Run
from routejax.workdir import opened

DISTRIBUTED = flags.DEFINE_bool("distributed", False, "One of several processes.")
COORDINATOR = flags.DEFINE_string("coordinator", None, "HOST:PORT of process 0.")
PROCESSES = flags.DEFINE_integer("processes", None, "How many processes there are.")
PROCESS = flags.DEFINE_integer("process", None, "Which of them this one is, from 0.")


def main(config: dict[str, Any], root: Path) -> None:
    """The job, in this process alone or together with others."""
    where = (COORDINATOR.value, PROCESSES.value, PROCESS.value)
    if DISTRIBUTED.value or any(given is not None for given in where):
        processes.join(*where)
    with processes.ending():
        work(config, root)


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
            say_failures(run)
        run.console.print(study_table(results))
        run.say(f"Report: {root / 'report.html'}")


def say_failures(run: Run) -> None:
    """Which verifiers failed; their responses count as not solved."""
    stats = run.judges.stats()
    for kind in ("errors", "timeouts"):
        for env, failed in stats[kind].items():
            ids = ", ".join(failed["ids"][:5])
            run.say(
                f"Judging: {failed['count']:,} {kind} of {env}, the last "
                f"{failed['last']!r}; problems {ids}"
            )


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


def console() -> Console:
    """Where the run speaks: the terminal of the first process."""
    return terminal(soft_wrap=True, quiet=not processes.first())


@contextmanager
def opened_by_first(root: Path, config: dict[str, Any]) -> Iterator[None]:
    """`workdir.opened` by the first process, of a folder that all of them see."""
    with ExitStack() as stack:
        processes.first_does(lambda: stack.enter_context(opened(root, config)))
        processes.require_shared(root)
        yield


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


def compile_once(root: Path) -> None:
    """Keeps compiled programs beside the run, so a restart does not compile again."""
    jax.config.update("jax_compilation_cache_dir", str((root / ".compiled").absolute()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # XLA's own caches put the folder's path into every key: a moved run would miss.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")


def entry() -> NoReturn:
    """Ends this process with the status of the job."""
    status = run_program(main, default="configs/rlve.py")
    sys.stdout.flush()
    processes.leave(status)
    sys.exit(status)


if __name__ == "__main__":
    entry()
