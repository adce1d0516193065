"""Stage `sft`: the student on the selected traces of one arm."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import grain
import pyarrow as pa
import pyarrow.parquet as pq

from routejax import checkpoints, loop, processes, scalars, sft, spans, update
from routejax.errors import UserError
from routejax.models import Params
from routejax.packing import Example
from routejax.progress import track
from routejax.stages.looks import (
    HeldOut,
    Look,
    Sides,
    every,
    nothing,
    sides,
    with_facts,
)
from routejax.stages.overlong import FILE, apart
from routejax.stages.run import Run
from routejax.tokenizer import Tokenizer, require_sound
from routejax.workdir import inputs_of, write, write_json

# Settings of `config.sft` that go as they are to `Examples`.
_OF_SOURCE = ("epochs", "steps", "batch_examples", "row_tokens", "row_multiple")
_NONE: Mapping[str, float] = MappingProxyType({})
SIDES = "sides.jsonl"
_NO_SINKS = {"tensorboard": False, "wandb": ""}  # of processes that write nothing


class Examples:
    """Batches of a fixed number of examples, reshuffled every epoch: `loop.Source`.

    One update a batch; the first `steps` of them, if it is said how many.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        seed: int,
        epochs: int,
        batch_examples: int,
        row_tokens: int,
        row_multiple: int,
        steps: int | None = None,
        place: Callable[[sft.Batch], sft.Batch] = lambda batch: batch,
    ):
        self._examples, self._place = examples, place
        self._shape = {"row_tokens": row_tokens, "row_multiple": row_multiple}
        order = grain.MapDataset.range(len(examples)).seed(seed).shuffle()
        order = order.repeat(epochs).batch(batch_examples, drop_remainder=False)
        if steps is not None and steps > len(order):
            raise UserError(
                f"sft.steps must be at most {len(order)} ({len(examples)} rows, "
                f"{epochs} epochs, {batch_examples} at a time), got {steps}; lower it "
                "or raise sft.epochs"
            )
        if steps is not None:
            order = order[:steps]
        self.steps = len(order)
        self._order = iter(order.to_iter_dataset(grain.ReadOptions(num_threads=0)))

    def next(self, params: Params, step: int) -> tuple[list[sft.Batch], loop.Metrics]:
        del params, step
        chosen = [self._examples[int(i)] for i in next(self._order)]
        batch = sft.batch(chosen, **self._shape)
        tokens = sum(len(one.prompt) + len(one.response) for one in chosen)
        return [self._place(batch)], {"examples": len(chosen), "tokens": tokens}

    def state(self) -> dict:
        return self._order.get_state()

    def restore(self, state: dict) -> None:
        self._order.set_state(state)


class Learned(NamedTuple):
    """Rows as ids, and in how many of them the reasoning had to be opened."""

    examples: list[Example]
    opened: int
    names: list[str]
    prompts: list[str]


def train(run: Run, arm: str, seed: int, inputs: dict[str, str]) -> str:
    """SHA-256 of the trained weights, which are in `sft/weights`.

    `sft/recipe.json` says what was used besides the selected rows, and must be equal
    for all arms. `inputs` has the hashes of the arm's rows and of the tokenizer. Rows
    that are not learned are counted in `sft/examples.json` and listed by id: those too
    long in `overlong.jsonl`, those held out and aside in `sides.jsonl`.
    """
    parts = ("student", "sft")
    known = {"seed": seed, **inputs, **{part: run.config[part] for part in parts}}
    known |= {"origin": run.origin} if run.origin else {}
    folder = run.arm(arm, seed) / "sft"
    run.stage(folder, known, lambda at: _train(run, arm, seed, at), together=True)
    return trained(folder)


def trained(folder: Path) -> str:
    """SHA-256 of the weights of a finished stage."""
    return processes.first_does((folder / "weights.sha256").read_text)


def examples(run: Run, arm: str) -> Learned:
    """The arm's rows as ids, in the order of the selection's file."""
    return tokenised(
        run.tokenizer, pq.read_table(run.root / "select" / f"{arm}.parquet")
    )


def tokenised(tokenizer: Tokenizer, table: pa.Table) -> Learned:
    """Every row of a pool as ids that passed the audits, in order.

    Raises:
        UserError: a row that must not be learned, by its id, and why.
    """
    found, opened = [], 0
    columns = [table[name].to_pylist() for name in ("id", "prompt", "response")]
    for name, prompt, response in zip(*columns, strict=True):
        try:
            said = opening(tokenizer, prompt, response)
            turn = tokenizer.turn(prompt, said)
        except UserError as error:
            raise UserError(f"row {name}: {error}") from error
        require_sound(tokenizer, turn, name)
        opened += said != response
        found.append(Example(*turn))
    return Learned(found, opened, *columns[:2])


