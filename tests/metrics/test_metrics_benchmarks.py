import dataclasses
import json

import numpy as np
import pytest

from routejax.errors import UserError
from routejax.metrics import acc_at_1, pass_curve, relative_gain_of_means, resampling
from routejax.metrics.benchmarks import summarise_arm
from routejax.metrics.comparison import compare_arms
from routejax.metrics.intervals import resampled_means, t_interval
from routejax.metrics.resampling import crossed_means, question_means
from routejax.metrics.scored import Scored
from routejax.metrics.suite import Boot

FAST = Boot(seed=1, resamples=300)


def rng(seed):
    return np.random.Generator(np.random.PCG64(seed))


def scored(arm, benchmark, counts, samples, seed=0, **options):
    ids = tuple(f"{benchmark}-{i}" for i in range(len(counts)))
    return Scored(
        arm,
        benchmark,
        ids,
        np.array(counts),
        samples,
        {"temperature": 0.7},
        seed,
        **options,
    )


A = [scored("ours", "aime", [0, 1, 4, 2], 4), scored("ours", "amc", [2, 1], 2)]
B = [scored("base", "aime", [0, 0, 4, 1], 4), scored("base", "amc", [2, 2], 2)]


def test_resampling_in_kinds_has_the_distribution_of_resampling_questions():
    rows, kinds = np.array([[0.0], [1.0], [0.5]]), np.array([0, 0, 1, 2, 2, 2] * 4)
    values = rows[kinds, 0]
    found = question_means(rows, kinds, seed=3, resamples=40_000)[:, 0]
    picks = rng(4).integers(24, size=(40_000, 24))
    one_by_one = values[picks].mean(axis=1)
    at = [0.05, 0.25, 0.5, 0.75, 0.95]
    near = np.quantile(one_by_one, at)
    np.testing.assert_allclose(np.quantile(found, at), near, atol=1 / 48)
    assert found.mean() == pytest.approx(values.mean(), abs=0.003)
    assert found.std() == pytest.approx(values.std() / 24**0.5, rel=0.02)


@pytest.mark.parametrize("times", [1, 100])
def test_kinds_of_a_pair_stay_together(times):
    rows, kinds = np.array([[0.0, 0.5], [0.25, 0.75]]), np.array([0, 1, 1] * times)
    found = question_means(rows, kinds, seed=0, resamples=50)
    np.testing.assert_allclose(found[:, 1] - found[:, 0], 0.5)


@pytest.mark.parametrize("block", [1, 300])
def test_the_block_size_changes_nothing(monkeypatch, block):
    rows, kinds = rng(0).random((3, 2)), np.arange(60) % 3
    expected = question_means(rows, kinds, seed=0, resamples=101)
    monkeypatch.setattr(resampling, "BLOCK", block)
    found = question_means(rows, kinds, seed=0, resamples=101)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_few_questions_are_drawn_one_by_one():
    rows, kinds = rng(0).random((3, 2)), np.array([2, 0, 1, 1])
    found = question_means(rows, kinds, seed=5, resamples=30)
    expected = resampled_means(rows[kinds], seed=5, resamples=30)
    np.testing.assert_array_equal(found, expected)


def test_crossed_means_equal_a_slow_loop():
    table, sizes = rng(0).random((3, 5, 2)), np.array([1.0, 2, 1, 3, 1])
    seed, unit_seed = [7, 0], [7, 1, 99]
    of_seeds, of_units = rng(seed), rng(unit_seed)
    slow = []
    for _ in range(100):
        rows, units = of_seeds.integers(3, size=3), of_units.integers(5, size=5)
        summed = sum(table[s, u] for s in rows for u in units)
        slow.append(summed / (3 * sizes[units].sum()))
    boot = {"seed": seed, "unit_seed": unit_seed, "resamples": 100}
    np.testing.assert_allclose(crossed_means(table, sizes, **boot), slow, atol=1e-14)


