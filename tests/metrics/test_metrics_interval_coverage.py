"""How often 95 % intervals hold the truth, on data whose truth is known."""

import numpy as np

from routejax.metrics import Boot, Scored, compare_arms
from routejax.metrics.clusters import resampled_cluster_means
from routejax.metrics.intervals import (
    paired_bootstrap,
    percentile_bounds,
    resampled_means,
)

TRIALS = 1200  # 95 % within 0.6 points, one standard error


def rng(seed):
    return np.random.Generator(np.random.PCG64(seed))


def covered(bounds, truth):
    low, high = bounds
    return float(np.mean((low <= truth) & (truth <= high)))


def test_over_questions():
    # Every column is an experiment of its own; columns share draws, which is no matter.
    p = rng(0).beta(0.6, 0.9, (250, TRIALS))
    solved = rng(1).random(p.shape) < p
    means = resampled_means(solved.astype(float), seed=2, resamples=600)
    assert 0.93 <= covered(percentile_bounds(means), 0.6 / 1.5) <= 0.97


def test_over_paired_questions():
    draw, hits, trials = rng(3), 0, TRIALS // 2
    for trial in range(trials):
        p = draw.beta(0.6, 0.9, 200)
        b = draw.binomial(8, p) / 8
        a = draw.binomial(8, 0.9 * p + 0.1) / 8  # on average 0.1 (1 - 0.4) better
        found = paired_bootstrap(a, b, seed=trial, resamples=400)
        hits += found.lower <= 0.06 <= found.upper
    assert 0.93 <= hits / trials <= 0.97


def test_of_gaps_and_relative_gains_of_means():
    # two benchmarks of unequal size; means of p 0.46 and 0.4, so 15 percent
    draw, hits, trials = rng(7), np.zeros(2), TRIALS // 2
    for trial in range(trials):
        arms = {"a": [], "b": []}
        for name, size in (("x", 300), ("y", 150)):
            ids = tuple(map(str, range(size)))
            p = draw.beta(0.6, 0.9, size)
            for arm, chance in (("a", 0.9 * p + 0.1), ("b", p)):
                arms[arm].append(Scored(arm, name, ids, draw.binomial(4, chance), 4))
        boot = Boot(seed=trial, resamples=300)
        found = compare_arms(arms["a"], arms["b"], [1], boot=boot)["mean"]
        gap, gain = found["gap"]["1"], found["relative"]["1"]
        hits += (
            gap["lower"] <= 0.06 <= gap["upper"],
            gain["lower"] <= 15.0 <= gain["upper"],
        )
    assert (np.abs(hits / trials - 0.95) <= 0.02).all()


def test_over_environments_but_not_over_their_questions():
    envs = np.repeat(np.arange(100), 4)
    shift = rng(4).normal(0.0, 1.0, (100, TRIALS))
    values = shift[envs] + rng(5).normal(0.0, 0.5, (400, TRIALS))
    boot = {"seed": 6, "resamples": 500}
    by_env = resampled_cluster_means(values, list(envs), **boot)
    assert 0.93 <= covered(percentile_bounds(by_env), 0.0) <= 0.97
    by_question = resampled_means(values, **boot)
    assert covered(percentile_bounds(by_question), 0.0) < 0.8
