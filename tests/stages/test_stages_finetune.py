"""A published student end to end: a tiny checkpoint, a few traces, and out again."""

import dataclasses
import io
import json
import shutil

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gguf_fields import fields
from rich.console import Console
from smoke_config import smoke

from configs.smollm2 import get_config
from routejax import chat, models, tokenizer
from routejax.errors import UserError
from routejax.models import weights
from routejax.models.weights.published import write_config
from routejax.packing import Example, pack
from routejax.program import plain
from routejax.scoring import rows, score
from routejax.stages import finetune, published
from routejax.stages.finetune_rows import write_rows
from routejax.stages.run import Run
from routejax.stages.sft import tokenised
from routejax.workdir import opened

SIZES = {
    "width": 16,
    "layers": 2,
    "heads": 2,
    "kv_heads": 1,
    "head_width": 8,
    "mlp_width": 24,
}


def row(number, response=None):
    said = response or f"<think>\n{number} is {number}\n</think>\n\nIt is {number}."
    return {"id": f"r{number}", "prompt": f"What is {number}?", "response": said}


@pytest.fixture(scope="module")
def vocabulary():
    """Bytes and five more, with a chat template."""
    return tokenizer.from_gguf(fields() | {"tokenizer.chat_template": TEMPLATE})


TEMPLATE = chat.TEMPLATES["chatml"].replace("<|im_end|>", "<turn>")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, vocabulary):
    """A Qwen3 of three thousand parameters."""
    folder = tmp_path_factory.mktemp("published") / "tiny"
    student = models.create("qwen3", vocabulary=vocabulary.size + 3, **SIZES)
    weights.save(folder, student, student.init(0), files=vocabulary.files)
    return folder


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    path = tmp_path_factory.mktemp("pool") / "rows.jsonl"
    rows = [
        *(row(number) for number in range(24)),
        {**row(2), "id": "again"},  # a second answer to one prompt
        row(30, "<think>\n" + "very " * 300 + "\n</think>\n\nlong"),
        row(31, "<think>\na <turn> b\n</think>\n\nspelled"),
        row(32, "no reasoning"),
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def settings(checkpoint, pool, **changes):
    config = get_config()
    config.student.size = None
    config.student.weights = str(checkpoint)
    config.tokenizer.pad = ""
    config.traces.paths = str(pool)
    config.traces.update({"train": 12, "heldout": 4})
    config.sft.update({"batch_examples": 4, "row_tokens": 128, "epochs": 2})
    config.sft.optimiser.learning_rate = 0.01
    config.heldout_every = 2
    config.answers.max_new_tokens = 5
    config.mesh.devices = 1
    config.update(changes)
    return plain(config)


def run(root, config):
    return Run(root=root, config=config, console=Console(quiet=True))


@pytest.fixture(scope="module")
def finished(tmp_path_factory, checkpoint, pool):
    root = tmp_path_factory.mktemp("run")
    config = settings(checkpoint, pool)
    finetune.require_valid(config)
    with opened(root, config):
        return root, config, finetune.finetune(run(root, config))


def test_the_heldout_loss_falls_and_the_export_reloads_equal(finished):
    _, _, summary = finished
    losses = summary["heldout_loss"]
    assert len(losses) == 4  # before steps 1, 3 and 5, and at the end
    assert summary["heldout_steps"] == [0, 2, 4, 6]
    assert losses[-1] < losses[0] - 0.1
    assert len(summary["train_loss"]) == 6
    assert summary["reloaded_equal"]
    assert summary["lossy"] == ""
    for side in ("before SFT", "after SFT"):
        said = summary["answers"][side]
        assert [one["prompt"] for one in said] == [*get_config().answers.prompts]
        assert {one["finish"] for one in said} <= {"stop", "length"}


def test_the_heldout_loss_is_that_of_its_rows_alone(finished, checkpoint):
    """By the student's own scores, an example at a time."""
    root, config, summary = finished
    made = run(root, config)
    student, params = weights.load(checkpoint)
    total = count = 0.0
    for one in pq.read_table(root / "rows/heldout.parquet").to_pylist():
        turn = made.tokenizer.turn(one["prompt"], one["response"])
        scores = score(student, params, rows(pack([Example(*turn)], row_tokens=128)))
        here = slice(len(turn.prompt), len(turn.prompt) + len(turn.response))
        total -= float(np.asarray(scores.logps)[0, here].sum())
        count += len(turn.response)
    assert summary["heldout_loss"][0] == pytest.approx(total / count, rel=1e-5)


def test_rows_are_apart_by_prompt_and_those_left_out_are_named(finished):
    root, _, _ = finished
    sides = {
        side: pq.read_table(root / f"rows/{side}.parquet").to_pylist()
        for side in ("train", "heldout")
    }
    assert {side: len(rows) for side, rows in sides.items()} == {
        **{"train": 12, "heldout": 4}
    }
    prompts = [one["prompt"] for rows in sides.values() for one in rows]
    assert len({*prompts}) == 16
    counts = json.loads((root / "rows/counts.json").read_text())
    assert counts["rows"] == {"heldout": 4, "train": 12}
    assert counts["rejected"]["complete_span"] == 1
    left_out = read_lines(root / "rows/left_out.jsonl")
    assert {one["id"]: one["reason"] for one in left_out}.items() <= {
        ("r30", "too long"),
        ("r31", "not sound"),
    }
    assert sum(counts["left_out"].values()) == len(left_out)


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_all_rows_can_be_asked_for_and_no_more(tmp_path, vocabulary, pool):
    used = chat.chatting(vocabulary)
    asked = {"paths": str(pool), "layout": "auto", "testbed": "openthoughts3"}
    out = io.StringIO()
    asked |= {"row_tokens": 128, "seed": 3, "console": Console(file=out, width=200)}
    write_rows(tmp_path, used, train=20, heldout=4, **asked)
    assert "rows: 24/24" in out.getvalue()  # what is being done is said
    first = read_lines(tmp_path / "left_out.jsonl")
    with pytest.raises(UserError) as refused:
        write_rows(tmp_path, used, train=21, heldout=4, **asked)
    assert str(refused.value) == (
        "4 held-out rows and 21 to train on were asked for, there are 4 and 20 of "
        "other prompts among 27 eligible ones; left out are 1 too long, 1 not sound "
        "(sft.row_tokens is 128). Raise sft.row_tokens or ask for fewer"
    )
    for one in first:
        why = {"r30": "tokens", "r31": "control ids"}[one["id"]]
        assert why in one["why"]
    chosen = pq.read_table(tmp_path / "train.parquet")["id"].to_pylist()
    order = [pa.array(chosen).to_pylist()]
    write_rows(tmp_path, used, train=20, heldout=4, **asked)
    assert [pq.read_table(tmp_path / "train.parquet")["id"].to_pylist()] == order
    write_rows(tmp_path, used, train=20, heldout=4, **asked | {"seed": 4})
    assert [pq.read_table(tmp_path / "train.parquet")["id"].to_pylist()] != order


OPENING = {
    "closed and never opened": ("so\n</think>\n\n4", "<think>\nso\n</think>\n\n4"),
    "opened": ("<think>so</think>4", "<think>so</think>4"),
    "opened late": ("so</think><think>4", "<think>\nso</think><think>4"),
    "neither": ("4", "4"),
}


@pytest.mark.parametrize("case", OPENING)
@pytest.mark.parametrize("template", ["chatml", "think"])
def test_nobody_learns_to_close_what_is_not_open(case, template, vocabulary):
    """Where the template's prompt opens the reasoning the response only goes on."""
    source = chat.TEMPLATES[template].replace("<|im_end|>", "<turn>")
    made = chat.chatting(dataclasses.replace(vocabulary, template=source))
    said, learned = OPENING[case]
    table = pa.table({"id": ["a"], "prompt": ["2+2?"], "response": [said]})
    found = tokenised(made, table)
    written = made.join([i for part in found.examples[0] for i in part])
    body = written.partition("assistant\n")[2].removesuffix("\n").removesuffix("<turn>")
    if template == "think":  # each thing once
        assert found.opened == 0
        assert body == "<think>\n" + said.removeprefix("<think>")
    else:
        assert found.opened == (said != learned)
        assert body == learned


def test_rows_whose_reasoning_is_opened_are_counted(tmp_path, vocabulary):
    path = tmp_path / "rows.jsonl"
    unopened = "\n{} is\n</think>\n\nIt is {}."
    said = [unopened.format(n, n) if n % 3 == 0 else None for n in range(12)]
    lines = [json.dumps(row(n, text)) for n, text in enumerate(said)]
    path.write_text("\n".join(lines) + "\n")
    asked = {"paths": str(path), "layout": "auto", "testbed": "openthoughts3"}
    asked |= {"row_tokens": 128, "seed": 0, "console": Console(quiet=True)}
    write_rows(tmp_path, chat.chatting(vocabulary), train=9, heldout=3, **asked)
    counts = json.loads((tmp_path / "counts.json").read_text())
    for side, count in counts["thoughts_opened"].items():
        rows = pq.read_table(tmp_path / f"{side}.parquet")["response"].to_pylist()
        assert count == sum("<think>" not in text for text in rows)
    assert sum(counts["thoughts_opened"].values()) == 4


def test_a_finished_run_is_not_made_again(finished, monkeypatch):
    root, config, summary = finished
    monkeypatch.setattr(finetune, "tune", None)
    monkeypatch.setattr(finetune, "answers", None)
    assert finetune.finetune(run(root, config)) == summary
    # An export that was lost is made again, from the weights that are there.
    shutil.rmtree(root / "export")
    (root / "export.json").unlink()
    assert finetune.finetune(run(root, config)) == summary
    assert (root / "export/model.safetensors").exists()


def test_the_export_is_what_was_trained(finished, checkpoint):
    root, _, _ = finished
    student, params = weights.load(root / "export")
    before, initial = weights.load(checkpoint)
    assert student == before
    changed = jax.tree.map(lambda a, b: bool((a != b).any()), params, initial)
    assert all(jax.tree.leaves(changed))
    ours, theirs = (
        {path.name: path.read_bytes() for path in folder.iterdir()}
        for folder in (root / "export", checkpoint)
    )
    assert {*ours} == {*theirs}
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert ours[name] == theirs[name]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"student": {"weights": None}},
            "needs a checkpoint: --config.student",
        ),
        ({"traces": {"train": 0}}, "traces.train must be a whole number of at least 1"),
        ({"traces": {"testbed": "x"}}, "traces.testbed must be one of rlve"),
        ({"sft": {"row_tokens": 0}}, "sft.row_tokens must be a whole number"),
        ({"export": {"dtype": "int8"}}, "export.dtype must be one of original, float"),
    ],
)
def test_configs_that_are_refused_before_anything_is_read(
    changes, words, checkpoint, pool
):
    config = settings(checkpoint, pool)
    for block, fields_ in changes.items():
        config[block] = config[block] | fields_
    with pytest.raises(UserError, match=words):
        finetune.require_valid(config)


