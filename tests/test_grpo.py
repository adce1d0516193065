"""GRPO's parts against worked cases: advantages, the KL term, clipping, weights."""

import dataclasses

import grpo_cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax import grpo
from routejax.errors import UserError
from routejax.grpo import PRESETS
from routejax.packing import Example, pack

PAPER = PRESETS["paper"]


@pytest.mark.parametrize("setting", grpo_cases.ADVANTAGES)
@pytest.mark.parametrize("name", grpo_cases.GROUPS)
def test_advantages_of_known_groups(name, setting):
    rewards, expected = grpo_cases.GROUPS[name]
    table = np.array([rewards, rewards[::-1]], float)
    found = grpo.advantages(table, **grpo_cases.ADVANTAGES[setting])
    np.testing.assert_allclose(found[0], expected[setting], rtol=1e-8)
    np.testing.assert_allclose(found[1], expected[setting][::-1], rtol=1e-8)


@pytest.mark.parametrize("setting", grpo_cases.ADVANTAGES)
@pytest.mark.parametrize(
    ("reward", "count"), [(0.1, 7), (0.9, 8), (1.0, 41), (10.0, 15), (0.35, 3)]
)
def test_equal_rewards_have_no_advantage_at_all(reward, count, setting):
    """Though the mean of equal floats need not be that float."""
    rewards = np.full((2, count), reward)
    rewards[1, 0] += 0.5
    found = grpo.advantages(rewards, **grpo_cases.ADVANTAGES[setting])
    assert np.all(found[0] == 0)
    assert np.all(found[1] != 0)
    assert grpo.mixed(rewards).tolist() == [False, True]


def test_rewards_that_hardly_differ_are_not_taken_for_equal():
    """A billionth apart, far below any eps: decided by comparison, not by the std."""
    rewards = np.array([[0.5, 0.5 + 1e-9], [0.5, 0.5]])
    found = grpo.advantages(rewards, ddof=1, eps=1e-30)
    np.testing.assert_allclose(found[0], [-(0.5**0.5), 0.5**0.5], rtol=1e-6)
    assert np.all(found[1] == 0)


rewards_of_groups = st.integers(2, 9).flatmap(
    lambda g: st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 0.3, -1.0]), min_size=g, max_size=g),
        min_size=1,
        max_size=5,
    )
)


@settings(deadline=None, max_examples=60)
@given(rewards_of_groups)
def test_what_holds_for_every_group(rewards):
    table = np.array(rewards)
    found = grpo.advantages(table, ddof=1, eps=0.0 if grpo.mixed(table).all() else 1e-9)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.sum(1), 0, atol=1e-9)
    mixed = grpo.mixed(table)
    assert mixed.tolist() == [len(set(row)) > 1 for row in rewards]
    np.testing.assert_allclose(found[mixed].std(1, ddof=1), 1, rtol=1e-6)
    assert np.all(found[~mixed] == 0)
    for row, one in zip(table, found, strict=True):  # groups do not see each other
        alone = grpo.advantages(row[None], ddof=1, eps=1e-9)
        np.testing.assert_allclose(one, alone[0], rtol=1e-6)
        order = np.argsort(row, kind="stable")
        assert np.all(np.diff(one[order]) >= 0)


def test_rewards_that_cannot_be_compared_are_refused():
    with pytest.raises(UserError, match="group"):
        grpo.advantages(np.ones((3, 1)), ddof=1, eps=1e-6)
    for bad in (np.nan, np.inf, -np.inf):
        rewards = np.zeros((3, 4))
        rewards[1, 2] = bad
        with pytest.raises(UserError, match=r"\[1, 2\] is not finite"):
            grpo.advantages(rewards, ddof=1, eps=1e-6)


@pytest.mark.parametrize("setting", grpo_cases.LIMITS)
@pytest.mark.parametrize(
    "case", grpo_cases.KL, ids=lambda case: f"{case[1] - case[0]:.3g}"
)
def test_kl_and_its_slope(case, setting):
    logp, ref, expected = case
    limits = grpo_cases.LIMITS[setting]
    found = jax.value_and_grad(lambda x: grpo.k3(x, jnp.float32(ref), **limits))(
        jnp.float32(logp)
    )
    # float32 knows d = ref − logp to about 1e-7, so small d to that relative error.
    rel = 1e-5 + 1e-7 / (abs(ref - logp) + 1e-12)
    for number, wanted in zip(found, expected[setting], strict=True):
        assert number == pytest.approx(wanted, rel=rel)


def test_kl_stops_at_ten():
    low, high = grpo_cases.KL_BORDERS
    ref = jnp.array([low + 1e-4, low - 1e-4, high - 1e-5, high + 1e-5])
    value = grpo.k3(jnp.zeros(4), ref)
    assert (value < 10).tolist() == [True, False, True, False]
    np.testing.assert_allclose(value, 10, atol=1e-3)


