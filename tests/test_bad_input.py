"""Every mistake on the command line: status 2, one clear line, nothing left behind."""

import fcntl
import importlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from entries import OLD_IMPORT, forget, signals_kept

from routejax import program
from routejax.errors import UserError

ROOT = Path(__file__).parent.parent
SMOKE = "--config=configs/rlve.py:smoke"

pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)


class Reached(BaseException):
    """The stages were reached; not SystemExit, which the entry makes a status of."""


@pytest.fixture
def train():
    """The entry; not imported above, where the filter does not hold yet."""
    return importlib.import_module("routejax.train")


@pytest.fixture
def command(train, monkeypatch, capsys, tmp_path):
    """Runs the program in this process; the stages are replaced by `study`."""

    def call(*given, study=None, workdir=tmp_path / "run"):
        config = () if any(flag.startswith("--config=") for flag in given) else (SMOKE,)
        argv = ["train", *config, f"--workdir={workdir}", *given]
        monkeypatch.setattr(sys, "argv", argv)
        monkeypatch.setattr(train, "study", study or unreachable)
        forget()
        status = program.run_program(train.main, default="configs/rlve.py")
        out, err = capsys.readouterr()
        return status, out, err

    with signals_kept():
        yield call


def unreachable(run):
    raise AssertionError(f"the stages began in {run.root}")


