"""Which ids may be drawn: by hand, against numpy, and over the vocabulary's order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from routejax.draw import FULL, Truncation, draw, kept, require_possible
from routejax.errors import UserError
from routejax.sampler import request_keys

# Chances by hand, likeliest first at id 1: 0.4 0.3 0.2 0.1.
CHANCE = np.array([0.2, 0.4, 0.1, 0.3])
LOGP = jnp.log(jnp.asarray(CHANCE, jnp.float32))[None]


def ids(logp, **limits):
    return set(np.flatnonzero(np.asarray(kept(logp, Truncation(**limits))[0])).tolist())


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({}, {0, 1, 2, 3}),
        ({"top_k": 1}, {1}),
        ({"top_k": 3}, {0, 1, 3}),
        ({"top_k": 4}, {0, 1, 2, 3}),
        ({"top_k": 9}, {0, 1, 2, 3}),
        ({"top_p": 0.01}, {1}),  # never empty
        ({"top_p": 0.39}, {1}),
        ({"top_p": 0.41}, {1, 3}),  # the id that reaches it stays
        ({"top_p": 0.69}, {1, 3}),
        ({"top_p": 0.71}, {0, 1, 3}),
        ({"min_p": 0.24}, {0, 1, 2, 3}),  # 0.1 is a quarter of 0.4
        ({"min_p": 0.26}, {0, 1, 3}),
        ({"min_p": 0.51}, {1, 3}),
        ({"min_p": 1.0}, {1}),
        # Of what top-k leaves, 0.4 is 4/7 and reaches 0.57.
        ({"top_k": 2, "top_p": 0.57}, {1}),
        ({"top_p": 0.57}, {1, 3}),
        # Before min-p leaves ids out, three are needed to reach 0.8; after it, two of
        # 4/7 and 3/7 would be.
        ({"top_p": 0.8, "min_p": 0.3}, {0, 1, 3}),
        ({"top_k": 3, "top_p": 0.9, "min_p": 0.6}, {1, 3}),
    ],
)
def test_which_ids_are_left_by_hand(limits, left):
    assert ids(LOGP, **limits) == left


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"top_k": 1}, {0, 3}),
        ({"top_k": 2}, {0, 3}),
        ({"top_k": 3}, {0, 1, 2, 3}),
        ({"top_p": 0.2}, {0, 3}),
        ({"top_p": 0.59}, {0, 3}),
        ({"top_p": 0.61}, {0, 1, 2, 3}),
        ({"min_p": 1.0}, {0, 3}),
    ],
)
def test_ids_that_tie_stay_or_go_together(limits, left):
    """0.3 0.15 0.15 0.3 and one of 0.1."""
    logp = jnp.log(jnp.asarray([[0.3, 0.15, 0.15, 0.3, 0.1]], jnp.float32))
    assert ids(logp, **limits) == left


def reference(chance, top_k, top_p, min_p):
    """The ids left by each rule in turn, in float64, an id at a time."""
    left = list(range(len(chance)))
    if top_k:
        bound = sorted(chance)[-min(top_k, len(chance))]
        left = [i for i in left if chance[i] >= bound]
    total = sum(chance[i] for i in left)
    likelier = {i: sum(chance[j] for j in left if chance[j] > chance[i]) for i in left}
    left = [i for i in left if likelier[i] / total < top_p]
    highest = max(chance)
    return {i for i in left if chance[i] >= min_p * highest}


def test_many_distributions_against_numpy():
    """Peaked and flat ones, every rule alone and together."""
    rng = np.random.default_rng(0)
    for case in range(60):
        logits = rng.normal(size=37) * rng.choice([0.3, 2.0, 8.0])
        chance = np.exp(logits - logits.max())
        chance /= chance.sum()
        limits = Truncation(
            top_k=int(rng.choice([0, 1, 5, 20])),
            top_p=float(rng.choice([1.0, 0.93, 0.5, 0.07])),
            min_p=float(rng.choice([0.0, 0.021, 0.3])),
        )
        logp = jnp.asarray(np.log(chance), jnp.float32)[None]
        assert ids(logp, **limits._asdict()) == reference(chance, *limits), case


def drawn(logits, count, temperature=1.0, truncation=FULL, seed=0):
    """Ids and log-probabilities of many requests with the same logits."""
    number = np.arange(count, dtype=np.uint32)
    rows = jnp.broadcast_to(jnp.asarray(logits, jnp.float32), (count, len(logits)))
    keys = request_keys(seed, 0, number, np.zeros_like(number))
    call = jax.jit(draw, static_argnames="truncation")
    ages = jnp.zeros(count, jnp.int32)
    return map(np.asarray, call(rows, keys, ages, temperature, truncation=truncation))


@pytest.mark.parametrize(
    "limits",
    [
        FULL,
        Truncation(top_k=6),
        Truncation(top_p=0.8),
        Truncation(min_p=0.15),
        Truncation(12, 0.9, 0.05),
    ],
)
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_draws_follow_the_truncated_distribution(limits, temperature):
    """By chi-square; and the log-probabilities are those of all ids."""
    logits = np.random.default_rng(1).normal(size=24) * 1.5
    chance = np.exp(logits / temperature)
    chance /= chance.sum()
    left = sorted(reference(chance, *limits))
    tokens, logps = drawn(logits, 4000, temperature, limits)
    assert set(tokens.tolist()) <= set(left)
    np.testing.assert_allclose(logps, np.log(chance)[tokens], atol=1e-5)
    expected = chance[left] / chance[left].sum() * len(tokens)
    seen = np.bincount(tokens, minlength=24)[left].astype(float)
    rare = expected < 8
    if rare.any():
        expected = np.append(expected[~rare], expected[rare].sum())
        seen = np.append(seen[~rare], seen[rare].sum())
    assert chisquare(seen, expected).pvalue > 1e-3


def test_an_id_without_a_chance_is_never_drawn():
    """Islands in a large vocabulary, where rounded sums of prefixes rise and fall."""
    rng = np.random.default_rng(3)
    logits = np.full(5000, -np.inf)
    islands = rng.choice(5000, 400, replace=False)
    logits[islands] = rng.normal(size=400)
    tokens, logps = drawn(logits, 3000)
    assert np.isin(tokens, islands).all()
    assert np.isfinite(logps).all()
    assert len(np.unique(tokens)) > 300


def test_the_first_and_the_last_id_are_drawn_where_alone():
    for only in (0, 23):
        logits = np.full(24, -np.inf)
        logits[only] = 3.0
        tokens, logps = drawn(logits, 50)
        assert (tokens == only).all()
        np.testing.assert_allclose(logps, 0, atol=1e-6)


def test_temperature_zero_takes_the_likeliest_of_equals_the_first():
    logits = [0.5, 2.0, -1.0, 2.0]
    tokens, logps = drawn(logits, 20, 0.0)
    assert (tokens == 1).all()
    chance = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(logps, np.log(chance[1]), atol=1e-6)  # at temperature 1
    tokens, _ = drawn(logits, 20, 0.0, Truncation(3, 0.5, 0.5))
    assert (tokens == 1).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_p": float("nan")},
        {"min_p": -0.1},
        {"min_p": 1.5},
    ],
)
def test_a_truncation_out_of_range_is_refused(wrong):
    require_possible(Truncation())
    with pytest.raises(UserError, match="top_k must be at least 0, top_p above 0"):
        require_possible(Truncation(**wrong))