def opening(tokenizer: Tokenizer, prompt: str, response: str) -> str:
    """The response, its reasoning opened where nothing else opens it.

    Responses of many pools begin inside the reasoning, because the template that they
    were sampled with ended in the opening tag. A student whose own template does not
    would learn to close what nobody opened.
    """
    opens, closes, _ = spans.THINK
    begin, closed, _ = response.partition(closes)
    if not closed or opens in begin:
        return response
    asked = tokenizer.join(tokenizer.prompt(prompt))
    if asked.rstrip().endswith(opens):
        return response
    return f"{opens}\n{response.lstrip()}"


def _train(run: Run, arm: str, seed: int, folder: Path) -> None:
    name, found = f"{arm} seed {seed} sft", examples(run, arm)
    rows, dropped = _fitting(run, found, folder)
    settings, heldout = run.config["sft"], None
    of = Sides([*range(len(rows.examples))], [], [])
    if settings["evaluate_every"]:
        of = sides(rows.prompts, settings["heldout_share"])
        heldout = HeldOut(run, [rows.examples[n] for n in of.heldout])
    # Not in the recipe, which is that of all arms.
    facts = {"rows": len(found.examples), "thoughts_opened": rows.opened}
    facts |= {"overlong": dropped}
    facts |= {"heldout": len(of.heldout), "aside": len(of.aside)}
    if processes.first():
        write_json(folder / "examples.json", facts)
        _name_sides(folder / SIDES, rows.names, of)
    counted = {"overlong": dropped} if settings["overlong"] == "drop" else {}
    train = [rows.examples[n] for n in of.train]
    params, recipe = tune(
        run, folder, name, train, seed, heldout=heldout, facts=counted
    )
    finish(folder, params, recipe)


def _name_sides(path: Path, names: Sequence[str], of: Sides) -> None:
    """Lines with the id and the side of each row that is not learned, if there are."""
    lines = [
        json.dumps({"id": names[n], "side": side}) + "\n"
        for side, places in of._asdict().items()
        for n in places
        if side != "train"
    ]
    if lines:
        write(path, "".join(lines))


def _fitting(run: Run, rows: Learned, folder: Path) -> tuple[Learned, int]:
    """The rows that a training row holds, and how many others there are."""
    lengths = [len(one.prompt) + len(one.response) for one in rows.examples]
    limit, rule = run.config["sft"]["row_tokens"], run.config["sft"]["overlong"]
    kept = apart(
        "rows",
        rows.names,
        lengths,
        limit,
        setting="sft.row_tokens",
        rule=rule,
        block="sft",
        mend=f"raise it to {max(lengths)}",
        to=folder / FILE,
    )
    left = Learned(
        [rows.examples[n] for n in kept],
        rows.opened,
        [rows.names[n] for n in kept],
        [rows.prompts[n] for n in kept],
    )
    return left, len(lengths) - len(kept)


def tune(
    run: Run,
    folder: Path,
    name: str,
    rows: Sequence[Example],
    seed: int,
    watched: Callable[[loop.Source], loop.Source] = lambda source: source,
    headline: Sequence[str] = ("loss",),
    heldout: HeldOut | None = None,
    facts: Mapping[str, float] = _NONE,
) -> tuple[Params, dict[str, Any]]:
    """The run's student after `config.sft` on these rows, and the recipe.

    `watched` may put something around the source that looks at every step's parameters.
    `facts` stand in every line of the metrics.
    """
    settings = {name: run.config["sft"][name] for name in _OF_SOURCE}
    pass_rows = run.pass_rows(run.config["sft"]["device_rows"])
    settings["row_multiple"] = run.row_multiple(settings["row_multiple"], pass_rows)
    source = Examples(rows, seed=seed, place=run.divided, **settings)
    initial = run.fresh(seed)
    optimiser = update.optimiser(steps=source.steps, **run.config["sft"]["optimiser"])
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
        look=with_facts(_looks(run, heldout, source.steps), facts),
    )
    return params, recipe


def _looks(run: Run, heldout: HeldOut | None, steps: int) -> Look:
    if heldout is None:
        return nothing
    of = run.config["sft"]["evaluate_every"]
    return every(of, steps, lambda params: {"loss": heldout.loss(params)})


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
    counted: str = "tokens",
    look: Look = nothing,
) -> Params:
    """`loop.train` with this run's checkpoints, logs and progress bar.

    `counted` is the metric of which the bar tells how many there are in a second.
    """
    with (
        checkpoints.opened(
            folder / "checkpoints", **run.config["checkpoint"], say=run.say
        ) as saved,
        scalars.opened(
            folder,
            name=name,
            done=saved.latest(),
            say=run.say,
            about=run.config,
            **(run.config["logging"] if processes.first() else _NO_SINKS),
        ) as tell,
        track(run.console, name, steps, "steps", counted=counted) as progress,
    ):
        params = loop.train(
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
            tell=tell,
            place=run.placement,
            pass_rows=pass_rows,
            look=look,
            made_with=inputs_of(folder),
        )
        saved.keep()
        return params


def finish(folder: Path, params: Params, recipe: dict[str, Any]) -> None:
    """The stage's outputs: weights, their hash, and the recipe."""
    digest = checkpoints.save_weights(folder / "weights", params)
    if processes.first():
        write(folder / "weights.sha256", digest)
        write_json(folder / "recipe.json", recipe)
