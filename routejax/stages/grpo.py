"""Stage `grpo`: reinforcement learning of an arm's student from its SFT weights."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from routejax import checkpoints, grpo, processes, update
from routejax.envs import Problem
from routejax.models import Params
from routejax.rollout import Rollout, rollout
from routejax.stages.grpo_source import Rollouts
from routejax.stages.looks import Look, every, solving, spread_out, with_facts
from routejax.stages.overlong import FILE, apart
from routejax.stages.pool import read_problems
from routejax.stages.rollout_rows import keeper
from routejax.stages.run import Run
from routejax.stages.sft import finish, fit, trained
from routejax.workdir import content_hash

# Settings of `config.grpo` that go as they are to `grpo.loss` and to `Rollouts`.
_OF_LOSS = ("beta", "temperature", "sampler_correction", "sampler_cap")
_OF_SOURCE = (
    *("prompts", "groups", "temperature", "row_tokens", "row_multiple"),
    *("updates", "refill", "min_mixed"),
)


def train(run: Run, arm: str, seed: int, inputs: dict[str, str]) -> str:
    """SHA-256 of the weights after RL, which are in `grpo/weights`.

    `inputs` has the hashes of the SFT weights, the problems and the tokenizer.
    """
    parts = ("student", "grpo", "decoding")
    known = {"seed": seed, **inputs, **{part: run.config[part] for part in parts}}
    folder = run.arm(arm, seed) / "grpo"
    run.stage(
        folder,
        known,
        lambda at: _train(run, arm, seed, inputs["weights"], at),
        together=True,
    )
    return trained(folder)


def _train(run: Run, arm: str, seed: int, weights: str, folder: Path) -> None:
    settings, name = dict(run.config["grpo"]), f"{arm} seed {seed} grpo"
    run.decoding(settings["temperature"]).require_trainable()
    steps = settings["steps"]
    done, pass_rows = (
        settings["stop_at"] or steps,
        run.pass_rows(settings["device_rows"]),
    )
    problems, dropped = _fitting(run, folder)
    reference = checkpoints.load_weights(
        run.arm(arm, seed) / "sft" / "weights", run.fresh(seed), weights
    )
    source = _source(run, folder, seed, problems, reference, pass_rows)
    optimiser = update.optimiser(
        steps=steps * settings["updates"], **settings["optimiser"]
    )
    params = fit(
        run,
        folder,
        name,
        update.start(reference, optimiser, run.placement),
        source,
        grpo.loss(run.student, run.preset, **{k: settings[k] for k in _OF_LOSS}),
        optimiser,
        done,
        ("reward", "mixed", "kl"),
        {"logp_gap": settings["max_logp_gap"]},
        pass_rows,
        counted="sampled_tokens",
        look=with_facts(
            _looks(run, seed),
            {"overlong": dropped} if settings["overlong"] == "drop" else {},
        ),
    )
    unmixed = source.state()["unmixed_steps"]  # with a last look at the reference
    if unmixed:
        run.say(
            f"{name}: {unmixed} of {done} steps had no mixed group, so no reward "
            "moved the weights there"
        )
    recipe = {
        "seed": seed,
        "steps": steps,
        "problems": content_hash([problem.id for problem in problems]),
        "settings": run.config["grpo"],
        "decoding": run.config["decoding"],
    }
    finish(folder, params, recipe)


def _fitting(run: Run, folder: Path) -> tuple[list[Problem], int]:
    """The problems whose prompts the sampler takes, and how many others there are."""
    found = read_problems(run.root / "pool" / "problems_rl.json")
    lengths = [len(run.tokenizer.prompt(one.prompt)) for one in found]
    limit = run.config["decoding"]["prompt_tokens"]
    kept = apart(
        "prompts",
        [problem.id for problem in found],
        lengths,
        limit,
        setting="decoding.prompt_tokens",
        rule=run.config["grpo"]["overlong"],
        block="grpo",
        mend=f"raise it to {max(lengths)}",
        to=folder / FILE,
    )
    return [found[n] for n in kept], len(found) - len(kept)


def _looks(run: Run, seed: int) -> Look:
    settings = run.config["grpo"]
    asked = read_problems(run.root / "pool" / "problems_evaluation.json")
    few = spread_out(asked, settings["evaluate_problems"])
    of = solving(run, few, seed, settings["evaluate_samples"])
    last = settings["stop_at"] or settings["steps"]
    return every(settings["evaluate_every"], last, of)


def _source(
    run: Run,
    folder: Path,
    seed: int,
    problems: Sequence[Problem],
    reference: Params,
    pass_rows: int | None,
) -> Rollouts:
    settings = dict(run.config["grpo"])
    of_roll = {key: settings[key] for key in ("samples", "temperature")}
    settings["row_multiple"] = run.row_multiple(settings["row_multiple"], pass_rows)
    return Rollouts(
        problems,
        functools.partial(_roll, run, seed=seed, **of_roll),
        run.student,
        reference,
        preset=run.preset,
        seed=seed,
        place=run.divided,
        pass_rows=pass_rows,
        keep=keeper(
            folder, settings["rollouts_every"] * processes.first(), run.tokenizer
        ),
        **{key: settings[key] for key in _OF_SOURCE},
    )


def _roll(
    run: Run,
    params: Params,
    problems: Sequence[Problem],
    step: int,
    *,
    samples: int,
    seed: int,
    temperature: float,
) -> Rollout:
    return rollout(
        run.student,
        params,
        run.tokenizer,
        problems,
        samples=samples,
        seed=seed,
        step=step,
        decoding=run.decoding(temperature),
        mesh=run.mesh,
        judges=run.judges,
    )