def test_scores_by_hand():
    found = summarise_arm(A, boot=FAST)
    aime, amc = found["benchmarks"]["aime"], found["benchmarks"]["amc"]
    assert list(aime["passk"]) == ["1", "2", "4"]
    assert list(amc["passk"]) == ["1", "2"]
    assert (aime["questions"], aime["samples"]) == (4, 4)
    assert aime["passk"]["1"]["mean"] == round(7 / 16, 6)
    # k = 2 of 4: 0, 1/2, 1, and 1 - 1/6
    assert aime["passk"]["2"]["mean"] == round((1 / 2 + 1 + 5 / 6) / 4, 6)
    assert aime["passk"]["4"]["mean"] == 0.75
    assert aime["solved"] == [3]
    assert aime["groups"]["mixed"] == 0.5
    assert amc["passk"]["1"]["mean"] == 0.75
    # budgets of the mean are those that both benchmarks have
    assert list(found["mean"]["passk"]) == ["1", "2"]
    mean = found["mean"]["passk"]["1"]
    assert mean["mean"] == pytest.approx((7 / 16 + 3 / 4) / 2, abs=1e-6)
    assert (found["mean"]["benchmarks"], mean["n"]) == (2, 6)
    assert mean["lower"] < mean["mean"] < mean["upper"]
    assert found["pooled"] is None
    pooled = summarise_arm(A, [1], pooled=True, boot=FAST)["pooled"]
    expected = (4 * 7 / 16 + 2 * 3 / 4) / 6
    assert pooled["passk"]["1"]["mean"] == pytest.approx(expected, abs=1e-6)
    json.dumps(found, allow_nan=False)


def test_scores_agree_with_the_estimator():
    counts = rng(1).integers(0, 9, 50)
    found = summarise_arm([scored("a", "b", counts, 8)], boot=FAST)
    passk = found["benchmarks"]["b"]["passk"]
    curve = pass_curve(counts, 8)
    for k in (1, 2, 4, 8):
        assert passk[str(k)]["mean"] == pytest.approx(curve[k], abs=1e-6)
    assert passk["1"]["mean"] == pytest.approx(acc_at_1(counts, 8), abs=1e-6)


def test_relative_gains_of_a_hand_table():
    # C.5: cells 0.6 / 0.5 and 0.2 / 0.4, means 0.4 / 0.45, pooled (12 + 2) / (10 + 4)
    a = [scored("ours", "x", [6, 6], 10), scored("ours", "y", [2], 10)]
    b = [scored("base", "x", [5, 5], 10), scored("base", "y", [4], 10)]
    found = compare_arms(a, b, [1], pooled=True, boot=FAST)
    by = found["benchmarks"]
    assert by["x"]["relative"]["1"]["percent"] == pytest.approx(20.0)
    assert by["y"]["relative"]["1"]["percent"] == pytest.approx(-50.0)
    assert by["x"]["gap"]["1"]["mean"] == pytest.approx(0.1)
    of_means = found["mean"]["relative"]["1"]["percent"]
    assert of_means == pytest.approx(100 * (0.4 / 0.45 - 1), abs=1e-4)
    assert of_means == pytest.approx(
        relative_gain_of_means({"x": 0.6, "y": 0.2}, {"x": 0.5, "y": 0.4}), abs=1e-4
    )
    assert found["pooled"]["relative"]["1"]["percent"] == pytest.approx(0.0)
    assert found["mean"]["scores"]["1"] == {"a": 0.4, "b": 0.45}
    assert found["mean"]["gap"]["1"]["n"] == 3


def test_gaps_and_overlap_by_hand():
    found = compare_arms(A, B, boot=FAST)
    aime = found["benchmarks"]["aime"]
    assert aime["gap"]["4"]["mean"] == 0.25
    assert aime["gap"]["4"]["method"] == "paired bootstrap over questions"
    assert aime["overlap"]["0"] == {
        **dict(both=2, only_a=1, only_b=0, neither=1),
        **dict(retention=1.0, mcnemar=1.0),
    }
    assert found["benchmarks"]["amc"]["relative"]["1"]["percent"] == -25.0
    assert (found["seeds"], found["unpaired"]) == ([0], {"ours": [], "base": []})
    json.dumps(found, allow_nan=False)


