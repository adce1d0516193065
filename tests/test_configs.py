"""The recipes: the paper's Table 7 number by number, and settings that explain them."""

import importlib
import importlib.util
import inspect
import json
import re
from pathlib import Path

import pytest

from routejax.errors import UserError
from routejax.models import SIZES
from routejax.models.weights.published import write_config
from routejax.stages.checks import RULES, cautions, flat, require_valid

CONFIGS = Path(__file__).parent.parent / "configs"


def module(name):
    spec = importlib.util.spec_from_file_location(f"recipe_{name}", CONFIGS / name)
    assert spec
    assert spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def rlve():
    return module("rlve.py")


def fields(config):
    return flat(config.to_dict())


# Table 7, the block RLVE, and 3.3: what every student of the paper shares.
TABLE_7 = {
    "selection.r": 96,
    "selection.projection_seed": 42,
    "selection.seed": 42,
    "selection.n_init": 3,
    "selection.max_iter": 50,
    "selection.batch": 65_536,
    "selection.family": "rlve",
    "difficulties.sft": (1, 5),
    "difficulties.rl": (1, 10),
    "difficulties.evaluation": (1, 15),
    "sft.epochs": 1,
    "sft.optimiser.learning_rate": 1e-5,
    "sft.row_tokens": 8192,
    "grpo.steps": 75,
    "grpo.samples": 8,
    "grpo.prompts": 128,
    "grpo.optimiser.learning_rate": 1e-6,
    "grpo.beta": 0.001,
    "grpo.groups": "all",
    "grpo.temperature": 1.0,
    "decoding.prompt_tokens": 4096,
    "decoding.max_new_tokens": 16_384,
}
# What differs between the students: rows per condition, and samples per question at
# difficulties 1-10 and 11-15.
STUDENTS = {
    "qwen3_1b7": (50_000, 32, 64, "Qwen3-1.7B-Base"),
    "qwen3_1b7_200k": (200_000, 32, 64, "Qwen3-1.7B-Base"),
    "qwen3_4b_50k": (50_000, 32, 64, "Qwen3-4B-Base"),
    "qwen3_4b_200k": (200_000, 32, 64, "Qwen3-4B-Base"),
    "olmo3_7b": (50_000, 32, 32, "OLMo3-7B"),
}


@pytest.mark.parametrize("variant", STUDENTS)
@pytest.mark.parametrize("field", TABLE_7)
def test_every_number_of_table_7(variant, field, rlve):
    assert fields(rlve.get_config(variant))[field] == TABLE_7[field]


@pytest.mark.parametrize("variant", STUDENTS)
def test_what_differs_between_the_students_of_table_7(variant, rlve):
    rows, samples, beyond, weights = STUDENTS[variant]
    config = rlve.get_config(variant)
    assert config.selection.n == rows
    assert config.evaluation.samples == samples
    assert config.evaluation.samples_extrapolation == beyond
    assert config.arms == ("diverse", "similar")
    assert weights in config.needs
    # Prompt and response fit into a row, nothing is cut.
    assert config.grpo.row_tokens == 4096 + 16_384