# What is wrong: flags, and what the line must say.
MISTAKES = {
    "unknown field": (["--config.foo=1"], "--config.foo.*'foo' among: arms, checkp"),
    "unknown field below": (
        ["--config.sft.optimiser.lr=1"],
        "'lr' among: b1, b2, clip_norm, eps, final_share, learning_rate, name, warmup",
    ),
    "field of a value": (["--config.grpo.samples.x=1"], "'x' is asked of a value, 4"),
    "unknown variant": (
        ["--config=configs/rlve.py:nope"],
        "no variant 'nope'; there are local, smoke, programs, sokoban, gym, rlve_",
    ),
    "no file for others' problems": (
        ["--config.envs.rl=('gym:gcd','sort')"],
        r"config.envs.rl has gym:gcd, whose problems must be made before",
    ),
    "no sandbox of the name": (
        ["--config.judging.sandbox=docker"],
        "judging.sandbox must be one of auto, required, none, got 'docker'",
    ),
    "no config file": (["--config=configs/no.py"], "no config file 'configs/no.py'"),
    "no file, a field": (
        ["--config=no.py", "--config.foo=1"],
        "no config file 'no.py'",
    ),
    "a folder": (["--config=configs"], "no config file 'configs'"),
    "empty config": (["--config="], "no config file ''"),
    "text for a number": (["--config.grpo.steps=many"], "grpo.steps=many: invalid"),
    "text for a rate": (
        ["--config.grpo.beta=small"],
        "grpo.beta=small: .*; a number is wanted, such as 0.001",
    ),
    "a setting without config": (
        ["--grpo.steps=2"],
        "'grpo.steps'; settings of the recipe begin with config: --config.grpo.steps$",
    ),
    "a fraction": (["--config.grpo.steps=1.5"], "grpo.steps=1.5: invalid literal"),
    "text for a boolean": (["--config.student.tied=maybe"], "student.tied=maybe.*boo"),
    "a value for a block": (["--config.sft=1"], "--config.sft=1: .*not a dict"),
    "unknown flag": (["--workdirr=x"], "'workdirr'.*workdir"),
    "no flag": (["smoke"], "flags begin with --, got 'smoke'"),
    "no value": (["--config.sft.epochs"], "Missing value for flag --config.sft.epochs"),
    "arm twice": (
        ["--config.arms=similar,similar"],
        r"repeats.*\('similar', 'similar'",
    ),
    "unknown arm": (["--config.arms=diverse,best"], "one of diverse, similar, random"),
    "arm with vectors of its own": (
        ["--config.arms=diverse,embedding_fps"],
        "one of diverse, similar, .*topology_clusters",
    ),
    "no arms": (["--config.arms="], r"config.arms must be .*, got \(\)"),
    "no seeds": (["--config.seeds="], r"config.seeds must be .*, got \(\)"),
    "seed twice": (
        ["--config.seeds=0,0"],
        r"config.seeds must be .* repeats.*\(0, 0\)",
    ),
    "seed of text": (
        ["--config.seeds=a"],
        "each entry a whole number in 0..4294967295",
    ),
    "negative seed": (["--config.seeds=-1"], r"0..4294967295, got \(-1,\)"),
    "large seed": (["--config.pool.seed=4294967296"], "0..4294967295, got 4294967296"),
    "unknown env": (
        ["--config.envs.rl=sort,chess"],
        "config.envs.rl .*one of sort, mod",
    ),
    "env twice": (["--config.envs.sft=sort,sort"], "config.envs.sft .*without repeats"),
    "no env": (["--config.envs.evaluation="], r"config.envs.evaluation .*, got \(\)"),
    "reversed": (["--config.difficulties.rl=5,1"], r"within 1..15, got \(5, 1\)"),
    "too easy": (["--config.difficulties.sft=0,3"], r"within 1..15, got \(0, 3\)"),
    "too hard": (["--config.difficulties.rl=1,16"], r"within 1..15, got \(1, 16\)"),
    "one difficulty": (["--config.difficulties.rl=3"], r"first and last.*got \(3,\)"),
    "text difficulty": (
        ["--config.difficulties.rl=a,b"],
        r"first and last .*\('a', 'b'",
    ),
    "large n": (
        ["--config.selection.n=5000"],
        "selection.n must be at most 800.* 5000",
    ),
    "no n": (
        ["--config.selection.n=0"],
        "config.selection.n must be .* least 1, got 0",
    ),
    "negative n": (["--config.selection.n=-4"], "selection.n must be .*1, got -4"),
    "no cluster": (["--config.selection.K=0"], "of at least 1, or None, got 0"),
    "unknown precision": (["--config.selection.precision=half"], "exact, float32, got"),
    "many traces": (
        ["--config.pool.traces_per_prompt=99"],
        r"traces_per_prompt must be at most \d+ \(routes times manners of env '\w+'\)",
    ),
    "no problems": (
        ["--config.problems.rl_per_cell=0"],
        "rl_per_cell must be .*1, got 0",
    ),
    "few problems": (
        ["--config.grpo.prompts=37"],
        "grpo.prompts must be at most 36.*problems for RL.*got 37",
    ),
    "group of one": (["--config.grpo.samples=1"], "samples must be .*least 2, got 1"),
    "no steps": (["--config.grpo.steps=0"], "config.grpo.steps must be .*1, got 0"),
    "no epochs": (["--config.sft.epochs=0"], "config.sft.epochs must be .*1, got 0"),
    "cold": (["--config.grpo.temperature=0"], "temperature .*above 0, got 0.0"),
    "not a number": (
        ["--config.grpo.temperature=nan"],
        "finite number above 0, got nan",
    ),
    "no limit": (["--config.sft.optimiser.learning_rate=inf"], "finite .* 0, got inf"),
    "unknown optimiser": (
        ["--config.sft.optimiser.name=sgd"],
        "adamw, muon, got 'sgd'",
    ),
    "unknown preset": (
        ["--config.grpo.preset=mine"],
        "paper, verl, trl, open_instruct",
    ),
    "short rows": (
        ["--config.grpo.row_tokens=40"],
        r"grpo.row_tokens must be at least 72 \(decoding.prompt_tokens \+ decoding.max",
    ),
    "heads": (
        ["--config.student.heads=3", "--config.student.kv_heads=2"],
        "student.heads must be a multiple of student.kv_heads, got 3 and 2",
    ),
    "odd heads": (["--config.student.head_width=5"], "student.head_width must be even"),
    "no layers": (["--config.student.layers=0"], "student.layers must be .*, got 0"),
    "no slots": (["--config.decoding.slots=0"], "decoding.slots must be .*1, got 0"),
    "no refill": (["--config.decoding.refill_at=0"], "refill_at must be .*1, got 0"),
    "no name": (["--config.name="], "config.name must be the name of the recipe"),
    "several": (
        ["--config.grpo.steps=0", "--config.sft.epochs=0"],
        "config.sft.epochs must be .*; config.grpo.steps must be",
    ),
    "Qwen3 1.7B": (
        ["--config=configs/rlve.py:qwen3_1b7"],
        "needs .*Qwen3-1.7B-Base and",
    ),
    "Qwen3 4B": (
        ["--config=configs/rlve.py:qwen3_4b_50k"],
        "needs .*Qwen3-4B-Base and",
    ),
    "Qwen3 4B large": (
        ["--config=configs/rlve.py:qwen3_4b_200k"],
        "needs .*Qwen3-4B-Bas",
    ),
    "OLMo3": (
        ["--config=configs/rlve.py:olmo3_7b"],
        "needs .*OLMo3-7B and a TPU or GPU",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_clear_line(name, command, tmp_path):
    given, said = MISTAKES[name]
    status, out, err = command(*given)
    assert status == 2
    assert out == ""
    assert err.startswith("routejax: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert re.search(said, err), err
    assert list(tmp_path.iterdir()) == []


def test_a_verifier_that_is_not_installed_is_told_before_any_work(command, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *at: None if name == "reasoning_gym" else found(name, *at),
    )
    status, out, err = command("--config=configs/rlve.py:gym")
    assert (status, out) == (2, "")
    assert err == (
        "routejax: environments gym:… need reasoning-gym, and reasoning_gym is "
        "missing: pip install 'routejax[gym]'\n"
    )


def test_what_is_right_reaches_the_stages_as_plain_values(command):
    seen = {}

    def study(run):
        seen.update(run.config)
        raise Reached

    with pytest.raises(Reached):
        command(
            *("--config.arms=random,diverse", "--config.seeds=3,4"),
            *("--config.envs.sft=sort,walk", "--config.difficulties.sft=2,3"),
            *(
                "--config.selection.K=7",
                "--config.grpo.beta=1",
                "--config.sft.epochs=2",
            ),
            study=study,
        )
    assert seen["arms"] == ("random", "diverse")
    assert seen["seeds"] == (3, 4)
    assert seen["envs"]["sft"] == ("sort", "walk")
    assert seen["difficulties"]["sft"] == (2, 3)
    assert seen["selection"]["K"] == 7
    assert seen["grpo"]["beta"] == 1.0
    assert seen["sft"]["epochs"] == 2


def one_stage(run):
    """As little as a run can do that takes the folder."""
    run.stage(run.root / "pool", {}, lambda folder: None)
    raise Reached


def test_a_folder_of_another_config_names_the_fields(command, tmp_path):
    with pytest.raises(Reached):
        command(study=one_stage)
    before = (tmp_path / "run/config.json").read_bytes()
    status, _, err = command("--config.grpo.beta=0.5", "--config.arms=random,diverse")
    assert status == 2
    assert "belongs to a run with another config" in err
    assert "arms: ['diverse', 'similar'] there, ['random', 'diverse'] now" in err
    assert "grpo.beta: 0.001 there, 0.5 now" in err
    assert "Choose another --workdir" in err
    assert (tmp_path / "run/config.json").read_bytes() == before


def test_a_folder_where_nothing_was_finished_is_free(command, tmp_path):
    """After a mistake that only the pool can tell, the same folder serves again."""

    def fails(run):
        run.stage(run.root / "pool", {}, lambda folder: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        command(study=fails)
    with pytest.raises(Reached):
        command("--config.grpo.beta=0.5", study=one_stage)


def test_a_folder_in_use_is_refused(command, tmp_path):
    (tmp_path / "run").mkdir()
    with (tmp_path / "run/.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, _, err = command()
    assert status == 2
    assert "is in use by another routejax process" in err
    assert [p.name for p in (tmp_path / "run").iterdir()] == [".lock"]
    with pytest.raises(Reached):  # free again
        command(study=one_stage)


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_a_file_in_place_of_the_folder(below, command, tmp_path):
    (tmp_path / "file").write_text("mine")
    status, _, err = command(workdir=f"{tmp_path}/file{below}")
    assert status == 2
    assert f"cannot write {tmp_path}/file{below}: " in err
    assert "choose another --workdir" in err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_made(command):
    status, _, err = command(workdir="/proc/routejax")
    assert status == 2
    assert "cannot write /proc/routejax: " in err


def test_a_damaged_claim_says_which_file(command, tmp_path):
    with pytest.raises(Reached):
        command(study=one_stage)
    (tmp_path / "run/config.json").write_text("{")
    status, _, err = command()
    assert status == 2
    assert f"{tmp_path}/run/config.json is damaged" in err


def watch(seen):
    """A study that keeps its config and ends there."""

    def study(run):
        seen.append(run.config)
        raise UserError("seen")

    return study


def test_one_name_of_a_list_is_a_list_of_one(command):
    seen = []
    command("--config.arms=similar", study=watch(seen))
    assert seen[0]["arms"] == ("similar",)


def test_a_second_recipe_is_refused(command):
    status, _, err = command(SMOKE, SMOKE)
    assert status == 2
    assert "--config was given twice" in err


def test_recipes_are_found_from_another_folder(command, monkeypatch, tmp_path):
    whole = SMOKE.replace("configs/", f"{ROOT}/configs/")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(ROOT))])
    for name in [name for name in sys.modules if name.partition(".")[0] == "configs"]:
        monkeypatch.delitem(sys.modules, name)
    seen = []
    command(whole, study=watch(seen))
    assert seen[0]["name"] == "rlve-smoke"
    status, _, err = command("--config=configs/rlve.py:smoke")
    assert status == 2
    assert "of the clone" in err
