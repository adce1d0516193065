"""What the stage of RL hands to the loop, the sampler and the looks; all are played."""

import dataclasses
import inspect
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from played_rollouts import OUTCOMES, letters, played
from smoke_config import run_in

from routejax import checkpoints, envs, grpo, update
from routejax.errors import UserError
from routejax.scoring import score
from routejax.stages import evaluate, looks, sft
from routejax.stages import grpo as stage
from routejax.stages.run import Run
from routejax.workdir import write_json

PROBLEMS = envs.problem_set(["count"], [1, 2, 3], 3, split="rl", seed=0).problems
LONGEST = max(len(problem.prompt) for problem in PROBLEMS)
SETTINGS = {
    **{"prompts": 4, "samples": 2, "steps": 3, "temperature": 0.7, "groups": "all"},
    **{"row_tokens": 16, "row_multiple": 2, "rollouts_every": 0},
}


@pytest.fixture
def begun(tmp_path, student, params, monkeypatch):
    """The stage, up to what its loop is given: arguments of `sft.fit` by name.

    Also the reference, and `asked`: what was asked of the sampler.
    """
    reference = jax.tree.map(lambda x: 1.1 * x, params)
    given = SimpleNamespace(reference=reference, asked=[], fits=0)
    rows = [dataclasses.asdict(problem) for problem in PROBLEMS]
    for split in ("rl", "evaluation"):
        write_json(tmp_path / "pool" / f"problems_{split}.json", rows)

    def roll(student, policy, tokenizer, problems, **how):
        given.asked.append(SimpleNamespace(policy=policy, problems=problems, **how))
        return played(problems, np.resize(OUTCOMES, (len(problems), how["samples"])))

    def load(folder, like, sha256):
        given.loaded = (folder.relative_to(tmp_path), sha256)
        return reference

    def fit(*args, **settings):
        bound = inspect.signature(sft.fit).bind(*args, **settings)
        given.__dict__.update(bound.arguments, fits=given.fits + 1)
        return given.state.params

    monkeypatch.setattr(stage, "rollout", roll)
    monkeypatch.setattr(looks, "rollout", roll)
    monkeypatch.setattr(stage, "fit", fit)
    monkeypatch.setattr(checkpoints, "load_weights", load)
    monkeypatch.setattr(checkpoints, "save_weights", lambda *_: "trained")

    def begun(seed=0, prompt_tokens=LONGEST + 9, weights="w", code="c", **settings):
        decoding = {"prompt_tokens": prompt_tokens}
        run = run_in(tmp_path, grpo=SETTINGS | settings, decoding=decoding)
        run.__dict__.update(student=student, tokenizer=letters(), code=code)
        inputs = {"weights": weights, "tokenizer": "t", "problems": "p"}
        assert stage.train(run, "diverse", seed, inputs) == "trained"
        return given

    return begun


def test_samples_are_of_their_seed_their_step_and_the_policy(begun, params):
    given = begun(seed=7)
    for step in (0, 1, 5):
        given.source.next(params, step)
    assert [(one.seed, one.step) for one in given.asked] == [(7, 0), (7, 1), (7, 5)]
    for one in given.asked:
        assert one.policy is params
        assert (one.samples, one.decoding.temperature) == (2, 0.7)
        assert len(one.problems) == 4


def test_the_reference_is_what_sft_has_written(begun, params, student):
    """The policy begins there; the KL is to it, also where the policy has moved."""
    given = begun()
    assert given.loaded == (Path("arms/diverse/seed_0/sft/weights"), "w")
    assert update.checksum(given.state.params) == update.checksum(given.reference)
    (batch,), _ = given.source.next(params, 0)
    wanted = score(student, given.reference, batch.rows, 0.7).logps
    np.testing.assert_array_equal(batch.ref_logps, wanted)


def test_loss_schedule_and_limit_are_those_of_the_config(begun, student):
    """The schedule has a place for every update, of which a step may have several."""
    given = begun(updates=2, beta=0.3, preset="verl", max_logp_gap=0.02)
    rule = given.run.config["grpo"]["optimiser"]
    assert given.steps == 3
    assert given.optimiser is update.optimiser(steps=6, **rule)
    assert given.limits == {"logp_gap": 0.02}
    wanted = {"sampler_correction": "none", "sampler_cap": 2.0}
    assert given.loss is grpo.loss(
        student, grpo.PRESETS["verl"], beta=0.3, temperature=0.7, **wanted
    )
    batches, _ = given.source.next(given.reference, 0)
    assert len(batches) == 2


def test_looks_and_evaluation_draw_apart_from_every_training_step(begun, params):
    """With the same seed, whose samples of the same problems would be the same."""
    given = begun(seed=7, evaluate_every=2, evaluate_problems=3, evaluate_samples=2)
    assert given.look(params, 1) == {}
    assert given.look(params, 2).keys() == {"eval_acc1", "eval_pass2", "eval_s"}
    (one,) = given.asked
    assert (one.seed, len(one.problems)) == (7, 3)
    assert len({one.step, evaluate.STEP}) == 2
    assert min(one.step, evaluate.STEP) >= 2**31 > given.steps


def test_prompts_that_are_too_long_are_not_asked_and_counted(begun, params):
    lengths = [len(letters().prompt(problem.prompt)) for problem in PROBLEMS]
    limit = sorted(lengths)[-3] - 1
    over = {p.id for p, n in zip(PROBLEMS, lengths, strict=True) if n > limit}
    assert 0 < len(over) < 7  # two are left at least
    with pytest.raises(UserError, match=f"{len(over)} of 9 prompts have more than"):
        begun(prompt_tokens=limit)
    given = begun(prompt_tokens=limit, overlong="drop", prompts=2)
    for step in range(6):
        given.source.next(params, step)
    asked = {problem.id for one in given.asked for problem in one.problems}
    assert len(asked) >= 2
    assert asked.isdisjoint(over)
    assert given.look(params, 1) == {"overlong": len(over)}


def test_a_sampler_that_draws_otherwise_than_the_policy_is_not_trained_on(begun):
    with pytest.raises(UserError, match="training needs top_k 0, top_p 1, min_p 0"):
        begun(temperature=0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": "others"},
        {"code": "others"},
        {"prompt_tokens": LONGEST + 8},
        {"beta": 0.5},
    ],
    ids=str,
)
def test_what_is_made_of_something_else_is_trained_anew(changes, begun):
    assert [begun().fits, begun().fits] == [1, 1]
    assert [begun(**changes).fits, begun(**changes).fits] == [2, 2]


def test_batches_are_divided_over_the_devices(begun, params, monkeypatch):
    seen = []
    monkeypatch.setattr(Run, "divided", lambda run, part: seen.append(part) or part)
    (batch,), _ = begun().source.next(params, 0)
    assert [type(part).__name__ for part in seen] == ["Rows", "Batch"]
    assert seen[0] == batch.rows  # as they are scored under the reference
    assert seen[1] is batch


@pytest.mark.parametrize("first", [True, False])
def test_the_first_process_alone_writes_samples(
    first, begun, params, tmp_path, monkeypatch
):
    monkeypatch.setattr(stage, "processes", SimpleNamespace(first=lambda: first))
    given = begun(rollouts_every=2)
    for step in range(4):
        given.source.next(params, step)
    found = sorted(path.name for path in tmp_path.rglob("step_*.parquet"))
    assert found == (["step_2.parquet", "step_4.parquet"] if first else [])