@pytest.mark.parametrize("variant", STUDENTS)
def test_the_papers_recipes_say_what_they_need(variant, rlve):
    with pytest.raises(
        UserError,
        match=r"needs the weights of .* TPU or GPU mesh \(.* not the paper's of 64\); "
        r"with these, add --config.student.weights=DIR --config.needs= to",
    ):
        require_valid(rlve.get_config(variant).to_dict())


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Folders of config.json alone, by size: all that is read before any work."""
    made = {}
    for name in STUDENTS.values():
        size = name[3].lower().removesuffix("-base")
        folder = tmp_path_factory.mktemp("published")
        found = SIZES[size]
        raw = write_config(found.family, found.config, "bfloat16")
        (folder / "config.json").write_text(json.dumps(raw))
        made[size] = folder
    return made


@pytest.mark.parametrize("variant", STUDENTS)
def test_the_papers_recipes_are_valid_once_both_are_there(variant, rlve, published):
    """As the message says: weights named, `needs` taken away, nothing else."""
    config = rlve.get_config(variant)
    config.needs = ""
    config.student.weights = str(published[config.student.size])
    require_valid(config.to_dict())
    cells = len(config.envs.sft) * 5 * config.pool.prompts_per_cell
    assert cells * config.pool.traces_per_prompt >= 5 * config.selection.n


def test_the_weights_are_looked_at_before_the_size_of_the_pool(rlve):
    """And a pool that is too small names the setting that makes it larger."""
    config = rlve.get_config("qwen3_1b7")
    config.needs, config.pool.prompts_per_cell = "", 80
    config.student.weights = "Qwen/Qwen3-1.7B-Base"
    with pytest.raises(
        UserError,
        match=r"there is no Qwen/Qwen3-1.7B-Base. Hub ids are not downloaded; fetch it "
        r"with `hf download Qwen/Qwen3-1.7B-Base --local-dir DIR`",
    ):
        require_valid(config.to_dict())
    config.student.weights = None
    with pytest.raises(
        UserError,  # 6 environments x 5 difficulties x 80 prompts x 10 traces
        match=r"selection.n must be at most 24000 .* raise pool.prompts_per_cell well "
        r"above 167, .* got 50000",
    ):
        require_valid(config.to_dict())


RATES = {
    "fresh, whatever the rate": (None, "muon", 0.02, 0),
    "muon": ("DIR", "muon", 1e-5, 1),
    "a thousandth is not over it": ("DIR", "adamw", 1e-3, 0),
    "over it": ("DIR", "adamw", 1.1e-3, 1),
}


@pytest.mark.parametrize("case", RATES)
def test_a_rate_from_scratch_on_published_weights_is_one_line(case, rlve):
    weights, name, rate, lines = RATES[case]
    config = rlve.get_config("local")
    config.student.weights = weights
    config.sft.optimiser.name, config.sft.optimiser.learning_rate = name, rate
    said = list(cautions(config.to_dict()))
    assert len(said) == lines
    assert all(f"sft.optimiser is {name} at {rate:g}" in line for line in said)


def test_the_recipe_for_any_small_checkpoint_fits_and_tunes(rlve, published):
    config = rlve.get_config("pretrained")
    with pytest.raises(UserError, match=r"folder with --config.student.weights=DIR"):
        require_valid(config.to_dict())
    for folder in published.values():
        config.student.weights = str(folder)
        require_valid(config.to_dict())
        assert list(cautions(config.to_dict())) == []


@pytest.mark.parametrize("variant", ["local", "smoke"])
def test_local_recipes_are_valid_and_run_anywhere(variant, rlve):
    config = rlve.get_config(variant)
    assert config.name == f"rlve-{variant}"
    require_valid(config.to_dict())


def test_local_is_the_default_and_the_base(rlve):
    assert fields(rlve.get_config()) == fields(rlve.get_config("local"))
    base = fields(module("base.py").base())
    assert fields(rlve.get_config()) == base | {"name": "rlve-local"}


def test_an_unknown_variant_lists_those_there_are(rlve):
    names = ("local", "smoke", "programs", "sokoban", "gym", "rlve_gym", "pretrained")
    known = ", ".join([*names, *STUDENTS, "smoke_qwen3", "smoke_olmo3"])
    with pytest.raises(UserError, match=f"no variant 'tiny'; there are {known}"):
        rlve.get_config("tiny")


def test_every_field_has_its_rule():
    """A new setting states what it may be, or this fails."""
    assert set(RULES) == set(fields(module("base.py").base()))


def test_every_field_of_the_base_is_explained():
    """By a comment at its line or over its block, or by the function that takes it."""
    told: dict[str, bool] = {}
    for block in (CONFIGS / "base.py").read_text().split("\n\n"):
        lines = [line.strip() for line in block.splitlines()]
        comment = " ".join(line for line in lines if line.startswith("#"))
        known = arguments(comment)
        if "def optimiser(" in block:
            known = arguments("update.optimiser")
        for line in lines:
            if made := re.match(r"config\.(\S+) = (?!ConfigDict|optimiser)", line):
                field = made[1].rsplit(".")[-1]
                here = "  # " in line or (comment and not known)
                told[made[1]] = bool(here or field in known or ".optimiser." in line)
    assert [field for field, is_told in told.items() if not is_told] == []
    assert len(told) > 70


def arguments(comment):
    """Names of the arguments of every function of routejax that a comment names."""
    names = set()
    for path in re.findall(r"[a-z]+(?:\.\w+)+", comment):
        room, _, name = path.rpartition(".")
        made = getattr(importlib.import_module(f"routejax.{room}"), name)
        if callable(made):
            names |= set(inspect.signature(made).parameters)
    return names


def test_each_variant_changes_only_fields_of_the_base(rlve):
    base = set(fields(module("base.py").base()))
    for variant in rlve.VARIANTS:
        extra = set(fields(rlve.get_config(variant))) - base
        paper = {"evaluation.samples_extrapolation"} if variant in STUDENTS else set()
        assert extra == paper, variant
