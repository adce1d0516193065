"""GRPO's loss on ragged groups: worked cases, a loop, and what must not matter."""

import dataclasses

import grpo_cases
import jax.numpy as jnp
import numpy as np
import pytest
from grpo_batches import (
    ROW_TOKENS,
    ROWS,
    loss_and_slope,
    packed_batch,
    plain_loss,
    standardised,
)

from routejax import grpo
from routejax.grpo import PRESETS

PAPER = PRESETS["paper"]


@pytest.mark.parametrize("name", grpo_cases.LOSS)
def test_loss_of_a_known_group(name):
    preset, expected, slopes = grpo_cases.LOSS[name]
    batch, logps, ragged = packed_batch(
        grpo_cases.LOGPS,
        standardised(grpo_cases.REWARDS, preset),
        preset,
        old=grpo_cases.OLD,
        ref=grpo_cases.REF,
    )
    value, slope, metrics = loss_and_slope(batch, logps, preset, grpo_cases.BETA)
    assert value == pytest.approx(expected, rel=1e-6)
    for found, wanted in zip(ragged(slope), slopes, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-7)
    outside = np.asarray(batch.weights) == 0
    assert np.all(np.asarray(slope)[outside] == 0)
    kl = [x for row in grpo_cases.TOKEN_K3 for x in row]
    assert metrics["kl"] == pytest.approx(np.mean(kl), rel=1e-5)
    assert metrics["trained_tokens"] == 11
    # Ratios e^.2 and e^.5 up, e^.3 twice; e^-.2 down is inside.
    up = [1.105, 0.819, 1.221, 1.649, 1.0], [0.67, 1.492, 1.0], [4.482], [1.35, 1.0]
    signs = np.sign(standardised(grpo_cases.REWARDS))
    clipped = [
        (r > 1.2 if sign > 0 else r < 0.8)
        for row, sign in zip(up, signs, strict=True)
        for r in row
    ]
    assert metrics["clip_share"] == pytest.approx(np.mean(clipped))


def test_tokens_of_a_known_group():
    def table(ragged):
        return jnp.asarray([[*row, *[0.0] * (5 - len(row))] for row in ragged])

    logp, old, ref = map(table, (grpo_cases.LOGPS, grpo_cases.OLD, grpo_cases.REF))
    advantage = jnp.asarray(standardised(grpo_cases.REWARDS), jnp.float32)
    value, _ = grpo.surrogate(logp, old, jnp.tile(advantage[:, None], 5), PAPER)
    kl = np.asarray(grpo.k3(logp, ref))
    for index, row in enumerate(grpo_cases.TOKEN_LOSS):
        found = -np.asarray(value)[index, : len(row)]
        np.testing.assert_allclose(found, row, rtol=2e-6)
        wanted = grpo_cases.TOKEN_K3[index]
        np.testing.assert_allclose(kl[index, : len(row)], wanted, rtol=2e-6, atol=1e-12)


def test_one_mean_over_all_tokens():
    preset = dataclasses.replace(PAPER, aggregation="token")
    batch, logps, _ = packed_batch(
        grpo_cases.LOGPS,
        standardised(grpo_cases.REWARDS),
        preset,
        old=grpo_cases.OLD,
        ref=grpo_cases.REF,
    )
    value, _, _ = loss_and_slope(batch, logps, preset, grpo_cases.BETA)
    assert value == pytest.approx(grpo_cases.TOKEN_MEAN, rel=1e-5)


@pytest.mark.parametrize("samples", grpo_cases.ONE_EMPTY)
def test_an_empty_response_counts_as_a_sample(samples):
    """Or does not, if the caller counts only the others."""

    def without(table):
        return [row if index != 1 else [] for index, row in enumerate(table)]

    batch, logps, _ = packed_batch(
        without(grpo_cases.LOGPS),
        standardised(grpo_cases.REWARDS),
        PAPER,
        old=without(grpo_cases.OLD),
        ref=without(grpo_cases.REF),
        samples=samples,
    )
    value, _, _ = loss_and_slope(batch, logps, PAPER, grpo_cases.BETA)
    assert value == pytest.approx(grpo_cases.ONE_EMPTY[samples], rel=1e-6)


