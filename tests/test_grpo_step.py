"""One GRPO step of a student: recorded numbers, and slopes of a loop in float64."""

import jax
import numpy as np
import numpy_llama
import optax
import pytest

from routejax import grpo, scoring, update
from routejax.packing import Example

PAPER = grpo.PRESETS["paper"]
TEMPERATURE, BETA = 0.8, 0.05


@pytest.fixture(scope="module")
def examples():
    """Two prompts with two samples each, of 5, 2, 1 and 7 tokens."""
    rng = np.random.default_rng(11)
    return [
        Example(prompt, rng.integers(4, 24, n).tolist())
        for prompt, lengths in (([1, 6, 9], (5, 2)), ([1, 12], (1, 7)))
        for n in lengths
    ]


@pytest.fixture(scope="module")
def step(student, params, examples):
    """Advantages, log-probabilities of the reference by sample, slope and metrics.

    The rule is gradient descent at rate 1, so parameters fall by their slope.
    """
    advantage = grpo.advantages(np.array([[1.0, 0], [0, 1]]), ddof=1, eps=1e-6).ravel()
    batch, packed = grpo.batch(
        examples,
        advantage,
        preset=PAPER,
        samples=4,
        tokens=15,
        row_tokens=16,
        row_multiple=5,
    )
    other = jax.tree.map(lambda leaf: leaf * 1.1, params)
    ref, old = (
        scoring.score(student, weights, batch.rows, TEMPERATURE).logps
        for weights in (other, params)
    )
    batch = batch._replace(ref_logps=ref, sampler_logps=old)
    loss = grpo.loss(student, PAPER, beta=BETA, temperature=TEMPERATURE)
    rule = optax.sgd(1.0)
    state, metrics = update.train_step(loss, rule, update.start(params, rule), batch)
    slope = jax.tree.map(
        lambda before, after: np.float64(before) - np.float64(after),
        params,
        state.params,
    )
    by_sample = [
        np.asarray(ref)[packed.response & (packed.example == n)] for n in range(4)
    ]
    return advantage, by_sample, slope, {k: float(v) for k, v in metrics.items()}


def test_the_slope_is_that_of_reinforce_with_kl(student, params, examples, step):
    """On policy the ratio is one, so Σ w (Â log π − β k3) has the same slope."""
    advantage, ref, slope, _ = step

    def plain(values):
        total = 0.0
        for (prompt, response), a, lp_ref in zip(examples, advantage, ref, strict=True):
            ids = [*prompt, *response]
            logps = numpy_llama.logps(student.config, values, ids, TEMPERATURE)
            logps = logps[len(prompt) :]
            d = lp_ref - logps
            total -= np.mean(a * logps - BETA * (np.exp(d) - d - 1)) / 4
        return total

    values = numpy_llama.doubles(params)
    for path, index in (
        (("embedding",), (6, 3)),
        (("head",), (12, 0)),
        (("norm", "scale"), (7,)),
        (("blocks", "attention", "key", "kernel"), (0, 2, 5)),
        (("blocks", "mlp", "gate", "kernel"), (1, 30, 40)),
    ):
        found = slope
        for name in path:
            found = found[name]
        expected = numpy_llama.slope(plain, values, path, index)
        assert abs(expected) > 1e-5
        assert found[index] == pytest.approx(expected, rel=2e-3, abs=2e-7), path
    # Along a random direction, which no leaf escapes.
    rng = np.random.default_rng(0)
    tilt = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape), params)
    products = jax.tree.map(lambda a, b: np.sum(a * b), slope, tilt)
    along = sum(jax.tree.leaves(products))
    assert along == pytest.approx(numpy_llama.tilted(plain, values, tilt), rel=1e-3)


def test_recorded_numbers(step):
    """To 1e-4, as float32 sums differ between machines."""
    _, _, slope, metrics = step
    assert metrics == pytest.approx(
        {
            "loss": 0.00902708,
            "grad_norm": 9.648795,
            "kl": 0.2100800,
            "entropy": 2.567837,
            "clip_share": 0.0,
            "logp_gap": 0.0,
            "logp_gap_mean": 0.0,
            "sampler_kl": 0.0,
            "trained_tokens": 15,
        },
        rel=1e-4,
        abs=1e-6,
    )
    found = [
        slope["embedding"][6, 3],
        slope["head"][12, 0],
        slope["blocks"]["attention"]["out"]["kernel"][1, 3, 4],
    ]
    assert found == pytest.approx([-0.1912350, -0.0320982, -0.0440929], rel=1e-3)