def test_a_tokenizer_of_another_student_is_refused(tmp_path, vocabulary):
    small = models.create("llama", vocabulary=100, **SIZES)
    weights.save(tmp_path / "small", small, small.init(0), files=vocabulary.files)
    config = settings(tmp_path / "small", "nowhere")
    with pytest.raises(UserError, match="embedding 100 rows: it belongs to another"):
        _ = run(tmp_path / "run", config).student


def test_a_published_size_is_a_claim_about_the_checkpoint(checkpoint):
    base = get_config().student.to_dict() | {"weights": str(checkpoint), "size": None}
    found = published.student(base | {"remat": "full"})
    assert found.family == "qwen3"
    assert found.execution.remat == "full"
    with pytest.raises(
        UserError,
        match=r"the recipe, qwen3-0.6b; it has width 16, not 1024; layers 2, not 28.*"
        r"name no size: --config.student.size=$",
    ):
        published.student(base | {"size": "qwen3-0.6b"})
    # As the message says, on a command line.
    assert published.student(base | {"size": ""}).config == found.config
    with pytest.raises(UserError, match=r"student.remat must be one of"):
        published.student(base | {"remat": "some"})
    with pytest.raises(UserError, match=r"student has no depth"):
        published.student(base | {"depth": 3})


@pytest.mark.parametrize("size", ["local", None, ""])
def test_sizes_of_fresh_students_say_nothing_about_a_checkpoint(size, checkpoint):
    """So every recipe takes any checkpoint, the smoke recipe's own numbers or not."""
    settings = smoke()["student"] | {"weights": str(checkpoint), "size": size}
    assert settings["width"] == 48
    found = published.student(settings)
    assert (found.family, found.config.width, found.config.layers) == ("qwen3", 16, 2)


