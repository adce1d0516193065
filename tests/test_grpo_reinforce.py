"""Expected slopes over every possible group, against REINFORCE worked out apart.

The student is a table of logits by the token before; every response is enumerated, and
every group of samples with its probability, so that nothing is left to chance.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from routejax import grpo
from routejax.grpo import PRESETS
from routejax.packing import Example

START, END, WORDS, LONGEST = 3, 0, 3, 2  # ids 0, 1, 2; a response is at most two
TABLE = np.array(
    [[0.0, 0, 0], [0.4, -0.3, 0.2], [-0.6, 0.5, 0.1], [0.2, 0.7, -0.4]], np.float64
)
LOGP = TABLE - np.log(np.exp(TABLE).sum(1, keepdims=True))


def responses(fixed):
    """Every response with its probability; `fixed`: no id ends one early."""
    found = {}
    for ids in itertools.product(range(WORDS), repeat=LONGEST):
        row = ids if fixed or END not in ids else ids[: ids.index(END) + 1]
        found[row] = np.exp(sum(LOGP[a, b] for a, b in steps(row)))
    assert sum(found.values()) == pytest.approx(1)
    return found


def steps(row):
    """Pairs of a token and the one before."""
    return list(zip((START, *row[:-1]), row, strict=True))


def reward(row):
    """Binary, and not a function of the first token or of the length alone."""
    return float(sum(row) % 2 == 1 or row == (END,))


def expected_slope(groups, preset):
    """Σ over groups of probability · slope of the loss by the table."""
    parts = []
    for rows, chance in groups:
        rewards = np.array([[reward(row) for row in rows]])
        advantage = grpo.advantages(
            rewards,
            ddof=preset.ddof,
            eps=preset.eps,
            divide_by_std=preset.divide_by_std,
        )
        batch, _ = grpo.batch(
            [Example([START], list(row)) for row in rows],
            advantage[0],
            preset=preset,
            samples=len(rows),
            tokens=sum(map(len, rows)),
            row_tokens=1 + LONGEST,
            row_multiple=len(rows),
        )
        parts.append(batch._replace(weights=chance * batch.weights))
    whole = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)

    def loss(table):
        logp = jax.nn.log_softmax(table)
        tokens = whole.rows.tokens
        logps = jnp.pad(logp[tokens[:, :-1], tokens[:, 1:]], ((0, 0), (1, 0)))
        return grpo.token_loss(logps, jnp.zeros_like(logps), whole, preset, 0.0)[0]

    return jax.grad(loss)(jnp.asarray(TABLE, jnp.float32))


def grouped(size, fixed=False):
    known = responses(fixed)
    return [
        (rows, np.prod([known[row] for row in rows]))
        for rows in itertools.product(known, repeat=size)
    ]


def reinforce(groups, preset):
    """−Σ weight (r − baseline)/scale ∇ log π by the rule for a softmax, in loops."""
    slope = np.zeros_like(TABLE)
    for rows, chance in groups:
        rewards = np.array([reward(row) for row in rows])
        scale = rewards.std(ddof=preset.ddof) + preset.eps
        scale = scale if preset.divide_by_std else 1.0
        for row, own in zip(rows, rewards, strict=True):
            weight = 1 / sum(map(len, rows))
            if preset.aggregation == "sequence":
                weight = 1 / len(row) / len(rows)
            for before, token in steps(row):
                ascent = (np.arange(WORDS) == token) - np.exp(LOGP[before])
                signal = weight * (own - rewards.mean()) / scale
                slope[before] -= chance * signal * ascent
    return slope


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", PRESETS)
def test_the_expected_slope_is_that_of_reinforce(name, size):
    groups = grouped(size)
    assert len(groups) == 7**size
    found = expected_slope(groups, PRESETS[name])
    expected = reinforce(groups, PRESETS[name])
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("size", [2, 3])
def test_centred_rewards_climb_the_expected_reward(size):
    """With one length, −(1 − 1/G)/|y| ∇ E[r]: a mean with the sample itself in it."""

    def mean_reward(table):
        logp = jax.nn.log_softmax(table)
        chances = [
            (jnp.exp(sum(logp[a, b] for a, b in steps(row))), reward(row))
            for row in itertools.product(range(WORDS), repeat=LONGEST)
        ]
        return sum(chance * own for chance, own in chances)

    climb = jax.grad(mean_reward)(jnp.asarray(TABLE, jnp.float32))
    preset = PRESETS["open_instruct"]
    found = expected_slope(grouped(size, fixed=True), preset)
    expected = -(1 - 1 / size) / LONGEST * np.asarray(climb)
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
