import json

import numpy as np
import pytest

from routejax.errors import UserError
from routejax.metrics import checkpoint_metrics, summarise_study

ENVS = ["sort", "walk", "count", "sort", "walk", "count"]
LEVELS = [1, 1, 1, 12, 12, 12]


def metrics(counts, *, samples=2, in_range=(1, 10), seen=("sort", "walk")):
    return checkpoint_metrics(
        counts=counts,
        samples=samples,
        envs=ENVS,
        difficulties=LEVELS,
        seen=list(seen),
        in_range=in_range,
        bootstrap_seed=0,
        resamples=50,
    )


def run(seed, sft, rl, **options):
    after = metrics(rl, **options) if rl else None
    return {"seed": seed, "sft": metrics(sft, **options), "rl": after}


DIVERSE = [
    run(0, [1, 0, 0, 0, 0, 0], [2, 2, 1, 1, 0, 0]),
    run(1, [1, 1, 0, 0, 0, 0], [2, 1, 1, 0, 1, 1]),
]
SIMILAR = [
    run(0, [1, 0, 0, 0, 0, 0], [2, 0, 0, 1, 0, 0]),
    run(1, [2, 1, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0]),
]


def summary(arms):
    return summarise_study(arms, resamples=200)


def test_two_seeds_by_hand():
    study = summary({"diverse": DIVERSE, "similar": SIMILAR})
    assert study["order"] == ["diverse", "similar"]
    assert (study["samples"], study["problems"]) == (2, 6)
    assert study["headline"] == "in_range"
    arm = study["arms"]["diverse"]
    assert arm["seeds"] == [0, 1]
    after = arm["cells"]["all"]["passN"]["rl"]
    # seed 0 solves 4 of 6, seed 1 solves 5 of 6
    assert after["mean"] == pytest.approx(0.75)
    half = 12.7062047362 * np.std([4 / 6, 5 / 6], ddof=1) / 2**0.5
    assert after["upper"] == pytest.approx(0.75 + half, abs=1e-6)
    assert (after["n"], after["method"]) == (2, "t over seeds")
    gain = arm["cells"]["all"]["passN"]["gain"]
    # 4 - 1 of 6 and 5 - 2 of 6: the same gain, so no spread
    assert gain["mean"] == gain["lower"] == gain["upper"] == 0.5
    pair = study["pairs"]["diverse|similar"]
    gap = pair["cells"]["in_range"]["passN"]["rl"]
    # in range: 3 - 1 of 3 and 3 - 2 of 3
    assert gap["mean"] == pytest.approx(0.5)
    assert pair["cells"]["all"]["acc1"]["sft"]["mean"] == round((0 - 1 / 12) / 2, 6)
    gained = pair["cells"]["all"]["acc1"]["gain"]["mean"]
    assert gained == pytest.approx((3 / 12 + 3 / 12 + 1 / 12) / 2, abs=1e-6)
    json.dumps(study, allow_nan=False)


def test_overlap_and_relative_gain_by_hand():
    pair = summary({"diverse": DIVERSE, "similar": SIMILAR})["pairs"]["diverse|similar"]
    overlap = pair["overlap"]["all"]
    assert overlap["by_seed"]["0"] == {
        "both": 2,
        "only_a": 2,
        "only_b": 0,
        "neither": 2,
        "retention": 1.0,
        "mcnemar": 0.5,
    }
    assert overlap["mean"]["both"] == 2.0
    assert overlap["mean"]["only_a"] == 2.5
    relative = pair["relative"]["passN"]
    # all: 4 and 5 of 6 against 2 and 2 of 6
    assert relative["cells"]["all"] == pytest.approx(100 * (4.5 / 2 - 1), abs=1e-4)
    assert relative["by_env"]["count"] is None  # similar solves none there
    # sort .75 .75, walk .75 .25, count .75 0: the means are .75 and 1/3
    assert relative["of_env_means"] == pytest.approx(125.0, abs=1e-4)


def test_one_seed_falls_back_to_questions():
    study = summary({"diverse": DIVERSE[:1], "similar": SIMILAR[:1]})
    arm = study["arms"]["diverse"]["cells"]["all"]["acc1"]["rl"]
    assert (arm["method"], arm["n"], arm["sd"]) == ("bootstrap over questions", 6, None)
    pair = study["pairs"]["diverse|similar"]
    gap = pair["cells"]["in_range"]["passN"]["rl"]
    assert gap["method"] == "paired bootstrap over questions"
    assert (gap["mean"], gap["n"]) == (pytest.approx(2 / 3, abs=1e-6), 3)
    assert pair["two_level"] is None
    assert "training was not repeated" in pair["verdict"]


