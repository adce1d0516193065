"""Published weights on files of benchmarks, and the same samples from a mesh."""

import json
import shutil

import pytest
from entries import OLD_IMPORT, signals_kept
from evaluated_runs import command, metrics_of, samples_of, write_lines
from gguf_fields import fields

from routejax import models, tokenizer
from routejax.models import weights

pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)

SIZES = {"width": 16, "layers": 1, "heads": 2, "kv_heads": 2}
SIZES |= {"head_width": 8, "mlp_width": 16}
DECODING = {"max_new_tokens": 5, "prompt_tokens": 192, "slots": 4, "refill_at": 1}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published") / "tiny"
    vocabulary = tokenizer.from_gguf(fields())
    # Devices of a tensor axis divide it.
    student = models.create("qwen3", vocabulary=-(-vocabulary.size // 8) * 8, **SIZES)
    weights.save(folder, student, student.init(0), files=vocabulary.files)
    return folder


@pytest.fixture
def ask(checkpoint, monkeypatch, capsys, tmp_path):
    for year in (2025, 2026):
        rows = [
            {"id": n, "problem": f"In {year}: {n} + 1?", "answer": str(n + 1)}
            for n in range(3)
        ]
        write_lines(tmp_path / f"aime{year}.jsonl", rows)

    def call(*flags, name="it", folder=checkpoint):
        given = [f"--config.decoding.{n}={value}" for n, value in DECODING.items()]
        for year in (2025, 2026):
            given.append(f"--config.sets.aime{year}.samples=2")
            given.append(f"--config.sets.aime{year}.passes=2,")
        return command(
            monkeypatch,
            capsys,
            tmp_path / name,
            f"--config.student.weights={folder}",
            f"--config.files={tmp_path}",
            "--config.student.dtype=float32",
            "--config.tokenizer.template=none",
            *given,
            *flags,
            variant="single_teacher",
        )

    with signals_kept():
        yield call


def test_two_benchmarks_and_their_mean_on_any_mesh(ask, tmp_path):
    ended = ask()
    assert ended.status == 0, ended.err
    found = metrics_of(tmp_path / "it")
    assert found["mean"]["sets"] == ["aime2025", "aime2026"]
    assert found["mean"]["questions"] == 6
    assert "aime2025: 3 questions in " in ended.out
    assert "the published set has 30" in ended.out
    assert "Left out, for they have no file: beyond_aime, brumo2025" in ended.out
    made = [samples_of(tmp_path / "it" / n) for n in ("aime2025", "aime2026")]
    ids = [table["problem_id"].to_pylist() for table in made]
    assert ids[0] == [f"aime2025/{n}" for n in (0, 0, 1, 1, 2, 2)]
    assert not {*made[0]["response"].to_pylist()} & {*made[1]["response"].to_pylist()}
    record = json.loads((tmp_path / "it/aime2025/sampling.json").read_text())
    assert record["made_by"]["temperature"] == 0.7
    assert record["made_by"]["top_p"] == 0.95
    ended = ask(
        "--config.mesh.devices=4",
        "--config.mesh.tensor=2",
        "--config.mesh.data=2",
        name="mesh",
    )
    assert ended.status == 0, ended.err
    for name, table in zip(("aime2025", "aime2026"), made, strict=True):
        assert samples_of(tmp_path / "mesh" / name).equals(table)


def test_the_files_of_the_weights_tell_them_apart_and_not_their_place(
    ask, checkpoint, tmp_path
):
    assert ask().status == 0
    moved = shutil.copytree(checkpoint, tmp_path / "moved")
    (moved / "README.md").write_text("about it")
    ended = ask(folder=moved)
    assert ended.status == 0, ended.err
    assert "samples: " not in ended.out
    raw = json.loads((moved / "config.json").read_text())
    (moved / "config.json").write_text(json.dumps(raw | {"rms_norm_eps": 1e-3}))
    ended = ask(folder=moved)
    assert ended.status == 2
    assert "has samples of other settings: weights: '" in ended.err


def test_every_decoding_must_be_said_for_published_weights(
    monkeypatch, capsys, tmp_path, checkpoint, ask
):
    del ask  # for its files
    ended = command(
        monkeypatch,
        capsys,
        tmp_path / "it",
        f"--config.student.weights={checkpoint}",
        "--config.tokenizer.template=none",
        "--config.sets.evaluation.reads=aime2025",
        f"--config.sets.evaluation.path={tmp_path / 'aime2025.jsonl'}",
    )
    assert ended.status == 2
    assert "config.decoding.temperature must be set for published wei" in ended.err
    assert "prompt_tokens, slots" in ended.err
