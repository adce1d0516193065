"""Stage `sft`: a fresh student on the selected traces of one arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import grain
import pyarrow.parquet as pq

from routejax import checkpoints, loop, sft, update
from routejax.models import Params
from routejax.packing import Example
from routejax.progress import track
from routejax.stages.run import Run
from routejax.workdir import sha256, write, write_json


class Examples:
    """Batches of a fixed number of examples, reshuffled every epoch: `loop.Source`."""

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        seed: int,
        epochs: int,
        batch_examples: int,
        row_tokens: int,
        row_multiple: int,
    ):
        self._examples = examples
        self._shape = {"row_tokens": row_tokens, "row_multiple": row_multiple}
        order = grain.MapDataset.range(len(examples)).seed(seed).shuffle()
        order = order.repeat(epochs).batch(batch_examples, drop_remainder=False)
        self.steps = len(order)
        self._order = iter(order.to_iter_dataset(grain.ReadOptions(num_threads=0)))

    def next(self, params: Params, step: int) -> tuple[sft.Batch, loop.Metrics]:
        del params, step
        chosen = [self._examples[int(i)] for i in next(self._order)]
        return sft.batch(chosen, **self._shape), {"examples": len(chosen)}

    def state(self) -> dict:
        return self._order.get_state()

    def restore(self, state: dict) -> None:
        self._order.set_state(state)


def train(run: Run, arm: str, seed: int, inputs: dict[str, str]) -> str:
    """SHA-256 of the trained weights, which are in `sft/weights`.

    `sft/recipe.json` says what was used besides the selected rows, and must be equal
    for all arms. `inputs` has the hashes of the arm's rows and of the tokenizer.
    """
    parts = ("student", "sft")
    known = {"seed": seed, **inputs, **{part: run.config[part] for part in parts}}
    folder = run.arm(arm, seed) / "sft"
    run.stage(folder, known, lambda at: _train(run, arm, seed, at))
    return (folder / "weights.sha256").read_text()


def examples(run: Run, arm: str) -> list[Example]:
    """The arm's rows as ids, in the order of the selection's file."""
    table = pq.read_table(run.root / "select" / f"{arm}.parquet")
    encode = run.tokenizer
    return [
        Example(encode.prompt(prompt), encode.response(response))
        for prompt, response in zip(
            table["prompt"].to_pylist(), table["response"].to_pylist(), strict=True
        )
    ]


def _train(run: Run, arm: str, seed: int, folder: Path) -> None:
    settings = dict(run.config["sft"])
    rules = settings.pop("optimiser")
    rows = examples(run, arm)
    source = Examples(rows, seed=seed, **settings)
    initial = run.student.init(seed)
    optimiser = update.optimiser(steps=source.steps, **rules)
    recipe = {
        "seed": seed,
        "examples": len(rows),
        "steps": source.steps,
        "initial_weights": checkpoints.weights_hash(initial),
        "tokenizer": sha256(run.tokenizer.model),
        "settings": run.config["sft"],
        "student": run.config["student"],
    }
    params = fit(
        run,
        folder,
        f"{arm} seed {seed} sft",
        update.start(initial, optimiser),
        source,
        sft.loss(run.student),
        optimiser,
        source.steps,
        ("loss",),
    )
    finish(folder, params, recipe)


def fit(
    run: Run,
    folder: Path,
    name: str,
    state: update.TrainState,
    source: loop.Source,
    loss: update.Loss,
    optimiser: Any,
    steps: int,
    headline: Sequence[str],
    limits: Mapping[str, float] | None = None,
) -> Params:
    """`loop.train` with this run's checkpoints, log and progress bar."""
    with (
        checkpoints.opened(folder / "checkpoints", **run.config["checkpoint"]) as saved,
        track(run.console, name, steps, "steps", saved.latest()) as progress,
    ):
        return loop.train(
            state,
            source,
            loss,
            optimiser,
            steps=steps,
            checkpoints=saved,
            log=folder / "metrics.jsonl",
            progress=progress,
            headline=headline,
            limits=limits or {},
        )


def finish(folder: Path, params: Params, recipe: dict[str, Any]) -> None:
    """The stage's outputs: weights, their hash, and the recipe."""
    digest = checkpoints.save_weights(folder / "weights", params)
    write(folder / "weights.sha256", digest)
    write_json(folder / "recipe.json", recipe)
