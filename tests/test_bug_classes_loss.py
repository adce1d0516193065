"""Mistakes that trainers have made with advantages and with the loss.

One test for each, named after what one would see.
"""

import io
import json

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from grpo_batches import loss_and_slope, packed_batch, standardised, unigram
from played_rollouts import played, source_of
from rich.console import Console

from routejax import checkpoints, envs, grpo, loop, progress, update
from routejax.errors import UserError
from routejax.grpo import PRESETS
from routejax.packing import Example

PAPER = PRESETS["paper"]


def failing(problems, shaped=False):
    """Every sample wrong; shaped rewards take a little for every further one."""
    outcomes = np.zeros((len(problems), 8), bool)
    rewards = outcomes - 0.01 * np.arange(8) if shaped else None
    return played(problems, outcomes, rewards=rewards)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(("reward", "count"), [(0.9, 8), (1.0, 41), (0.1, 7)])
def test_constant_reward_group_gives_no_advantage(reward, count, name):
    preset = PRESETS[name]
    found = grpo.advantages(
        np.full((1, count), reward),
        ddof=preset.ddof,
        eps=preset.eps,
        divide_by_std=preset.divide_by_std,
    )
    assert np.all(found == 0)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("far", [(-101.0, -1.0), (-1.0, -101.0), (-1e4, 0.0)])
def test_kl_gradient_is_finite_where_the_policy_is_far_from_the_reference(far, name):
    """And the other token of the row has the slope it has without the far one."""
    preset, (logp, ref) = PRESETS[name], far
    slopes = []
    for rows, refs in (([-1.0, logp], [-1.5, ref]), ([-1.0, -2.0], [-1.5, -2.0])):
        batch, logps, apart = packed_batch(
            [rows, [-1.0]], [1.0, -1.0], preset, ref=[refs, [-1.0]]
        )
        value, slope, metrics = loss_and_slope(batch, logps, preset, 0.001)
        assert np.isfinite(value)
        assert np.isfinite(slope).all()
        assert np.isfinite(list(metrics.values())).all()
        slopes.append(apart(slope)[0][0])
    assert slopes[0] == slopes[1] != 0


def test_groups_of_one_do_not_become_plain_reinforce(student, params):
    def roll(params, problems, step):
        return played(problems, np.eye(4, 1, dtype=bool))

    with pytest.raises(UserError, match="a group of one has nothing to compare with"):
        source_of(student, params, roll=roll).next(params, 0)


@pytest.mark.parametrize("name", PRESETS)
def test_a_step_with_nothing_to_train_on_is_not_nan(name, student, params):
    """Every group constant: loss and slope are zero, not 0/0, and weights stay."""
    settings = {"preset": PRESETS[name], "row_multiple": 4}
    made = source_of(student, params, lambda p, asked, s: failing(asked), **settings)
    (batch,), facts = made.next(params, 0)
    assert facts["mixed_groups"] == 0
    loss, rule = unigram(name), optax.sgd(1.0)
    state = update.start({"logits": jnp.arange(24.0)}, rule)
    state, metrics = update.train_step(loss, rule, state, batch)
    np.testing.assert_array_equal(state.params["logits"], np.arange(24.0))
    assert set(map(float, metrics.values())) == {0.0}


def test_a_masked_row_is_in_neither_sum():
    """Of three rows one is masked: loss and metrics are those of the other two."""
    logps, ref = [[-1.0, -2.0], [-0.5], [-9.0, -8.0]], [[-1.5, -2.0], [-0.7], [-1, -1]]
    advantage = np.array([1.0, -1.0, 0.5])
    for aggregation in ("sequence", "token"):
        preset = grpo.Preset(aggregation=aggregation)
        settings = {"samples": 2, "tokens": 3}
        whole, placed, apart = packed_batch(
            logps, advantage, preset, ref=ref, **settings
        )
        masked = np.asarray(whole.ref_logps) == -1
        whole = whole._replace(weights=jnp.where(masked, 0.0, whole.weights))
        assert np.sum(whole.weights) == pytest.approx(1)
        found = loss_and_slope(whole, placed, preset, 0.1)
        two, placed, _ = packed_batch(
            logps[:2], advantage[:2], preset, ref=ref[:2], **settings
        )
        wanted = loss_and_slope(two, placed, preset, 0.1)
        assert found[0] == pytest.approx(wanted[0], rel=1e-6)
        assert found[2] == pytest.approx(wanted[2], rel=1e-6)
        assert not apart(found[1])[2].any()


