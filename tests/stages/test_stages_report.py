"""Arms that did not follow one recipe are not compared; curves and times by hand."""

import json

import pytest
from smoke_config import run_in

from routejax.errors import UserError
from routejax.stages import report

STAGES = ("sft", "evaluate_sft", "grpo", "evaluate_grpo")


@pytest.fixture
def run(tmp_path):
    """A run of two arms and seeds that has recorded its recipes and nothing else."""
    found = run_in(tmp_path, seeds=(0, 1))
    for arm in found.config["arms"]:
        for seed in (0, 1):
            for stage in STAGES:
                recipe = {"seed": seed, "settings": {"a": 1, "b": [1, 2]}}
                record(found, arm, seed, stage, recipe)
    return found


def record(run, arm, seed, stage, recipe):
    folder = run.arm(arm, seed) / stage
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.json").write_text(json.dumps(recipe))


def test_equal_recipes_pass(run):
    report._require_matched(run)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_field_that_differs_is_named_with_both_arms(seed, stage, run):
    record(run, "similar", seed, stage, {"seed": seed, "settings": {"a": 2, "b": [1]}})
    with pytest.raises(UserError) as caught:
        report.write_results(run)
    said = str(caught.value)
    assert said.startswith("arms diverse and similar did not follow one recipe")
    at = f"seed_{seed}.{stage}.settings"
    assert f"{at}.a: 1 in diverse, 2 in similar" in said
    assert f"{at}.b: [1, 2] in diverse, [1] in similar" in said
    assert not (run.root / "results.json").exists()
    assert not (run.root / "report.html").exists()


def test_every_arm_is_compared_with_the_first(tmp_path, run):
    three = run_in(tmp_path, seeds=(0, 1), arms=("diverse", "similar", "random"))
    for seed in (0, 1):
        for stage in STAGES:
            record(three, "random", seed, stage, {"seed": seed})
    with pytest.raises(UserError, match="arms diverse and random did not follow one"):
        report._require_matched(three)


def test_times_are_those_of_the_stages(run):
    (run.root / "pool").mkdir()
    (run.root / "pool" / "seconds.json").write_text("12.34")
    (run.arm("similar", 1) / "grpo" / "seconds.json").write_text("100")
    times = report._times(run)
    assert list(times)[:4] == ["pool", "fingerprint", "select", "diverse/0/sft"]
    assert len(times) == 3 + 2 * 2 * 4
    expected = {"pool": 12.3, "similar/1/grpo": 100.0}
    assert {name: s for name, s in times.items() if s} == expected


def test_long_curves_are_means_of_pieces(tmp_path):
    log = tmp_path / "log"
    rows = [{"step": n, "loss": n, "step_s": 0.1, "batch_s": 0} for n in range(1, 401)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    curve = report._curve(log)
    assert set(curve) == {"step", "loss"}
    assert curve["step"] == list(range(2, 401, 2))
    assert curve["loss"] == [n - 0.5 for n in range(2, 401, 2)]


def test_the_recipe_is_flat_and_without_what_differs(run):
    recipe = report._recipe(run.config)
    assert recipe["grpo.optimiser.eps"] == 1e-8
    assert recipe["difficulties.rl"] == (1, 3)
    assert not {"arms", "seeds", "name", "needs"} & set(recipe)