@pytest.mark.parametrize("on_policy", [True, False])
def test_the_first_update_has_no_loss_but_a_slope(on_policy):
    batch, logps, ragged = packed_batch(
        grpo_cases.OLD, standardised(grpo_cases.REWARDS), PAPER, ref=grpo_cases.REF
    )
    value, slope, metrics = loss_and_slope(
        batch, logps, PAPER, grpo_cases.BETA, on_policy
    )
    assert value == pytest.approx(grpo_cases.FIRST_LOSS, rel=1e-4)
    for found, wanted in zip(ragged(slope), grpo_cases.FIRST_SLOPE, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert metrics["clip_share"] == 0
    assert metrics["logp_gap" if on_policy else "policy_gap"] == 0
    value, slope, _ = loss_and_slope(batch, logps, PAPER, 0.0, on_policy)
    assert value == pytest.approx(0, abs=1e-7)


def test_on_policy_is_reinforce():
    """Slope −w·Â whatever the sampler's log-probabilities say, plus the KL's."""
    advantage = standardised(grpo_cases.REWARDS)
    batch, logps, _ = packed_batch(
        grpo_cases.LOGPS, advantage, PAPER, old=grpo_cases.OLD, ref=grpo_cases.REF
    )
    _, slope, metrics = loss_and_slope(batch, logps, PAPER, 0.0, on_policy=True)
    np.testing.assert_allclose(slope, -batch.weights * batch.advantages, rtol=1e-6)
    assert metrics["logp_gap"] == pytest.approx(1.5)
    _, with_kl, _ = loss_and_slope(batch, logps, PAPER, 0.5, on_policy=True)
    pull = 1 - np.exp(np.asarray(batch.ref_logps - logps))
    expected = np.asarray(slope) + 0.5 * np.asarray(batch.weights) * pull
    np.testing.assert_allclose(with_kl, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("junk", [-np.inf, np.inf, np.nan, 1e4, -1e4])
def test_masked_places_cannot_reach_value_or_slope(junk):
    runs = []
    for filler in (0.0, junk):
        batch, logps, _ = packed_batch(
            grpo_cases.LOGPS,
            standardised(grpo_cases.REWARDS),
            PAPER,
            old=grpo_cases.OLD,
            ref=grpo_cases.REF,
            junk=filler,
        )
        runs.append(loss_and_slope(batch, logps, PAPER, 0.1))
    assert runs[0][0] == runs[1][0]
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    assert runs[0][2] == runs[1][2]
    assert np.all(np.isfinite(list(runs[1][2].values())))


@pytest.mark.parametrize("preset", PRESETS)
def test_no_response_at_all_is_a_loss_of_zero(preset):
    batch, logps, _ = packed_batch([[], []], [1.0, -1.0], PRESETS[preset], junk=-np.inf)
    value, slope, metrics = loss_and_slope(batch, logps, PRESETS[preset], 0.1)
    assert value == 0
    assert np.all(np.asarray(slope) == 0)
    assert set(metrics.values()) == {0.0}


def test_every_group_left_out_is_a_loss_of_zero():
    batch, packed = grpo.batch(
        [],
        np.zeros(0),
        preset=PAPER,
        samples=8,
        tokens=20,
        row_tokens=ROW_TOKENS,
        row_multiple=ROWS,
    )
    assert packed.tokens.shape == (ROWS, ROW_TOKENS)
    at = jnp.full((ROWS, ROW_TOKENS), -2.0)
    value, slope, _ = loss_and_slope(batch, at, PAPER, 0.1)
    assert value == 0
    assert np.all(np.asarray(slope) == 0)


@pytest.mark.parametrize("preset", PRESETS)
def test_loss_equals_a_loop_over_ragged_groups(preset):
    """Three prompts, four samples, lengths 0 to 5, ratios far to both sides."""
    rng = np.random.default_rng(5)
    rule = PRESETS[preset]
    for _ in range(5):
        lengths = rng.integers(0, 6, 12)
        # In float32 already, so that both sides start from the same numbers.
        logps, old, ref = (
            [(-rng.exponential(2, n)).astype(np.float32) for n in lengths]
            for _ in range(3)
        )
        rewards = rng.integers(0, 2, (3, 4)).astype(float)
        advantage = grpo.advantages(
            rewards, ddof=rule.ddof, eps=rule.eps, divide_by_std=rule.divide_by_std
        ).ravel()
        batch, placed, _ = packed_batch(logps, advantage, rule, old=old, ref=ref)
        value, _, _ = loss_and_slope(batch, placed, rule, 0.3)
        wide = [[row.astype(float) for row in table] for table in (logps, old, ref)]
        expected = plain_loss(*wide, advantage, rule, 0.3, samples=12)
        assert value == pytest.approx(expected, rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("aggregation", ["sequence", "token"])
@pytest.mark.parametrize("split", [[[0, 1], [2, 3]], [[3], [1, 0, 2]]])
def test_micro_batches_add_up(aggregation, split):
    """Parts of unequal length, each with the counts of the whole step."""
    preset = dataclasses.replace(PAPER, aggregation=aggregation)
    advantage = standardised(grpo_cases.REWARDS)
    tables = grpo_cases.LOGPS, grpo_cases.OLD, grpo_cases.REF

    def run(chosen):
        logps, old, ref = ([table[i] for i in chosen] for table in tables)
        batch, placed, ragged = packed_batch(
            logps, advantage[chosen], preset, old=old, ref=ref, samples=4, tokens=11
        )
        value, slope, _ = loss_and_slope(batch, placed, preset, grpo_cases.BETA)
        return value, dict(zip(chosen, ragged(slope), strict=True))

    whole, slopes = run([0, 1, 2, 3])
    parts = [run(chosen) for chosen in split]
    assert sum(value for value, _ in parts) == pytest.approx(whole, rel=1e-6)
    for _, found in parts:
        for index, slope in found.items():
            np.testing.assert_allclose(slope, slopes[index], rtol=1e-6)


@pytest.mark.parametrize("beta", [0.0, 0.2])
@pytest.mark.parametrize("aggregation", ["sequence", "token"])
def test_leaving_unmixed_groups_out_loses_only_their_kl(aggregation, beta):
    preset = dataclasses.replace(PAPER, aggregation=aggregation)
    rng = np.random.default_rng(8)
    lengths = rng.integers(1, 6, 12)
    tokens = int(lengths.sum())
    logps = [-rng.exponential(1, n) for n in lengths]
    ref = [row + rng.normal(0, 0.3, len(row)) for row in logps]
    rewards = np.array([[1.0] * 4, [1, 0, 0, 1], [0.0] * 4])
    advantage = grpo.advantages(rewards, ddof=1, eps=1e-6).ravel()
    mixed = np.flatnonzero(np.repeat(grpo.mixed(rewards), 4))
    assert mixed.tolist() == [4, 5, 6, 7]

    def run(chosen):
        batch, placed, ragged = packed_batch(
            [logps[i] for i in chosen],
            advantage[chosen],
            preset,
            ref=[ref[i] for i in chosen],
            samples=12,
            tokens=tokens,
        )
        value, slope, _ = loss_and_slope(batch, placed, preset, beta, on_policy=True)
        return value, dict(zip(chosen.tolist(), ragged(slope), strict=True))

    full, slopes = run(np.arange(12))
    some, kept = run(mixed)
    lost = 0.0
    for i in set(range(12)) - set(mixed.tolist()):
        d = ref[i] - logps[i]
        share = 1 / (12 * len(d)) if aggregation == "sequence" else 1 / tokens
        lost += beta * share * np.sum(np.exp(d) - d - 1)
        assert beta > 0 or np.all(slopes[i] == 0)
    assert full - some == pytest.approx(lost, rel=1e-4, abs=1e-7)
    assert beta == 0 or lost > 0.001
    for i in mixed:
        np.testing.assert_allclose(kept[i], slopes[i], rtol=1e-6)
