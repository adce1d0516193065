"""Samples whose log-probabilities the trainer finds otherwise: weights and metrics."""

import functools

import grpo_cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grpo_batches import loss_and_slope, packed_batch, standardised
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax import grpo
from routejax.errors import UserError
from routejax.grpo import PRESETS

PAPER = PRESETS["paper"]


@pytest.fixture
def group():
    """The known group with the sampler's own numbers, as a function of the rest."""

    def build(logps=grpo_cases.LOGPS, sampler=grpo_cases.SAMPLER, **rest):
        return packed_batch(
            logps,
            standardised(grpo_cases.REWARDS),
            PAPER,
            old=grpo_cases.OLD,
            ref=grpo_cases.REF,
            sampler=sampler,
            **rest,
        )

    return build


def test_the_loss_of_a_known_group(group):
    batch, logps, ragged = group()
    value, slope, metrics = loss_and_slope(
        batch, logps, PAPER, grpo_cases.BETA, cap=2.0
    )
    assert value == pytest.approx(grpo_cases.SAMPLER_LOSS, rel=1e-6)
    assert metrics["sampler_capped"] == pytest.approx(1 / 11)
    weight = grpo.sampler_weight(batch.old_logps, batch.sampler_logps, 2.0)
    for found, wanted in zip(ragged(weight), grpo_cases.SAMPLER_WEIGHTS, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    # The slope of the policy term times the weight, and the KL's as without.
    _, plain, _ = loss_and_slope(batch, logps, PAPER, 0.0)
    _, both, _ = loss_and_slope(batch, logps, PAPER, grpo_cases.BETA)
    expected = weight * plain + (both - plain)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-8)


def test_without_correction_the_sampler_changes_nothing_but_its_metrics(group):
    batch, logps, _ = group()
    found = loss_and_slope(batch, logps, PAPER, grpo_cases.BETA)
    other = batch._replace(sampler_logps=batch.sampler_logps - 3)
    again = loss_and_slope(other, logps, PAPER, grpo_cases.BETA)
    assert found[0] == again[0]
    np.testing.assert_array_equal(found[1], again[1])
    assert found[2] == again[2]
    assert "sampler_capped" not in found[2]


def test_weights_of_one_change_not_a_bit(group):
    batch, logps, _ = group(logps=grpo_cases.OLD, sampler=grpo_cases.OLD)
    for on_policy in (True, False):
        at = functools.partial(loss_and_slope, batch, logps, PAPER, 0.1, on_policy)
        plain, corrected = at(), at(cap=2.0)
        assert plain[0] == corrected[0]
        np.testing.assert_array_equal(plain[1], corrected[1])
        assert corrected[2]["sampler_capped"] == 0


def test_the_first_update_takes_its_own_numbers_for_the_trainers(group):
    """On policy the weight is of the policy itself; no gradient flows through it."""
    batch, logps, _ = group(logps=grpo_cases.OLD)
    first, others = (
        loss_and_slope(batch, logps, PAPER, 0.1, on_policy, cap=1.05)
        for on_policy in (True, False)
    )
    assert first[0] == pytest.approx(others[0], rel=1e-6)
    np.testing.assert_allclose(first[1], others[1], rtol=1e-6)


def test_metrics_of_the_gap_by_hand(group):
    batch, logps, _ = group(logps=grpo_cases.OLD)
    _, _, metrics = loss_and_slope(batch, logps, PAPER, 0.1, on_policy=True, cap=1.1)
    pairs = zip(grpo_cases.OLD, grpo_cases.SAMPLER, strict=True)
    d = np.concatenate([np.subtract(old, sampled) for old, sampled in pairs])
    assert metrics["logp_gap"] == pytest.approx(1.5)
    assert metrics["logp_gap_mean"] == pytest.approx(np.abs(d).mean(), rel=1e-5)
    assert metrics["sampler_kl"] == pytest.approx(np.mean(np.exp(d) - d - 1), rel=1e-5)
    assert metrics["sampler_capped"] == pytest.approx(np.mean(np.exp(d) > 1.1))


@pytest.mark.parametrize("junk", [-np.inf, np.inf, np.nan])
def test_the_samplers_masked_numbers_cannot_reach_anything(junk, group):
    runs = []
    for filler in (0.0, junk):
        batch, logps, _ = group(junk=filler)
        runs.append(loss_and_slope(batch, logps, PAPER, 0.1, cap=2.0))
    assert runs[0][0] == runs[1][0]
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    assert runs[0][2] == runs[1][2]


@settings(deadline=None, max_examples=40)
@given(st.floats(-1e4, 1e4, width=32), st.floats(0.5, 5))
def test_any_gap_gives_a_finite_weight_without_slope(gap, cap):
    value, slope = jax.value_and_grad(
        lambda x: grpo.sampler_weight(x, jnp.float32(0), cap)
    )(jnp.float32(gap))
    with np.errstate(over="ignore"):
        expected = min(np.exp(np.float64(gap)), cap)
    assert value == pytest.approx(expected, rel=1e-5 + 1e-6 * abs(gap), abs=1e-30)
    assert slope == 0


def test_an_unknown_correction_is_explained(student):
    with pytest.raises(UserError, match="must be one of none, token, got 'sequence'"):
        grpo.loss(
            student, PAPER, beta=0.1, temperature=1.0, sampler_correction="sequence"
        )


def test_the_correction_reaches_the_loss_of_a_student(student, params, group):
    """A cap of a thousandth makes the policy's part of the slope a thousandth."""
    batch, _, _ = group()
    batch = batch._replace(old_logps=None, sampler_logps=batch.sampler_logps - 99)

    def slope(**correction):
        at = grpo.loss(student, PAPER, beta=0.0, temperature=1.0, **correction)
        (_, metrics), found = jax.value_and_grad(at, has_aux=True)(params, batch)
        return found["head"], metrics

    plain, without = slope()
    cut, corrected = slope(sampler_correction="token", sampler_cap=1e-3)
    np.testing.assert_allclose(cut, 1e-3 * plain, rtol=1e-4, atol=1e-9)
    assert "sampler_capped" not in without
    assert corrected["sampler_capped"] == 1.0
