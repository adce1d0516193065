"""What is asked for wrongly: one line, and nothing is written."""

import re

import pytest
from entries import OLD_IMPORT, signals_kept
from evaluated_runs import command, make_run, write_lines

from routejax.errors import UserError
from routejax.evaluation import settings

pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = make_run(tmp_path_factory.mktemp("run") / "run")
    (root / "arms/diverse/seed_0/sft").mkdir()
    return root


@pytest.fixture
def ask(monkeypatch, capsys, tmp_path):
    def call(*flags, **how):
        return command(monkeypatch, capsys, tmp_path / "it", *flags, **how)

    with signals_kept():
        yield call


ARM = "--config.student.arm=diverse"
# flags beside the run's, and what the line must say
OF_RUN = {
    "no arm": ((), r"name an arm of the run: --config.student.arm=; .* has diverse, "),
    "missing arm": (
        ("--config.student.arm=best",),
        "no arm 'best' in .*run; there are diverse, similar",
    ),
    "no such seed": (
        (ARM, "--config.student.seed=4"),
        "no seed 4 of arm diverse in .*; there are 0",
    ),
    "no such checkpoint": (
        (ARM, "--config.student.phase=sft"),
        "sft has no finished weights; phases that have some are grpo",
    ),
    "no such phase": (
        (ARM, "--config.student.phase=rl"),
        "config.student.phase must be one of sft, grpo, got 'rl'",
    ),
    "k above n": (
        (ARM, "--config.sets.evaluation.samples=4"),
        "config.sets.evaluation.passes must be at most its samples, 4, got 8",
    ),
    "no samples": (
        (ARM, "--config.sets.evaluation.samples=0"),
        "config.sets.evaluation.samples must be a whole number of at least 1, got 0",
    ),
    "no question at these difficulties": (
        (ARM, "--config.sets.evaluation.difficulties=7,9"),
        "set evaluation: .* no question of split evaluation at difficulties 7 to 9; "
        "there are 1, 2",
    ),
    "a long prompt": (
        (ARM, "--config.decoding.prompt_tokens=3"),
        "set evaluation: 6 of 6 prompts have more tokens than decoding.prompt_tokens, "
        r"3; the longest, of question \w+, has \d+. Raise it: --config.decoding.pr",
    ),
    "temperature": (
        (ARM, "--config.decoding.temperature=-1.0"),
        "config.decoding.temperature must be a number of at least 0, got -1.0",
    ),
    "subset": (
        (ARM, "--config.sets.evaluation.subset=5"),
        "subset must be 0 for a file of problems, got 5",
    ),
    "two students": (
        (ARM, "--config.samples=x.jsonl"),
        "exactly one must be named: .*; got student.run and samples",
    ),
    "a mesh that does not divide": (
        (ARM, "--config.mesh.devices=8", "--config.mesh.tensor=8"),
        "tensor",
    ),
}


@pytest.mark.parametrize("what", OF_RUN)
def test_of_a_run(what, ask, run, tmp_path):
    flags, said = OF_RUN[what]
    assert_one_line(ask(f"--config.student.run={run}", *flags), said, tmp_path)


QUESTION = {"problem": "What is 1 + 1?", "answer": "2"}
# variant, flags, content of the file aime2025.jsonl, and what the line must say
OTHERS = {
    "nobody": ("", (), None, "exactly one must be named: .*; got none of them"),
    "no run there": (
        "",
        ("--config.student.run=/no/run", ARM),
        None,
        "set evaluation: /no/run has no pool/problems_evaluation.json",
    ),
    "questions of a run, published weights": (
        "",
        ("--config.student.weights=DIR",),
        None,
        "the set evaluation has the questions of a run: name it with --config.stud",
    ),
    "no files": (
        "single_teacher",
        ("--config.student.weights=DIR",),
        None,
        "no set has a file: name the folder with --config.files=FOLDER, or one with",
    ),
    "no folder": (
        "single_teacher",
        ("--config.student.weights=DIR", "--config.files=/no/folder"),
        None,
        "config.files: there is no folder '/no/folder'",
    ),
    "no file": (
        "single_teacher",
        ("--config.student.weights=D", "--config.sets.aime2026.path=/no/f.jsonl"),
        None,
        "config.sets.aime2026.path: there is no file '/no/f.jsonl'",
    ),
    "empty benchmark": (
        "single_teacher",
        ("--config.student.weights=DIR", "--config.files=HERE"),
        [],
        "set aime2025: .*aime2025.jsonl has no rows; a file of questions needs at",
    ),
    "no weights": (
        "single_teacher",
        ("--config.student.weights=Qwen/Qwen3-4B", "--config.files=HERE"),
        [QUESTION],
        "there is no Qwen/Qwen3-4B. Hub ids are not downloaded; fetch it",
    ),
    "no weights in a folder": (
        "single_teacher",
        ("--config.student.weights=HERE", "--config.files=HERE"),
        [QUESTION],
        "config.json",
    ),
    "unknown reader": (
        "single_teacher",
        (
            "--config.student.weights=D",
            "--config.files=HERE",
            "--config.sets.aime2025.reads=aime",
        ),
        [QUESTION],
        "config.sets.aime2025.reads must be one of aime2024, .*, got 'aime'",
    ),
    "large subset": (
        "single_teacher",
        (
            "--config.student.weights=D",
            "--config.files=HERE",
            "--config.sets.aime2025.subset=2",
        ),
        [QUESTION],
        r"set aime2025: n must be in 1\.\.1 \(questions\), got 2",
    ),
    "unknown variant": ("best", (), None, "no variant 'best'; there are run, released"),
    "unknown set": (
        "single_teacher",
        ("--config.sets.gsm8k.path=F",),
        None,
        "there is no 'gsm8k' among: aime2025, ",
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_of_others(what, ask, tmp_path):
    variant, flags, rows, said = OTHERS[what]
    here = tmp_path / "here"
    here.mkdir()
    if rows is not None:
        write_lines(here / "aime2025.jsonl", rows)
    flags = [flag.replace("HERE", str(here)) for flag in flags]
    assert_one_line(ask(*flags, variant=variant), said, tmp_path)


def test_two_files_of_one_set(ask, tmp_path):
    for end in ("jsonl", "csv"):
        write_lines(tmp_path / f"aime2025.{end}", [QUESTION])
    flags = ("--config.student.weights=D", f"--config.files={tmp_path}")
    said = "has several files of the set aime2025: aime2025.jsonl, aime2025.csv"
    assert_one_line(ask(*flags, variant="single_teacher"), said, tmp_path)


def test_a_recipe_of_another_kind():
    with pytest.raises(UserError, match="the recipe 'x' is not one of evaluations"):
        settings.read({"name": "x", "student": {}})


def assert_one_line(ended, said, tmp_path):
    assert ended.status == 2, ended
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("routejax: ")
    assert re.search(said, ended.err), ended.err
    assert not (tmp_path / "it").exists()
