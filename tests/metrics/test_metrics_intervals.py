import numpy as np
import pytest

from routejax.errors import UserError
from routejax.metrics import intervals
from routejax.metrics.intervals import (
    bootstrap_mean,
    paired_bootstrap,
    resampled_means,
    t_interval,
    two_level_interval,
)


def rng(seed):
    return np.random.Generator(np.random.PCG64(seed))


def test_bootstrap_equals_a_slow_loop():
    values = rng(0).random(23)
    draw = rng(5)
    means = []
    for _ in range(400):
        picks = [int(draw.integers(23)) for _ in range(23)]
        means.append(sum(values[i] for i in picks) / 23)
    found = bootstrap_mean(values, seed=5, resamples=400)
    assert found.mean == pytest.approx(values.mean())
    assert found.lower == pytest.approx(np.quantile(means, 0.025), abs=1e-12)
    assert found.upper == pytest.approx(np.quantile(means, 0.975), abs=1e-12)
    assert (found.n, found.method) == (23, "bootstrap over questions")


def test_columns_share_their_draws():
    values = rng(1).random((31, 2))
    both = resampled_means(values, seed=3, resamples=50)
    for column in (0, 1):
        alone = resampled_means(values[:, [column]], seed=3, resamples=50)
        np.testing.assert_allclose(both[:, [column]], alone, atol=1e-14)


@pytest.mark.parametrize("block", [1, 100, 1 << 22])
def test_the_block_size_changes_nothing(monkeypatch, block):
    values, table = rng(2).random((17, 1)), rng(3).random((4, 17))
    expected = resampled_means(values, seed=8, resamples=101)
    both = two_level_interval(table, seed=8, resamples=101)
    monkeypatch.setattr(intervals, "BLOCK", block)
    found = resampled_means(values, seed=8, resamples=101)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    again = two_level_interval(table, seed=8, resamples=101)
    assert again[:3] == pytest.approx(both[:3], abs=1e-14)


def test_paired_bootstrap_takes_questions_together():
    a = rng(4).random(60)
    shifted = paired_bootstrap(a + 0.25, a, seed=0, resamples=300)
    # pairing leaves no spread at all; resampling the arms apart would leave much
    assert shifted[:3] == pytest.approx((0.25, 0.25, 0.25))
    assert shifted.method == "paired bootstrap over questions"
    assert shifted.excludes_zero
    assert not paired_bootstrap(a, a, seed=0, resamples=300).excludes_zero
    b = rng(6).random(60)
    forward = paired_bootstrap(a, b, seed=0, resamples=300)
    backward = paired_bootstrap(b, a, seed=0, resamples=300)
    assert forward.lower == pytest.approx(-backward.upper)


def test_t_interval_by_hand():
    # mean 3, sd sqrt(2.5), 4 degrees of freedom: t = 2.776445
    found = t_interval([1, 2, 3, 4, 5])
    half = 2.7764451052 * 2.5**0.5 / 5**0.5
    assert found[:4] == pytest.approx((3, 3 - half, 3 + half, 5))
    assert found.sd == pytest.approx(2.5**0.5)
    # two seeds: t(0.975, 1) = 12.7062
    two = t_interval([0.4, 0.6])
    assert two.upper == pytest.approx(0.5 + 12.7062047362 * 0.1, abs=1e-9)


def test_two_level_equals_a_slow_loop():
    table = rng(7).random((3, 5))
    streams = np.random.SeedSequence(9).spawn(2)
    of_seeds, of_questions = (np.random.Generator(np.random.PCG64(s)) for s in streams)
    means = []
    for _ in range(200):
        rows = of_seeds.integers(3, size=3)
        columns = of_questions.integers(5, size=5)
        means.append(np.mean([table[i, j] for i in rows for j in columns]))
    found = two_level_interval(table, seed=9, resamples=200)
    assert found.mean == pytest.approx(table.mean())
    assert found.lower == pytest.approx(np.quantile(means, 0.025), abs=1e-12)
    assert found.upper == pytest.approx(np.quantile(means, 0.975), abs=1e-12)
    assert found.n == 15


def test_two_level_is_wider_than_questions_alone_when_seeds_differ():
    questions = rng(10).random(200)
    table = questions + np.array([[-0.3], [0.0], [0.3]])
    both = two_level_interval(table, seed=1, resamples=2000)
    alone = bootstrap_mean(table.mean(axis=0), seed=1, resamples=2000)
    assert both.upper - both.lower > 3 * (alone.upper - alone.lower)


def test_bootstrap_covers_the_truth_about_as_often_as_it_says():
    truth, trials = 0.3, 400
    draw = rng(11)
    hits = 0
    for trial in range(trials):
        solved = draw.random(80) < truth
        found = bootstrap_mean(solved, seed=trial, resamples=400)
        hits += found.lower <= truth <= found.upper
    # percentile intervals of 80 coin flips cover a little less than 95 %
    assert 0.90 <= hits / trials <= 0.98


def test_t_interval_covers_the_truth():
    draw = rng(12)
    found = [t_interval(draw.normal(1.0, 2.0, 4)) for _ in range(800)]
    hits = np.mean([one.lower <= 1.0 <= one.upper for one in found])
    assert 0.93 <= hits <= 0.97


def test_level_moves_the_bounds():
    values = rng(13).random(50)
    wide = bootstrap_mean(values, seed=0, resamples=500, level=0.99)
    slim = bootstrap_mean(values, seed=0, resamples=500, level=0.8)
    assert wide.lower < slim.lower < slim.upper < wide.upper
    assert t_interval([1, 2, 3], level=0.99).upper > t_interval([1, 2, 3]).upper


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: paired_bootstrap([1, 2, 3], [1, 2], seed=0, resamples=9),
            "same questions, got 3 and 2",
        ),
        (lambda: t_interval([0.5]), "at least 2 seeds"),
        (lambda: bootstrap_mean([], seed=0, resamples=9), "one number per question"),
        (lambda: bootstrap_mean([1], seed=0, resamples=0), "resamples"),
        (lambda: bootstrap_mean([1], seed=0, resamples=9, level=95), "level"),
        (
            lambda: two_level_interval(np.zeros(3), seed=0, resamples=9),
            "table of seeds by questions",
        ),
    ],
)
def test_refuses(call, message):
    with pytest.raises(UserError, match=message):
        call()