def test_how_far_a_checkpoint_reaches_is_its_own(tmp_path):
    """A longer context of a published size is that size; a number given is a claim."""
    raw = write_config("qwen3", models.SIZES["qwen3-0.6b"].config, "bfloat16")
    raw |= {"max_position_embeddings": 40_960, "rope_theta": 5e6}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    given = {"weights": str(tmp_path), "size": "qwen3-0.6b"}
    found = published.student(given).config
    assert (found.max_positions, found.rope_theta) == (40_960, 5e6)
    with pytest.raises(UserError, match=r"it has rope_theta 5000000.0, not 1000000.0"):
        published.student(given | {"rope_theta": 1e6})
    (tmp_path / "config.json").write_text(json.dumps(raw | {"rms_norm_eps": 1e-5}))
    with pytest.raises(UserError, match=r"it has norm_eps 1e-05, not 1e-06"):
        published.student(given)


def test_padding_may_be_named(checkpoint):
    found = published.tokenizer(str(checkpoint), pad="<bos>")
    assert found.pad == found.special["<bos>"]
    with pytest.raises(UserError, match="control id, got 'x'; there are <end>, <bos>"):
        published.tokenizer(str(checkpoint), pad="x")
    assert published.tokenizer(str(checkpoint), template="none").form is None