def test_kl_of_any_log_ratio_is_finite():
    """±1e4 is far beyond where exp overflows; the slope must not be 0·inf either."""
    sizes = np.concatenate([[0.0], np.logspace(-8, 4, 49)])
    logp = np.concatenate([-sizes, sizes]).astype(np.float32)
    both = jax.vmap(jax.value_and_grad(grpo.k3))(
        jnp.asarray(logp), jnp.zeros(len(logp))
    )
    value, slope = map(np.asarray, both)
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
    assert np.all(value >= 0)
    assert value.max() == 10
    d = np.abs(np.float64(logp))
    with np.errstate(over="ignore"):
        error = np.abs(value - (np.expm1(-np.float64(logp)) + np.float64(logp)))
    assert np.all((error <= 1e-6 * d) | (d > 1))  # rounded at the size of d, not of 1


@pytest.mark.parametrize("case", grpo_cases.CLIP, ids=lambda case: f"{case[:2]}")
def test_clipping_one_token(case):
    advantage, ratio, plain, higher, dual = case

    def run(preset):
        def loss(x):
            signal = jnp.float32(advantage)
            value, clipped = grpo.surrogate(x, jnp.float32(0), signal, preset)
            return -value, clipped

        (value, clipped), slope = jax.value_and_grad(loss, has_aux=True)(
            jnp.float32(np.log(ratio))
        )
        return float(value), float(slope), bool(clipped)

    value, slope, clipped = run(PAPER)
    assert (value, slope) == pytest.approx(plain, rel=1e-6)
    assert clipped is (slope == 0 and advantage != 0)
    assert run(grpo_cases.HIGHER)[0] == pytest.approx(higher, rel=1e-6)
    assert run(grpo_cases.DUAL)[:2] == pytest.approx(dual, rel=1e-6)


def test_log_ratios_are_cut_where_the_preset_says():
    for name, expected in (("paper", np.exp(20)), ("trl", np.exp(80))):
        value, _ = grpo.surrogate(
            jnp.float32(100), jnp.float32(0), jnp.float32(-1), PRESETS[name]
        )
        assert -float(value) == pytest.approx(expected)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(0, 4))
def test_what_weights_add_up_to(lengths, elsewhere):
    """`elsewhere` samples of two tokens each belong to the step but are not packed."""
    samples, tokens = len(lengths) + elsewhere, sum(lengths) + 2 * elsewhere
    for aggregation in ("sequence", "token"):
        batch, packed = grpo.batch(
            [Example([1], [2] * n) for n in lengths],
            np.ones(len(lengths)),
            preset=dataclasses.replace(PAPER, aggregation=aggregation),
            samples=samples,
            tokens=tokens,
            row_tokens=6,
            row_multiple=8,
        )
        weights = np.asarray(batch.weights, np.float64)
        assert np.all((weights > 0) == packed.response)
        for index, length in enumerate(lengths):
            own = weights[packed.example == index]
            share = length / max(tokens, 1)
            if aggregation == "sequence":
                share = (length > 0) / samples
            assert own.sum() == pytest.approx(share, rel=1e-6)
            assert len(set(own[own > 0].tolist())) <= 1


def test_an_unknown_aggregation_is_explained():
    packed = pack([Example([1], [2])], row_tokens=2)
    with pytest.raises(UserError, match="must be 'sequence' or 'token', got 'batch'"):
        grpo.token_weights(packed, samples=1, aggregation="batch", tokens=1)


@pytest.mark.parametrize(("ids", "length", "mask"), grpo_cases.MASKS)
def test_a_response_ends_where_its_length_says(ids, length, mask):
    batch, packed = grpo.batch(
        [Example([7, 8], ids[:length])],
        np.ones(1),
        preset=PAPER,
        samples=1,
        tokens=length,
        row_tokens=9,
        row_multiple=1,
    )
    width = 2 + len(mask)
    trained = np.asarray(batch.weights)[0] > 0
    assert trained[:width].tolist() == [False, False, *map(bool, mask)]
    assert not trained[width:].any()
    assert packed.tokens[0, : 2 + length].tolist() == [7, 8, *ids[:length]]
    assert np.asarray(batch.advantages)[0, :width].tolist() == [0, 0, *mask]


def test_the_numbers_of_the_presets():
    """In the order of the fields of `Preset`."""
    free = float("inf")
    assert {name: dataclasses.astuple(preset) for name, preset in PRESETS.items()} == {
        "paper": (1, 1e-6, True, 0.2, 0.2, 20, free, 20, 10, "sequence", "step"),
        "verl": (1, 1e-6, True, 0.2, 0.2, 20, 3, 20, 10, "token", "step"),
        "trl": (1, 1e-4, True, 0.2, 0.2, *[free] * 4, "token", "step"),
        "open_instruct": (
            *(0, 1e-8, False, 0.2, 0.272, free, free, 40, free, "token", "trained"),
        ),
    }
