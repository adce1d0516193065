"""Stage `sft`: a fresh student on the selected traces of one arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import grain
import pyarrow as pa
import pyarrow.parquet as pq

from routejax import checkpoints, loop, sft, update
from routejax.errors import UserError
from routejax.models import Params
from routejax.packing import Example
from routejax.progress import track
from routejax.stages.run import Run
from routejax.tokenizer import Tokenizer, require_sound
from routejax.workdir import write, write_json


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
        place: Callable[[sft.Batch], sft.Batch] = lambda batch: batch,
    ):
        self._examples, self._place = examples, place
        self._shape = {"row_tokens": row_tokens, "row_multiple": row_multiple}
        order = grain.MapDataset.range(len(examples)).seed(seed).shuffle()
        order = order.repeat(epochs).batch(batch_examples, drop_remainder=False)
        self.steps = len(order)
        self._order = iter(order.to_iter_dataset(grain.ReadOptions(num_threads=0)))

    def next(self, params: Params, step: int) -> tuple[sft.Batch, loop.Metrics]:
        del params, step
        chosen = [self._examples[int(i)] for i in next(self._order)]
        batch = sft.batch(chosen, **self._shape)
        return self._place(batch), {"examples": len(chosen)}

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
    known |= {"origin": run.origin} if run.origin else {}
    folder = run.arm(arm, seed) / "sft"
    run.stage(folder, known, lambda at: _train(run, arm, seed, at))
    return (folder / "weights.sha256").read_text()


def examples(run: Run, arm: str) -> list[Example]:
    """The arm's rows as ids, in the order of the selection's file."""
    return tokenised(
        run.tokenizer, pq.read_table(run.root / "select" / f"{arm}.parquet")
    )


def tokenised(tokenizer: Tokenizer, table: pa.Table) -> list[Example]:
    """Every row of a pool as ids that passed the audits, in order.

    Raises:
        UserError: a row that must not be learned, by its id, and why.
    """
    found = []
    columns = (table[name].to_pylist() for name in ("id", "prompt", "response"))
    for name, prompt, response in zip(*columns, strict=True):
        try:
            turn = tokenizer.turn(prompt, response)
        except UserError as error:
            raise UserError(f"row {name}: {error}") from error
        require_sound(tokenizer, turn, name)
        found.append(Example(*turn))
    return found


def _train(run: Run, arm: str, seed: int, folder: Path) -> None:
    name, rows = f"{arm} seed {seed} sft", examples(run, arm)
    finish(folder, *tune(run, folder, name, rows, seed))


def tune(
    run: Run,
    folder: Path,
    name: str,
    rows: Sequence[Example],
    seed: int,
    watched: Callable[[loop.Source], loop.Source] = lambda source: source,
    headline: Sequence[str] = ("loss",),
) -> tuple[Params, dict[str, Any]]:
    """The run's student after `config.sft` on these rows, and the recipe.

    `watched` may put something around the source that looks at every step's parameters.
    """
    settings = dict(run.config["sft"])
    rules, device_rows = settings.pop("optimiser"), settings.pop("device_rows")
    pass_rows = run.pass_rows(device_rows)
    settings["row_multiple"] = run.row_multiple(settings["row_multiple"], pass_rows)
    source = Examples(rows, seed=seed, place=run.divided, **settings)
    initial = run.fresh(seed)
    optimiser = update.optimiser(steps=source.steps, **rules)
    recipe = {
        "seed": seed,
        "examples": len(rows),
        "steps": source.steps,
        "initial_weights": checkpoints.weights_hash(initial),
        "tokenizer": run.tokenizer.digest,
        "settings": run.config["sft"],
        "student": run.config["student"],
    }
    params = fit(
        run,
        folder,
        name,
        update.start(initial, optimiser, run.placement),
        watched(source),
        sft.loss(run.student),
        optimiser,
        source.steps,
        headline,
        pass_rows=pass_rows,
    )
    return params, recipe


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
    pass_rows: int | None = None,
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
            place=run.placement,
            pass_rows=pass_rows,
        )


def finish(folder: Path, params: Params, recipe: dict[str, Any]) -> None:
    """The stage's outputs: weights, their hash, and the recipe."""
    digest = checkpoints.save_weights(folder / "weights", params)
    write(folder / "weights.sha256", digest)
    write_json(folder / "recipe.json", recipe)
