"""Supervised loss: response tokens only, all of one weight, against loops."""

import jax
import jax.numpy as jnp
import numpy as np
import numpy_llama
import optax
import pytest

from routejax import sft, update
from routejax.packing import Example
from routejax.scoring import Scores

EOS = 3
EXAMPLES = [
    Example([1, 7, 8, 9], [10, 11, 12, 10, EOS]),
    Example([1, 13], [14, EOS]),
    Example([1, 7, 15, 16, 9], [EOS]),
]


def batch(examples):
    return sft.batch(examples, row_tokens=16, row_multiple=5)


@pytest.fixture(scope="module")
def descend(student):
    """Slope and metrics of one step; at rate 1 parameters fall by their slope."""
    rule, loss = optax.sgd(1.0), sft.loss(student)

    def run(params, rows):
        state, metrics = update.train_step(loss, rule, update.start(params, rule), rows)
        slope = jax.tree.map(
            lambda before, after: np.float64(before) - np.float64(after),
            params,
            state.params,
        )
        return slope, {k: float(v) for k, v in metrics.items()}

    return run


def plain_loss(config, values, examples):
    """Mean over all response tokens, one example at a time."""
    total, count = 0.0, 0
    for prompt, response in examples:
        logps = numpy_llama.logps(config, values, [*prompt, *response])
        total -= logps[len(prompt) :].sum()
        count += len(response)
    return total / count


def test_loss_and_slope_equal_a_loop(student, params, descend):
    slope, metrics = descend(params, batch(EXAMPLES))
    values = numpy_llama.doubles(params)

    def plain(at):
        return plain_loss(student.config, at, EXAMPLES)

    assert metrics["loss"] == pytest.approx(plain(values), rel=1e-5)
    assert metrics["response_tokens"] == 8
    for path, index in (
        (("embedding",), (7, 3)),
        (("head",), (EOS, 1)),
        (("norm", "scale"), (7,)),
        (("blocks", "attention", "value", "kernel"), (1, 2, 5)),
        (("blocks", "mlp", "down", "kernel"), (0, 40, 30)),
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


def test_recorded_numbers(params, descend):
    """To 1e-4, as float32 sums differ between machines."""
    slope, metrics = descend(params, batch(EXAMPLES))
    assert metrics == pytest.approx(
        {"loss": 3.579237, "grad_norm": 12.18069, "response_tokens": 8}, rel=1e-4
    )
    norm = sum(np.sum(leaf**2) for leaf in jax.tree.leaves(slope)) ** 0.5
    assert metrics["grad_norm"] == pytest.approx(norm, rel=1e-5)
    found = [slope["embedding"][7, 3], slope["norm"]["scale"][7], slope["head"][EOS, 1]]
    assert found == pytest.approx([-0.4836307, 0.0492470, 0.0434008], rel=1e-3)


def test_prompts_are_not_learned(bigram, descend):
    """With a student that looks one token back, only what precedes a response counts.

    The slope of a head row is there for every id, as softmax has all of them; that of
    an embedding row only where its token was read.
    """
    rng = np.random.default_rng(0)
    params = bigram(rng.normal(size=(24, 24)))
    slope, _ = descend(params, batch(EXAMPLES))
    read = np.flatnonzero(np.abs(slope["embedding"]).max(1))
    # The last tokens of prompts, 9 and 13, and responses but for EOS, which ends them.
    assert read.tolist() == [9, 10, 11, 12, 13, 14]
    # Logits of ids that no response has are pushed down wherever something was read.
    assert np.all(slope["head"][[0, 1, 7, 8]][:, read] > 0)


def test_the_end_of_a_response_is_learned(bigram, descend):
    table = np.zeros((24, 24))
    table[14, EOS] = 2.0
    params = bigram(table)
    slope, metrics = descend(params, batch([Example([1, 13], [14, EOS])]))
    uniform, end = -np.log(24), 2 - np.log(23 + np.exp(2))
    assert metrics["loss"] == pytest.approx(-(uniform + end) / 2, rel=1e-5)
    assert slope["head"][EOS, 14] < 0
    _, cut = descend(params, batch([Example([1, 13], [14])]))
    assert cut["loss"] == pytest.approx(-uniform, rel=1e-5)
    assert (metrics["response_tokens"], cut["response_tokens"]) == (2, 1)


def test_padding_changes_nothing(params, descend):
    """Every batch here has rows of nothing else, and no 0/0 may come of them."""
    plain = batch(EXAMPLES)
    tokens = jnp.where(plain.rows.segments == 0, 23, plain.rows.tokens)
    filled = plain._replace(rows=plain.rows._replace(tokens=tokens))
    (one, _), (other, _) = descend(params, plain), descend(params, filled)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert np.isfinite(a).all()
        np.testing.assert_allclose(a, b, atol=2e-7)


@pytest.mark.parametrize("chosen", [[0], [0, 1], [0, 1, 2], [2]])
def test_weights_are_equal_and_sum_to_one(chosen):
    examples = [EXAMPLES[i] for i in chosen]
    weights = np.asarray(batch(examples).weights)
    count = sum(len(example.response) for example in examples)
    assert np.sum(weights > 0) == count
    np.testing.assert_allclose(weights[weights > 0], 1 / count, rtol=1e-6)


@pytest.mark.parametrize("junk", [-np.inf, np.inf, np.nan])
def test_scores_of_weight_zero_may_be_anything(student, monkeypatch, junk):
    """Neither the loss nor its slope by the scores sees them."""
    rows = batch(EXAMPLES)
    kept = rows.weights > 0

    def scored(_student, params, _rows):
        return Scores(params["logps"], jnp.zeros_like(params["logps"]))

    monkeypatch.setattr(sft, "score", scored)
    loss = sft.loss(student)
    logps = jnp.where(kept, -2.0, junk)
    (value, _), slope = jax.value_and_grad(loss, has_aux=True)({"logps": logps}, rows)
    assert float(value) == pytest.approx(2.0)
    np.testing.assert_allclose(slope["logps"], -rows.weights)


def test_the_same_student_gives_the_same_loss(student):
    assert sft.loss(student) is sft.loss(student)