def test_pairing_and_order():
    turned = [B[1], B[0].keep(np.array([3, 1, 0, 2]))]
    assert compare_arms(A, turned, boot=FAST) == compare_arms(A, B, boot=FAST)
    same = [dataclasses.replace(part, arm="twin") for part in A]
    gap = compare_arms(A, same, boot=FAST)["mean"]["gap"]["1"]
    assert gap["mean"] == gap["lower"] == gap["upper"] == 0.0


@pytest.mark.parametrize("seeds", [1, 2])
def test_bounds_of_a_relative_gain(seeds):
    # where b scores 1/2 on every question, a / b - 1 is twice the gap
    parts = {"ours": [], "base": []}
    for seed in range(seeds):
        counts = rng(seed).integers(0, 5, 40)
        parts["ours"].append(scored("ours", "x", counts, 4, seed))
        parts["base"].append(scored("base", "x", [2] * 40, 4, seed))
    found = compare_arms(parts["ours"], parts["base"], [1], boot=FAST)
    for cell in (found["benchmarks"]["x"], found["mean"]):
        gap, relative = cell["gap"]["1"], cell["relative"]["1"]
        bounds = gap if seeds == 1 else gap["two_level"]
        assert relative["percent"] == pytest.approx(200 * gap["mean"], abs=1e-3)
        for end in ("lower", "upper"):
            assert relative[end] == pytest.approx(200 * bounds[end], abs=1e-3)
        assert relative["lower"] < relative["percent"] < relative["upper"]


def test_an_arm_that_solves_nothing_has_no_relative_gain():
    none = [scored("base", "x", [0, 0], 4)]
    some = [scored("ours", "x", [1, 2], 4)]
    found = compare_arms(some, none, [1], boot=FAST)["benchmarks"]["x"]["relative"]["1"]
    assert found == {"percent": None, "lower": None, "upper": None}
    rare = [scored("base", "x", [0, 4], 4)]  # some resample draws the first one twice
    found = compare_arms(some, rare, [1], boot=FAST)["benchmarks"]["x"]["relative"]["1"]
    assert found == {"percent": -25.0, "lower": None, "upper": None}


SEEDS = {"ours": ([4, 1, 2], [3, 2, 2]), "base": ([1, 1, 2], [2, 0, 1])}


def several(arm, strata=None):
    envs = ("x", "x", "y")
    options = {"envs": envs, "strata": strata or {}}
    return [
        scored(arm, "aime", counts, 4, seed, **options)
        for seed, counts in enumerate(SEEDS[arm])
    ]


def test_training_seeds():
    found = summarise_arm(several("ours"), [1], boot=FAST)
    score = found["benchmarks"]["aime"]["passk"]["1"]
    by_seed = [7 / 12, 7 / 12]
    assert score["mean"] == pytest.approx(np.mean(by_seed), abs=1e-6)
    assert (score["n"], score["questions"], score["method"]) == (2, 3, "t over seeds")
    pair = compare_arms(several("ours"), several("base"), [1], boot=FAST)
    gap = pair["benchmarks"]["aime"]["gap"]["1"]
    wanted = t_interval([3 / 12, 4 / 12])
    assert gap["mean"] == pytest.approx(wanted.mean, abs=1e-6)
    assert gap["upper"] == pytest.approx(wanted.upper, abs=1e-5)
    assert gap["two_level"]["lower"] < gap["mean"] < gap["two_level"]["upper"]
    percent = pair["benchmarks"]["aime"]["relative"]["1"]["percent"]
    assert percent == pytest.approx(100 * (14 / 7 - 1))
    assert list(pair["benchmarks"]["aime"]["overlap"]) == ["0", "1"]


def test_seeds_are_paired_by_number():
    ours, base = several("ours"), several("base")
    straight = compare_arms(ours, base, boot=FAST)
    turned = compare_arms(ours, base[::-1], boot=FAST)
    assert turned == straight
    alone = compare_arms(ours, base[1:], boot=FAST)
    assert (alone["seeds"], alone["unpaired"]) == ([1], {"ours": [0], "base": []})
    assert alone["benchmarks"]["aime"]["gap"]["1"]["n"] == 3


