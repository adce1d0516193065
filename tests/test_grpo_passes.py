"""Any split of a step into passes over its rows: the same loss, slope and metrics."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from grpo_batches import unigram

from routejax import grpo, update
from routejax.grpo import PRESETS
from routejax.packing import Example

ROWS, WORDS = 12, 6
RULE = optax.sgd(1.0)  # parameters fall by their slope


def ragged_batch(seed, name, updates):
    """Twelve responses of 0 to 5 tokens in 12 rows, some of them of nothing else."""
    rng = np.random.default_rng(seed)
    preset = PRESETS[name]
    lengths = rng.integers(0, 6, 12)
    lengths[rng.integers(12)] = 5
    rewards = rng.integers(0, 2, (3, 4)).astype(float)
    advantage = grpo.advantages(
        rewards, ddof=preset.ddof, eps=preset.eps, divide_by_std=preset.divide_by_std
    )
    batch, packed = grpo.batch(
        [Example([1], rng.integers(0, WORDS, n).tolist()) for n in lengths],
        advantage.ravel(),
        preset=preset,
        samples=12,
        tokens=int(lengths.sum()),
        row_tokens=8,
        row_multiple=ROWS,
    )

    def near(spread):
        noise = rng.normal(0, spread, packed.tokens.shape)
        return jnp.asarray(np.log(1 / WORDS) + noise, jnp.float32)

    batch = batch._replace(ref_logps=near(0.5), sampler_logps=near(0.4))
    return batch._replace(old_logps=near(0.3)) if updates else batch


def stepped(name, cap, batch, pass_rows):
    params = {"logits": jnp.asarray([0.3, -0.2, 0.1, 0.0, 0.4, -0.5])}
    state, metrics = update.train_step(
        unigram(name, cap), RULE, update.start(params, RULE), batch, pass_rows=pass_rows
    )
    slope = np.asarray(params["logits"]) - np.asarray(state.params["logits"])
    return slope, {key: float(value) for key, value in metrics.items()}


@pytest.mark.parametrize(("updates", "cap"), [(False, None), (True, 1.2)])
@pytest.mark.parametrize("name", PRESETS)
def test_passes_change_neither_loss_nor_slope_nor_metrics(name, updates, cap):
    moved = 0.0
    for seed in range(8):
        batch = ragged_batch(seed, name, updates)
        whole, metrics = stepped(name, cap, batch, None)
        moved += np.abs(whole).max()
        for pass_rows in (6, 4, 1):
            slope, found = stepped(name, cap, batch, pass_rows)
            np.testing.assert_allclose(slope, whole, rtol=1e-4, atol=1e-6)
            assert found == pytest.approx(metrics, rel=1e-4, abs=1e-6)
    assert moved > 0.1


@pytest.mark.parametrize("name", PRESETS)
def test_rows_may_be_dealt_in_any_order(name):
    batch = ragged_batch(3, name, True)
    order = np.random.default_rng(1).permutation(ROWS)
    dealt = jax.tree.map(lambda x: x[order], batch)
    for pass_rows in (None, 4):
        one, other = (stepped(name, 1.2, b, pass_rows) for b in (batch, dealt))
        np.testing.assert_allclose(one[0], other[0], rtol=1e-4, atol=1e-6)
        assert one[1] == pytest.approx(other[1], rel=1e-4, abs=1e-6)
