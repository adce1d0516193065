"""What a study from published weights leaves for other programs to load."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from gguf_fields import fields
from smoke_config import run_in

from routejax import chat, checkpoints, models, tokenizer, train
from routejax.models import weights
from routejax.stages import export

SIZES = {"width": 16, "layers": 2, "heads": 2, "kv_heads": 1}
SIZES |= {"head_width": 8, "mlp_width": 24}
README = Path(__file__).parent.parent.parent / "README.md"
TURN = chat.TEMPLATES["chatml"].replace("<|im_end|>", "<turn>")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A bfloat16 Qwen3 whose generation ends with <end> alone, as base models' do."""
    folder = tmp_path_factory.mktemp("published") / "tiny"
    vocabulary = tokenizer.from_gguf(fields())
    student = models.create("qwen3", vocabulary=vocabulary.size + 3, **SIZES)
    generation = {"eos_token_id": vocabulary.special["<end>"], "top_k": 7}
    files = {**vocabulary.files, "generation_config.json": json.dumps(generation)}
    files["generation_config.json"] = files["generation_config.json"].encode()
    params = student.init(0)
    weights.save(folder, student, params, dtype="bfloat16", files=files)
    return folder


@pytest.fixture
def trained(tmp_path, checkpoint):
    """A run of the smoke recipe, a stage's folder, and changed weights in it."""
    template = tmp_path / "turn.jinja"
    template.write_text(TURN)
    run = run_in(
        tmp_path,
        student={"weights": str(checkpoint)},
        tokenizer={"template": str(template)},
    )
    folder = run.arm("diverse", 0) / "sft"
    folder.mkdir(parents=True)
    params = jax.tree.map(lambda x: x * 2, run.fresh(0))
    return run, folder, params, checkpoints.save_weights(folder / "weights", params)


def test_the_folder_is_what_was_trained_in_the_checkpoints_dtype(trained):
    run, stage, params, digest = trained
    folder = export.of_stage(run, stage, digest)
    assert folder == stage / "export"
    student, back = weights.load(folder)
    assert student.config == run.student.config
    for ours, theirs in zip(
        jax.tree.leaves(params), jax.tree.leaves(back), strict=True
    ):
        assert theirs.dtype == "bfloat16"
        np.testing.assert_array_equal(
            ours, theirs.astype("float32")
        )  # times two: exact


def test_turns_go_with_it_as_they_were_learned(trained):
    run, stage, _, digest = trained
    folder = export.of_stage(run, stage, digest)
    assert (folder / "chat_template.jinja").read_text() == TURN
    generation = json.loads((folder / "generation_config.json").read_text())
    ends = [run.tokenizer.special[name] for name in ("<end>", "<turn>")]
    assert generation == {"eos_token_id": sorted(ends), "top_k": 7}
    read = chat.chatting(tokenizer.load(folder))
    assert read.turn("2+2?", "4") == run.tokenizer.turn("2+2?", "4")


def test_the_example_of_the_readme_reads_it(trained, tmp_path, capsys):
    """As it stands there, but for the two folders."""
    run, stage, _, digest = trained
    folder, again = export.of_stage(run, stage, digest), tmp_path / "again"
    blocks = README.read_text().split("```python\n")[1:]
    (example,) = (b.partition("```")[0] for b in blocks if "weights.load(" in b)
    example = example.replace('"DIR"', repr(str(folder)))
    exec(example.replace('"OUT"', repr(str(again))), {})
    assert capsys.readouterr().out.endswith("\n")
    for name in ("model.safetensors", "chat_template.jinja", "generation_config.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_it_is_made_once_and_again_where_it_is_lost(trained, monkeypatch):
    run, stage, _, digest = trained
    folder = export.of_stage(run, stage, digest)
    made = []
    whole = export.write_folder
    monkeypatch.setattr(
        export, "write_folder", lambda *args: (made.append(1), whole(*args))
    )
    export.of_stage(run, stage, digest)
    assert not made
    (folder.parent / "export.json").unlink()  # killed between the folder and its record
    export.of_stage(run, stage, digest)
    assert made == [1]
    (folder.parent / "export.json").write_bytes(b"")  # it costs the export alone
    export.of_stage(run, stage, digest)
    assert made == [1, 1]
    assert (folder / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("student", "dtype"), [({"weights": None}, "original"), ({}, "none")]
)
def test_none_is_written_where_none_is_wanted(student, dtype, trained):
    run, stage, _, digest = trained
    changed = run_in(
        run.root,
        student=dict(run.config["student"]) | student,
        export={"dtype": dtype},
    )
    assert export.of_stage(changed, stage, digest) is None
    assert not (stage / "export").exists()


def test_both_checkpoints_of_an_arm_are_exported(tmp_path, monkeypatch):
    calls = []
    for stage in ("sft", "grpo"):
        played = lambda run, arm, seed, inputs, name=stage: f"{name} weights"  # noqa: E731
        monkeypatch.setattr(getattr(train, stage), "train", played)
    monkeypatch.setattr(train.evaluate, "evaluate", lambda *args: None)
    monkeypatch.setattr(
        train.export, "of_stage", lambda run, at, digest: calls.append((at, digest))
    )
    run = run_in(tmp_path)
    made = dict.fromkeys(
        ("tokenizer.model", "problems_rl.json", "problems_evaluation.json"), "x"
    )
    train.train_arm(run, "similar", 3, made, {"similar.parquet": "y"})
    arm = run.arm("similar", 3)
    assert calls == [(arm / "sft", "sft weights"), (arm / "grpo", "grpo weights")]