@pytest.mark.parametrize("name", PRESETS)
def test_micro_batches_do_not_change_the_step(name):
    """Rows of 5, 3, 1 and 2 tokens as one pass, as two and as four."""
    rng, rule = np.random.default_rng(0), optax.sgd(1.0)
    preset = PRESETS[name]
    batch, packed = grpo.batch(
        [Example([1], rng.integers(0, 6, n).tolist()) for n in (5, 3, 1, 2)],
        standardised([1.0, 0.0, 0.0, 1.0], preset),
        preset=preset,
        samples=4,
        tokens=11,
        row_tokens=6,
        row_multiple=4,
    )
    noise = jnp.asarray(rng.normal(-2, 0.5, packed.tokens.shape), jnp.float32)
    batch = batch._replace(ref_logps=noise, sampler_logps=noise, old_logps=noise)
    found = []
    for pass_rows in (4, 2, 1):
        params = {"logits": jnp.linspace(-1, 1, 6)}
        state, metrics = update.train_step(
            unigram(name), rule, update.start(params, rule), batch, pass_rows=pass_rows
        )
        slope = params["logits"] - state.params["logits"]
        found.append([*np.asarray(slope), *(float(metrics[k]) for k in metrics)])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-4, atol=1e-6)


def test_kl_is_in_the_loss_once_and_nowhere_else(student, params):
    """β takes β Σ w k3 from the objective; rewards and advantages do not know of it."""
    batch, logps, _ = packed_batch(
        [[-1.0, -2.0], [-0.5]], [1.0, -1.0], PAPER, ref=[[-1.5, -1.0], [-0.9]]
    )
    kl = grpo.k3(logps, batch.ref_logps)
    once = float(jnp.sum(batch.weights * kl))
    assert once > 0.1
    without, with_kl = (loss_and_slope(batch, logps, PAPER, b)[0] for b in (0.0, 0.5))
    assert with_kl - without == pytest.approx(0.5 * once, rel=1e-5)
    moved = jax.tree.map(lambda x: x * 1.2, params)
    (near,), facts = source_of(student, params).next(params, 0)
    (far,), others = source_of(student, params).next(moved, 0)
    np.testing.assert_array_equal(near.advantages, far.advantages)
    assert facts["reward"] == others["reward"]


def test_the_reference_does_not_drift_with_the_policy(student, params, tmp_path):
    """Three steps from the reference's own arrays: it stays, and the KL to it grows."""
    reference = jax.tree.map(jnp.copy, params)
    before = update.checksum(reference)
    rule, log = optax.sgd(0.3), tmp_path / "log.jsonl"
    made = source_of(student, reference)
    with (
        checkpoints.opened(tmp_path / "c", keep=1, every_s=0.0) as saved,
        progress.track(Console(file=io.StringIO()), "t", 3, "steps") as shown,
    ):
        after = loop.train(
            update.start(reference, rule),
            made,
            grpo.loss(student, PAPER, beta=0.1, temperature=1.0),
            rule,
            steps=3,
            checkpoints=saved,
            log=log,
            progress=shown,
        )
    assert update.checksum(reference) == before != update.checksum(after)
    kl = [json.loads(line)["kl"] for line in log.read_text().splitlines()]
    assert kl[0] < 1e-9
    assert min(kl[1:]) > 1e-5


def test_shaped_rewards_do_not_train_a_group_that_failed(student, params):
    """Eight wrong samples with 0, −0.01, −0.02 … have advantages, and no part in it."""
    made = source_of(
        student, params, roll=lambda p, problems, s: failing(problems, shaped=True)
    )
    (batch,), facts = made.next(params, 0)
    assert not np.asarray(batch.weights).any()
    assert (facts["all_fail"], facts["mixed"]) == (1.0, 0.0)
    assert (facts["mixed_groups"], facts["unmixed_steps"]) == (0, 1)
    assert facts["reward"] == pytest.approx(-0.035)


@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize("refill", [0, 1, 5])
def test_a_step_whose_groups_are_all_constant_ends_and_is_counted(
    refill, shaped, student, params
):
    """Constant by outcome, also where shaped rewards differ."""
    asked = []

    def roll(params, problems, step):
        asked.append(len(problems))
        return failing(problems, shaped)

    many = envs.problem_set(["count"], [2, 3], 8, split="rl", seed=0).problems
    made = source_of(student, params, roll, many, refill=refill, prompts=1)
    for step in range(2):
        (batch,), facts = made.next(params, step)
        assert facts["refills"] == refill
        assert facts["unmixed_steps"] == step + 1
        assert not np.asarray(batch.weights).any()
    assert len(asked) == 2 * (1 + refill)
