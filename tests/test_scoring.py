"""Scores of packed rows: the shift by one, the borders, the temperature."""

import jax.numpy as jnp
import jaxtyping
import numpy as np
import numpy_llama
import pytest

from routejax import scoring
from routejax.packing import Example, pack
from routejax.scoring import Rows, score

ROWS, LENGTH = 5, 16


@pytest.fixture(scope="module")
def examples():
    """Five that fit in two rows, so that every row has a border and padding."""
    rng = np.random.default_rng(4)

    def draw(count):
        return rng.integers(1, 24, count).tolist()

    return [
        Example(draw(p), draw(r)) for p, r in [(4, 5), (1, 4), (3, 3), (2, 6), (1, 1)]
    ]


def rows(examples, filler=0):
    """Rows of one compiled shape, padding overwritten by `filler`."""
    packed = pack(examples, row_tokens=LENGTH, row_multiple=ROWS)
    packed.tokens[packed.segments == 0] = filler
    return packed, scoring.rows(packed)


def test_a_row_scores_what_its_examples_score_apart(student, params, examples):
    packed, together = rows(examples)
    assert packed.segments.max(1).tolist() == [2, 3, 0, 0, 0]
    scores = [np.asarray(x) for x in score(student, params, together)]
    for index, example in enumerate(examples):
        _, alone = rows([example])
        expected = [np.asarray(x) for x in score(student, params, alone)]
        inside = (packed.example == index) & (packed.positions > 0)
        count = int(inside.sum())
        for found, wanted in zip(scores, expected, strict=True):
            np.testing.assert_allclose(
                found[inside], wanted[0, 1 : 1 + count], atol=1e-5
            )


def test_scores_equal_loops_in_numpy(student, params, examples):
    packed, together = rows(examples)
    found = np.asarray(score(student, params, together, 0.7).logps)
    plain = numpy_llama.doubles(params)
    for index, (prompt, response) in enumerate(examples):
        inside = (packed.example == index) & (packed.positions > 0)
        expected = numpy_llama.logps(student.config, plain, [*prompt, *response], 0.7)
        np.testing.assert_allclose(found[inside], expected[1:], atol=2e-5)


def test_padding_changes_nothing_and_is_finite(student, params, examples):
    packed, blank = rows(examples)
    _, filled = rows(examples, filler=23)
    real = packed.segments > 0
    scores = [score(student, params, batch) for batch in (blank, filled)]
    for pair in zip(*scores, strict=True):
        one, other = map(np.asarray, pair)
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one[:, 0], 0)
        np.testing.assert_array_equal(one[real], other[real])


def test_the_shift_by_hand(student, bigram):
    """Logits after token t score token t + 1; other ids are out of reach."""
    table = np.full((24, 24), -1e9)
    table[1, :4] = [0, 1, 0, 0]
    table[0, :4] = [2, 0, 0, 0]
    table[2, :4] = [0, 0, 3, 0]
    table[3, :4] = [0, 0, 0, 1]
    packed, batch = rows([Example([1], [0, 2, 3])])
    scores = score(student, bigram(table), batch)
    np.testing.assert_allclose(
        scores.logps[0, :4], [0, -1.743668381, -2.340752954, -3.139206314], rtol=1e-5
    )
    assert packed.response[0, :5].tolist() == [False, True, True, True, False]
    # Entropy of (1, e, 1, 1)/(3 + e) and its like, in the same places.
    for t, peak in enumerate([1.0, 2.0, 3.0], 1):
        p = np.exp([peak, 0, 0, 0]) / np.exp([peak, 0, 0, 0]).sum()
        assert scores.entropy[0, t] == pytest.approx(-(p * np.log(p)).sum(), rel=1e-5)


@pytest.mark.parametrize(
    ("temperature", "logp"),
    [(1.0, -0.4076059644), (0.5, -0.1429316285), (0.6, -0.2025730998)],
)
def test_temperature_divides_the_logits(student, bigram, temperature, logp):
    table = np.full((24, 24), -1e9)
    table[:, :3] = [2, 1, 0]
    _, batch = rows([Example([5], [0, 0])])
    scores = score(student, bigram(table), batch, temperature)
    np.testing.assert_allclose(scores.logps[0, :3], [0, logp, logp], rtol=1e-5)
    p = np.exp(np.array([2, 1, 0]) / temperature)
    p /= p.sum()
    entropy = -(p * np.log(p)).sum()
    np.testing.assert_allclose(scores.entropy[0, 1:3], entropy, rtol=1e-5)


def test_shapes_are_checked_in_tests(student, params):
    """The annotations of these rooms are enforced here, not merely written."""
    row = jnp.zeros((2, 3), jnp.int32)
    with pytest.raises(jaxtyping.TypeCheckError):
        score(student, params, Rows(row[0], row, row))
    with pytest.raises(jaxtyping.TypeCheckError):
        score(student, params, Rows(row.astype(jnp.float32), row, row))
