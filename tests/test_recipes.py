"""Recipes of the paper's testbeds: every number, every claim, and their smoke forms."""

import importlib
import json
import os
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from forked import end, fork
from runs import ROOT, scratch
from select_pools import finished as selected

from routejax.envs import registry
from routejax.models import SIZES
from routejax.models.weights.published import write_config
from routejax.program import plain
from routejax.stages.checks import flat, require_valid

TABLE = tomllib.loads((Path(__file__).parent / "table7.toml").read_text())["numbers"]
NUMBERS = [
    (recipe, field, wanted)
    for block in TABLE
    for recipe in block["of"]
    for field, wanted in block.items()
    if field not in ("of", "source")
]
FILES = (
    *("rlve", "rlve_pool", "omega", "sokoban", "programs", "single_teacher"),
    *("openthoughts3", "intellect3", "nemotron_cascade2", "dolci_think"),
    "teacher_sources",
)
SMOKES = (
    *("rlve:smoke_qwen3", "rlve:smoke_olmo3"),
    *(f"{name}:smoke" for name in FILES if not name.startswith("rlve")),
)
# Of rlve.py, those that are not of the paper.
OWN = {
    *("local", "smoke", "programs", "sokoban", "gym", "rlve_gym", "pretrained"),
    *("smoke_qwen3", "smoke_olmo3"),
}


def config_of(recipe):
    name, _, variant = recipe.partition(":")
    found = importlib.import_module(f"configs.{name}")
    return plain(found.get_config(variant) if variant else found.get_config())


@pytest.mark.parametrize("block", TABLE, ids=lambda block: block["source"])
def test_every_number_says_where_the_paper_has_it(block):
    assert block["source"]
    assert block["of"]
    assert len(block) > 2


@pytest.mark.parametrize(("recipe", "field", "wanted"), NUMBERS)
def test_every_number_of_the_paper(recipe, field, wanted):
    found = flat(config_of(recipe))[field]
    assert (list(found) if isinstance(found, tuple) else found) == wanted


def variants(name):
    found = importlib.import_module(f"configs.{name}")
    named = getattr(found, "VARIANTS", None) or found.ROWS
    return [f"{name}:{variant}".removesuffix(":") for variant in named]


@pytest.mark.parametrize("name", FILES)
def test_every_variant_of_the_paper_is_in_the_table(name):
    known = {recipe for recipe, _, _ in NUMBERS}
    own = {f"rlve:{v}" for v in OWN} | {f"{n}:smoke" for n in FILES}
    assert [v for v in variants(name) if v not in known | own] == []


@pytest.mark.parametrize("name", [name for name in FILES if name != "rlve_pool"])
def test_a_recipe_is_a_claim(name):
    told = importlib.import_module(f"configs.{name}").__doc__
    assert f"python -m routejax.train --config=configs/{name}.py" in told
    for part in ("\nHardware: ", "\nPaper: ", "\nMeasured: "):
        assert told.count(part) == 1, part


STUDIES = [
    recipe
    for name in FILES
    for recipe in variants(name)
    if name != "rlve" and "student" in config_of(recipe) and config_of(recipe)["needs"]
]


@pytest.mark.parametrize("recipe", STUDIES)
def test_studies_are_valid_where_their_weights_are_there(recipe, tmp_path, monkeypatch):
    """`needs` taken away and a checkpoint named, as its message says.

    The verifiers' own packages need not be here.
    """
    monkeypatch.setattr(registry, "require", lambda names: None)
    config = config_of(recipe)
    found = SIZES[config["student"]["size"]]
    raw = write_config(found.family, found.config, "bfloat16")
    (tmp_path / "config.json").write_text(json.dumps(raw))
    for said in ("--config.rows.paths", "--config.problems.path"):
        assert said in config["needs"]
    config["needs"] = ""
    config["student"]["weights"] = str(tmp_path)
    require_valid(config)
    assert config["rows"]["paths"]
    assert config["problems"]["path"]


@pytest.mark.parametrize("recipe", SMOKES)
def test_smoke_forms_take_two_steps_with_a_student_of_the_family(recipe):
    config = config_of(recipe)
    require_valid(config)
    assert config["sft"]["steps"] == config["grpo"]["steps"] == 2
    families = {"rlve": "rlve", "omega": "omega", "sokoban": "sokoban"}
    families |= dict.fromkeys(("dolci_think", "single_teacher"), "dolci")
    families |= dict.fromkeys(("openthoughts3", "intellect3"), "corpus")
    name = recipe.partition(":")[0]
    wanted = families.get(name, "corpus" if name.startswith("nemo") else "rlve")
    assert config["selection"]["family"] == wanted
    student = config["student"]["family"]
    assert student in ("qwen3", "olmo3")
    published = {
        SIZES[config_of(v)["student"]["size"]].family
        for v in variants(name)
        if v not in SMOKES and "student" in config_of(v) and config_of(v)["needs"]
    }
    assert student in published


def work(recipe, root, *flags):
    from routejax import train  # noqa: PLC0415

    name, _, variant = recipe.partition(":")
    sys.argv = ["train", f"--config=configs/{name}.py:{variant}", f"--workdir={root}"]
    sys.argv += flags
    os.chdir(ROOT)
    train.entry()


@pytest.mark.slow
def test_every_smoke_form_runs_from_end_to_end():
    """One after the other; each finds the programs that those before it compiled."""
    programs = None
    for recipe in SMOKES:
        root = scratch(recipe.replace(":", "-"))
        if programs:
            shutil.copytree(programs, root / ".compiled")
        (ended,) = end(fork(work, recipe, root))
        assert ended.status == 0, (recipe, ended)
        programs = root / ".compiled"
        results = json.loads((root / "results.json").read_text())
        assert results["config"] == config_of(recipe)["name"]
        for arm in results["arms"]:
            for stage in ("sft", "grpo"):
                log = root / "arms" / arm / "seed_0" / stage / "metrics.jsonl"
                assert len(log.read_text().splitlines()) == 2, (recipe, arm, stage)
        assert (root / "report.html").exists()


@pytest.mark.slow
def test_a_selection_goes_through_training_and_into_the_report():
    """`routejax.select`, then `routejax.train` over its folder."""
    root = scratch("chosen")
    flags = (
        f"--config.rows.paths={selected().root}",
        *("--config.sft.row_tokens=2048", "--config.sft.epochs=2"),
        "--config.tokenizer.size=400",
    )
    (ended,) = end(fork(work, "single_teacher:smoke", root, *flags))
    assert ended.status == 0, ended
    results = json.loads((root / "results.json").read_text())
    manifest = json.loads((selected().root / "manifest.json").read_text())
    for arm in ("diverse", "similar"):
        found = results["arms"][arm]
        wanted = manifest["selectors"][arm]["ids_sha256"]
        assert found["selection_sha256"] == wanted
        assert found["selection"]["by_env"].keys() == {"code", "math", "puzzle"}
    assert results["recipe"]["rows.paths"] == str(selected().root)
