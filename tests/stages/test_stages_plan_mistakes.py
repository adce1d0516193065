"""Mistakes of a plan's command line and recipe: one line each, before any device."""

import importlib
import json
import shutil
import sys
from pathlib import Path

import jax
import pytest
from entries import OLD_IMPORT, forget, signals_kept
from smoke_config import smoke

from routejax import mesh
from routejax.errors import UserError
from routejax.stages import plan
from routejax.stages.plan_recipe import require_ranges

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "tests" / "models" / "fixtures"
SMOKE = f"--config={ROOT}/configs/rlve.py:smoke"
pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)


@pytest.fixture
def refused(monkeypatch, capsys):
    """What the program says on its way to status 2; no device is made."""
    entry = importlib.import_module("routejax.plan")

    def made(devices):
        raise AssertionError(f"{devices} devices were made")

    def call(*given):
        config = () if any(flag.startswith("--config=") for flag in given) else (SMOKE,)
        monkeypatch.setattr(sys, "argv", ["plan", *config, *given])
        monkeypatch.setattr(entry, "pretend", made)
        forget()
        assert entry.run_program(entry.main, default=None) == 2
        said = capsys.readouterr().err.strip()
        assert said.startswith("routejax: ")
        assert "\n" not in said
        return said

    with signals_kept():
        yield call


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--parts="], "--parts must be some of sft, grpo, sample"),
        (["--parts=,"], "--parts must be some of sft, grpo, sample"),
        (["--parts=sft,dpo"], "got 'dpo'"),
        (["--parts=", "--smallest"], "--parts must be some of"),
        (["--mesh=fsdp=²"], "each once; got 'fsdp=²'"),
        (["--mesh=fsdp=" + "9" * 5000], "--mesh is a list such as"),
        (["--mesh=fsdp=99999"], "at most 2048 devices; the mesh has 99,999"),
        (["--mesh=fsdp=4,data=2000"], "at most 2048 devices; the mesh has 8,000"),
        (["--mesh=data=-1", "--devices=5000"], "at most 2048 devices; the mesh has"),
        (["--config.mesh.devices=70000"], "at most 2048 devices"),
        (["--devices=0"], "--devices must be at least 1, got 0"),
        (["--devices=-1"], "--devices must be at least 1, got -1"),
        (["--devices=x"], "devices"),
        (["--config.mesh.fsdp=0", "--devices=1"], "config.mesh.fsdp must be at least"),
        (["--config.mesh.fsdp=-2", "--devices=1"], "config.mesh.fsdp must be at least"),
        (["--config.mesh.devices=-1"], "config.mesh.devices must be a whole number"),
        (["--config.student.size=qwen9"], "config.student.size must be"),
        (["--config.grpo.row_tokens=50"], "config.grpo.row_tokens must be at least 72"),
        (["--config.selection.n=999999"], "config.selection.n must be at most"),
        (["--config.sft.row_multiple=0"], "config.sft.row_multiple must be"),
        (["--utilisation=0"], "--utilisation must be above 0"),
        (["--utilisation=nan"], "--utilisation must be above 0"),
        (["--smallest", "--devices=8"], "no --mesh, no --devices"),
        (
            [f"--config={ROOT}/configs/smollm2.py", "--config.traces.train=0"],
            "config.traces.train must be a whole number",
        ),
    ],
)
def test_mistakes_are_one_line(refused, given, said):
    assert said in refused(*given)


def test_what_training_refuses_no_plan_takes():
    """All mistakes at once; what a recipe needs may be missing."""
    require_ranges(smoke() | {"needs": "a large machine"})
    wrong = smoke(sft={"row_tokens": 0}, grpo={"beta": -1.0})
    with pytest.raises(UserError, match=r"sft\.row_tokens .*; config\.grpo\.beta "):
        require_ranges(wrong)


@pytest.mark.parametrize("name", ["olmo3", "qwen3_tied"])
def test_the_student_is_that_of_the_weights(name, tmp_path):
    """Of the folder's config alone: no weight is needed."""
    shutil.copy(FIXTURES / name / "config.json", tmp_path)
    told = json.loads((tmp_path / "config.json").read_text())
    config = smoke(student={"weights": str(tmp_path), "size": "local"})
    over = mesh.make_mesh(jax.devices()[:2], data=1, fsdp=2)
    made = plan.make_plan(config, over, parts=["sft"], compiled=False)
    found = made.student.config
    assert made.student.family == told["model_type"]
    assert found.vocabulary == told["vocab_size"]
    assert (found.width, found.layers) == (
        told["hidden_size"],
        told["num_hidden_layers"],
    )
    table = found.vocabulary * found.width
    assert made.parameters > table * (1 if told["tie_word_embeddings"] else 2)


def test_weights_of_another_size_are_refused(tmp_path):
    shutil.copy(FIXTURES / "qwen3" / "config.json", tmp_path)
    config = smoke(student={"weights": str(tmp_path), "size": "qwen3-4b"})
    over = mesh.make_mesh(jax.devices()[:1], data=1)
    with pytest.raises(UserError, match="is not the student of the recipe"):
        plan.make_plan(config, over, parts=["sft"], compiled=False)