def many(shift, seeds=4, questions=60):
    draw = np.random.Generator(np.random.PCG64(0))
    runs = []
    for seed in range(seeds):
        p = np.clip(draw.random(questions) * 0.4 + shift, 0, 1)
        found = {
            stage: checkpoint_metrics(
                counts=draw.binomial(4, p * scale),
                samples=4,
                envs=["sort", "walk"] * (questions // 2),
                difficulties=[1 + i % 15 for i in range(questions)],
                seen=["sort"],
                in_range=(1, 10),
                bootstrap_seed=0,
                resamples=20,
            )
            for stage, scale in (("sft", 0.5), ("rl", 1.0))
        }
        runs.append({"seed": seed, **found})
    return runs


def test_verdicts_say_who_leads_and_when_nobody_does():
    high, low = many(0.4), many(0.0)
    ahead = summary({"diverse": high, "similar": low})["pairs"]["diverse|similar"]
    assert ahead["verdict"].startswith("diverse leads similar by +")
    assert "points of in-range pass@4 (95 % interval " in ahead["verdict"]
    assert ahead["verdict"].endswith("4 seeds)")
    behind = summary({"similar": low, "diverse": high})["pairs"]["similar|diverse"]
    # the same sentence whichever arm stands first
    assert behind["verdict"] == ahead["verdict"]
    same = summary({"a": high, "b": high})["pairs"]["a|b"]["verdict"]
    assert same.startswith("no difference can be told between a and b")
    assert "+0.0 points, 95 % interval 0.0 to 0.0" in same


def test_two_level_interval_stands_beside_the_headline():
    study = summary({"diverse": many(0.4), "similar": many(0.0)})
    pair = study["pairs"]["diverse|similar"]
    gap = pair["cells"]["in_range"]["passN"]["rl"]
    assert pair["two_level"]["mean"] == pytest.approx(gap["mean"], abs=1e-6)
    assert pair["two_level"]["n"] == 4 * 40
    assert pair["two_level"]["method"] == "bootstrap over seeds and questions"


def test_curves_join_the_cells():
    study = summary({"diverse": many(0.4), "similar": many(0.0)[:1]})
    curve = study["arms"]["diverse"]["curves"]["unseen"]["rl"]
    assert curve["k"] == [1, 2, 3, 4]
    cells = study["arms"]["diverse"]["cells"]["unseen"]
    assert curve["mean"][0] == pytest.approx(cells["acc1"]["rl"]["mean"], abs=1e-5)
    assert curve["low"][3] == pytest.approx(cells["passN"]["rl"]["lower"], abs=1e-5)
    single = study["arms"]["similar"]["curves"]["all"]["sft"]
    stored = many(0.0)[0]["sft"]["cells"]["all"]
    assert single["low"] == list(stored["passk_low"].values())


def test_every_pair_once_in_the_order_of_the_arms():
    arms = {"c": DIVERSE, "a": SIMILAR, "b": SIMILAR}
    assert list(summary(arms)["pairs"]) == ["c|a", "c|b", "a|b"]
    assert summary({"only": DIVERSE})["pairs"] == {}


def test_seeds_of_one_arm_alone_are_named():
    study = summary({"diverse": DIVERSE, "similar": SIMILAR[:1]})
    pair = study["pairs"]["diverse|similar"]
    assert pair["seeds"] == [0]
    assert pair["unpaired"] == {"diverse": [1], "similar": []}
    assert "1 seed:" in pair["verdict"]
    assert study["arms"]["diverse"]["cells"]["all"]["acc1"]["rl"]["n"] == 2


def test_seeds_are_paired_by_number_not_by_position():
    turned = {"diverse": DIVERSE, "similar": SIMILAR[::-1]}
    straight = {"diverse": DIVERSE, "similar": SIMILAR}
    assert summary(turned)["pairs"] == summary(straight)["pairs"]


def test_a_stage_not_run_is_none_and_said():
    early = [run(0, [1, 0, 0, 0, 0, 0], None), run(1, [1, 1, 0, 0, 0, 0], None)]
    study = summary({"diverse": early, "similar": SIMILAR})
    cell = study["arms"]["diverse"]["cells"]["all"]["passN"]
    assert cell["rl"] is None
    assert cell["gain"] is None
    assert cell["sft"]["mean"] == 0.25
    pair = study["pairs"]["diverse|similar"]
    assert pair["overlap"] is None
    assert pair["relative"] == {"acc1": None, "passN": None}
    assert pair["cells"]["all"]["acc1"]["sft"] is not None
    assert "not run" in pair["verdict"]


def test_cells_without_questions_are_none():
    runs = [run(0, [1] * 6, [2] * 6, in_range=(1, 20))]
    study = summary({"a": runs, "b": runs})
    assert study["arms"]["a"]["cells"]["extrapolation"] is None
    assert study["arms"]["a"]["curves"]["extrapolation"] is None
    pair = study["pairs"]["a|b"]
    assert pair["cells"]["extrapolation"] is None
    assert pair["overlap"]["extrapolation"] is None
    outside = [run(0, [1] * 6, [2] * 6, in_range=(20, 30))]
    assert summary({"a": outside, "b": outside})["headline"] == "all"


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ({}, "at least one arm"),
        ({"a": []}, "one entry per training seed"),
        ({"a": [DIVERSE[0], DIVERSE[0]]}, r"got seeds \[0, 0\]"),
        ({"a": [{"seed": 0}]}, "no evaluated checkpoint"),
        ({"a": DIVERSE[:1], "b": SIMILAR[1:]}, "share no training seed"),
        (
            {"a": DIVERSE, "b": [run(0, [1] * 6, [1] * 6, samples=4)]},
            "equal samples per question, got 2 and 4",
        ),
        (
            {"a": DIVERSE, "b": [run(0, [1] * 6, [1] * 6, seen=["sort"])]},
            "must answer the same questions",
        ),
        (
            {"a": [DIVERSE[0], run(1, [1] * 6, [1] * 6, in_range=(1, 15))]},
            "arm a differ in membership",
        ),
    ],
)
def test_refuses(arms, message):
    with pytest.raises(UserError, match=message):
        summary(arms)