def test_environments_are_drawn_whole():
    over = FAST._replace(over="environments")
    for parts in (several("ours")[:1], several("ours")):
        found = summarise_arm(parts, [1], boot=over)
        assert found["over"] == "environments"
    one = [dataclasses.replace(p, envs=("e",) * 3) for p in several("ours")[:1]]
    score = summarise_arm(one, [1], boot=over)["benchmarks"]["aime"]["passk"]["1"]
    assert score["lower"] == score["mean"] == score["upper"]
    assert score["method"] == "bootstrap over environments"
    pair = compare_arms(several("ours")[:1], several("base")[:1], [1], boot=over)
    gap = pair["benchmarks"]["aime"]["gap"]["1"]
    assert gap["method"] == "paired bootstrap over environments"


def test_cuts_are_cells_of_their_own():
    cut = {"split": ["seen", "unseen", "seen"]}
    ours, base = several("ours", cut)[:1], several("base", cut)[:1]
    found = summarise_arm(ours, boot=FAST)["benchmarks"]["aime"]["cuts"]["split"]
    assert list(found) == ["seen", "unseen"]
    assert (found["seen"]["questions"], found["unseen"]["questions"]) == (2, 1)
    assert found["seen"]["passk"]["1"]["mean"] == 0.75
    pair = compare_arms(ours, base, boot=FAST)
    seen = pair["benchmarks"]["aime"]["cuts"]["split"]["seen"]
    assert seen["gap"]["1"]["mean"] == 0.375
    assert seen["relative"]["1"]["percent"] == 100.0
    assert seen["overlap"]["0"]["both"] == 2


def test_benchmarks_of_one_size_do_not_share_draws():
    counts = rng(3).integers(0, 2, 60)
    twins = [scored("a", name, counts, 1) for name in ("x", "y")]
    found = summarise_arm(twins, boot=Boot(seed=0, resamples=2000))
    single, mean = found["benchmarks"]["x"]["passk"]["1"], found["mean"]["passk"]["1"]
    width = (mean["upper"] - mean["lower"]) / (single["upper"] - single["lower"])
    assert width == pytest.approx(0.5**0.5, rel=0.1)


LATER = scored("ours", "aime", [0, 1, 4, 2], 4, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: summarise_arm([]), "one scored benchmark or more, got none"),
        (
            lambda: summarise_arm([A[0], A[0]]),
            r"aime of arm ours \(seed 0\) is there tw",
        ),
        (lambda: summarise_arm([A[0], B[1]]), "entries of two arms, ours and base"),
        (lambda: summarise_arm([*A, LATER]), r"benchmark amc for seeds \[0\] and not"),
        (
            lambda: summarise_arm(A, [1, 4], boot=FAST),
            r"k must lie in 1..2, the samples per question of benchmark amc of arm",
        ),
        (lambda: summarise_arm(A, [], boot=FAST), "k must lie in"),
        (lambda: compare_arms(A, B, [3], boot=FAST), "benchmark amc of arm ours"),
        (lambda: compare_arms(A, B[:1]), "same benchmarks; only ours has amc"),
        (lambda: compare_arms(A[:1], B), "same benchmarks; only base has amc"),
        (
            lambda: compare_arms([LATER], B[:1]),
            r"share no training seed: \[1\] and \[0\]",
        ),
        (
            lambda: compare_arms(A[:1], [scored("base", "aime", [0, 1], 4)]),
            r"2 question\(s\) of the first are not among those of the other: aime-2, a",
        ),
        (
            lambda: compare_arms(A[:1], [scored("base", "aime", [0] * 4, 8)]),
            "4 and 8 samples per question",
        ),
        (
            lambda: summarise_arm(A, boot=FAST._replace(over="environments")),
            "names no environments",
        ),
        (
            lambda: summarise_arm(A, boot=FAST._replace(over="prompts")),
            "over must be one of questions, environments, got 'prompts'",
        ),
    ],
)
def test_refuses(call, message):
    with pytest.raises(UserError, match=message):
        call()
