"""Samples of one student on sets of questions, verdicts on them, and scores.

    python -m routejax.evaluate --config=configs/evaluate.py
        --config.student.run=RUN --config.student.arm=NAME [--config.student.phase=sft]
    python -m routejax.evaluate --config=configs/evaluate.py:VARIANT
        --config.student.weights=DIR --config.files=FOLDER
    python -m routejax.evaluate --config=configs/evaluate.py:VARIANT
        --config.samples=FILE --config.files=FOLDER

Samples are written once, in parts, so the same command goes on after a kill, and one
that asks for more samples or questions adds those; samples of other settings are
refused. Verdicts stand in files of their own: where the verifier is another now,
responses are judged again without being sampled again, and `--rescore` does so anyway.
The folder (`--workdir`; else runs/NAME, of a run's student with its arm, seed and
phase) has metrics.json, whose schema is in `routejax.evaluation.scores`. Exit status as
for every entry (`routejax.program`); on several hosts as `routejax.hosts` says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from absl import flags
from rich.console import Console

from routejax import mesh, processes
from routejax.evaluation import imports, scores, verdicts
from routejax.evaluation.questions import Questions, read_set
from routejax.evaluation.sampling import sample_set
from routejax.evaluation.settings import Sets, read
from routejax.evaluation.students import Answering, answering, require_fit
from routejax.hosts import (
    compile_once,
    console,
    leave_with,
    opened_by_first,
    run_together,
)
from routejax.program import WORKDIR
from routejax.report.evaluated import evaluation_table
from routejax.stages.run import Run
from routejax.workdir import read_json, write_json

_RESCORE = flags.DEFINE_bool("rescore", False, "Judges all samples again.")


def main(config: dict[str, Any], root: Path) -> None:
    run_together(work, config, root)


def work(config: dict[str, Any], root: Path) -> None:
    asked, speaker = read(config), console()
    run = Path(config["student"]["run"]) if config["student"]["run"] else None
    sets = processes.first_does(lambda: [read_set(one, run) for one in asked.asked])
    root = folder_of(config, root)
    if config["samples"]:
        evaluate(config, asked, sets, root, importing(config, sets, root, speaker))
        return
    who = answering(config, speaker)
    for questions in sets:
        require_fit(who, questions)
    with mesh.entered(who.run.mesh):
        evaluate(config, asked, sets, root, sampling(config, who, sets, root))


def folder_of(config: Mapping[str, Any], root: Path) -> Path:
    """Where it is written: of a run's students each has a folder of its own."""
    student = config["student"]
    if WORKDIR.value or not student["run"]:
        return root
    return root / f"{student['arm']}_seed_{student['seed']}_{student['phase']}"


Fill = Callable[[], tuple[Run, Mapping[str, Any]]]


def sampling(
    config: Mapping[str, Any], who: Answering, sets: list[Questions], root: Path
) -> Fill:
    """What makes the missing samples, and says who made them."""

    def fill() -> tuple[Run, Mapping[str, Any]]:
        params = functools.cache(who.load)
        for questions in sets:
            sample_set(
                who,
                questions,
                root / questions.name,
                problems_per_part=config["problems_per_part"],
                params=params,
            )
        return who.run, who.about

    return fill


def importing(
    config: Mapping[str, Any], sets: list[Questions], root: Path, speaker: Console
) -> Fill:
    """What takes samples from files, and says which."""
    found = processes.first_does(lambda: imports.read_files(config["samples"]))

    def fill() -> tuple[Run, Mapping[str, Any]]:
        run = Run(root=root, config=config, console=speaker)
        lines = processes.first_does(
            lambda: imports.import_sets(found, sets, config, root)
        )
        for line in lines:
            run.say(line)
        return run, {"files": found.files}

    return fill


def evaluate(
    config: dict[str, Any], asked: Sets, sets: list[Questions], root: Path, fill: Fill
) -> None:
    """Samples, verdicts, scores; the first process judges and writes."""
    with opened_by_first(root, config):
        compile_once(root)
        run, about = fill()
        for line in [note for questions in sets for note in questions.notes]:
            run.say(line)
        if asked.absent:
            run.say(f"Left out, for they have no file: {', '.join(asked.absent)}")
        with run.judges:
            found = processes.first_does(
                lambda: scored(config, run, sets, root, about, asked.absent)
            )
            run.say_failures()
    run.console.print(evaluation_table(found))
    run.say(f"Metrics: {root / 'metrics.json'}")


def scored(
    config: Mapping[str, Any],
    run: Run,
    sets: list[Questions],
    root: Path,
    about: Mapping[str, Any],
    absent: list[str],
) -> dict[str, Any]:
    """What metrics.json has, of samples that are judged first where they must be.

    Raises:
        UserError: a question has fewer samples than it should.
    """
    listed = root / imports.RECORD
    for questions in sets:
        folder = root / questions.name
        more = f"; {listed} lists them" if config["samples"] else ""
        verdicts.require_complete(questions, folder, more)
        changed = verdicts.judge_set(
            run,
            questions,
            folder,
            at_once=config["responses_per_part"],
            anew=_RESCORE.value,
        )
        if changed.judged:
            run.say(
                f"{questions.name}: {changed.judged:,} responses judged again, "
                f"{changed.now_solved:,} are right now and {changed.no_longer:,} no "
                "longer"
            )
    own = config["student"]["run"]
    found = {
        "schema": 1,
        "name": config["name"],
        "student": about,
        **scores.scores(
            sets,
            root,
            resamples=config["resamples"],
            run=read_json(Path(own) / "config.json") if own else None,
        ),
        "absent": absent,
    }
    write_json(root / "metrics.json", found)
    return found


if __name__ == "__main__":
    leave_with(main, default="configs/evaluate.py")
