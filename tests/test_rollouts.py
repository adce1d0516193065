"""`python -m routejax.rollouts`: what it prints and writes, and every mistake."""

import importlib
import json
import re
import sys

import numpy as np
import pytest
from entries import forget, signals_kept
from played_rollouts import PROBLEMS, letters, played

from routejax.stages import rollout_files, rollout_rows

OUTCOMES = np.array([[0, 0], [0, 1], [1, 1]], bool)


def write_run(root, runs=(("diverse", 0), ("similar", 0)), steps=(1, 2, 10)):
    """A run's folder as GRPO leaves it, without the rest."""
    root.mkdir()
    (root / "config.json").write_text("{}")
    for arm, seed in runs:
        folder = root / "arms" / arm / f"seed_{seed}" / "grpo"
        keep = rollout_rows.keeper(folder, 1, letters())
        for step in steps:
            cut = np.array([0, step == 2, 0, 0, 0, 0], bool)
            rolled = played(PROBLEMS[:3], OUTCOMES, truncated=cut)
            keep(step, rolled, OUTCOMES * 1.0, OUTCOMES.any(1) & ~OUTCOMES.all(1))
    return root


@pytest.fixture
def root(tmp_path):
    return write_run(tmp_path / "run")


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Runs the entry in this process: status, output, lines of error."""
    entry = importlib.import_module("routejax.rollouts")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)

    def call(*given):
        forget()
        monkeypatch.setattr(sys, "argv", ["rollouts", *map(str, given)])
        status = entry.run_command(entry.main)
        out, err = capsys.readouterr()
        return status, out, err.splitlines()

    with signals_kept():
        yield call


def cards(out):
    """(arm, step, problem's place, sample) of every card."""
    places = {problem.id: q for q, problem in enumerate(PROBLEMS)}
    found = [line for line in out.splitlines() if line.startswith("╭─")]
    rows = [line.strip("╭─╮ ").split(" · ") for line in found]
    return [
        (
            run.partition(",")[0],
            int(step.split()[1]),
            places[problem],
            int(sample.split()[1]),
        )
        for run, step, _, problem, sample in rows
    ]


def data_of(page):
    text = page.read_text()
    start = text.index('id="data">') + len('id="data">')
    return json.loads(text[start : text.index("</script>", start)])


def test_a_summary_then_the_newest_samples_then_a_page(root, command):
    status, out, err = command(root)
    assert (status, err) == (0, [])
    assert out.count("3 steps with samples") == 2
    assert cards(out) == [("diverse", 10, 0, 0), ("diverse", 10, 0, 1)] + [
        ("diverse", 10, 1, n) for n in (0, 1)
    ]
    assert "4 of 36 samples shown" in out
    assert f"Page: {root / 'rollouts.html'}" in out
    groups = data_of(root / "rollouts.html")["groups"]
    assert len(groups) == 2 * 3 * 3
    assert sum(len(group["samples"]) for group in groups) == 36


@pytest.mark.parametrize(
    ("given", "first", "count"),
    [
        (["--arm=similar"], ("similar", 10, 0, 0), 18),
        (["--step=2"], ("diverse", 2, 0, 0), 12),
        (["--filter=mixed"], ("diverse", 10, 1, 0), 12),
        (["--filter=all-correct", "--step=1"], ("diverse", 1, 2, 0), 4),
        (["--filter=longest", "--arm=similar"], ("similar", 1, 1, 0), 18),
        (["--filter=truncated"], ("diverse", 2, 0, 1), 2),
        ([f"--problem={PROBLEMS[2].id}", "--seed=0"], ("diverse", 10, 2, 0), 12),
    ],
)
def test_what_is_asked_for_is_shown(given, first, count, root, command):
    status, out, _ = command(root, *given, "--n=1")
    assert status == 0
    assert cards(out) == [first]
    assert f"1 of {count} samples shown" in out
    groups = data_of(root / "rollouts.html")["groups"]
    assert len(groups) == len({(g["run"], g["step"], g["problem"]) for g in groups})


def test_a_filter_that_lets_nothing_through_says_so(root, command):
    status, out, _ = command(root, "--filter=unparsed")
    assert status == 0
    assert "No sample is unparsed." in out


def test_the_page_goes_where_it_is_told(root, command, tmp_path):
    assert command(root, f"--html={tmp_path / 'other.html'}")[0] == 0
    assert (tmp_path / "other.html").exists()
    assert command(root, "--html=")[0] == 0
    assert not (root / "rollouts.html").exists()
    assert command(f"--workdir={root}", "--n=1")[0] == 0
    assert (root / "rollouts.html").exists()


def test_a_run_in_progress_is_shown_as_far_as_it_is(root, command):
    """Half a file under its passing name, and no results yet."""
    folder = root / "arms" / "diverse" / "seed_0" / "grpo" / "rollouts"
    (folder / ".step_11.parquet.tmp").write_bytes(b"PAR1")
    status, out, _ = command(root)
    assert status == 0
    assert cards(out)[0] == ("diverse", 10, 0, 0)


def test_output_without_a_terminal_has_no_colours(root, command):
    assert "\x1b" not in command(root)[1]


MISTAKES = {
    "no folder named": ([], r"name the folder of one run: .* got none"),
    "two folders": (["a", "b"], r"name the folder of one run: .* got a, b"),
    "no such folder": (["nowhere"], r"there is no folder 'nowhere' in "),
    "no run": (["."], r"\. is not the folder of a run: it has no config.json"),
    "no samples": (["empty"], r"empty has no samples yet: they come with GRPO"),
    "arm": (["run", "--arm=other"], r"no arm 'other' in run; there are diverse, sim"),
    "seed": (["run", "--seed=3"], r"no seed 3 in run; there are 0$"),
    "step": (["run", "--step=3"], r"no samples of step 3; there are 1, 2, 10$"),
    "problem": (["run", "--problem=x"], r"no sample is of problem 'x'; ids are in"),
    "filter": (["run", "--filter=odd"], r"--filter must be one of all-fail, .*'odd'"),
    "n": (["run", "--n=0"], r"--n must be at least 1, got 0"),
    "page": (["run", "--html=run"], r"--html must be the name of a file; got 'run'"),
    "no page": (["run", "--html=run/config.json/x"], r"cannot write .*/x: "),
    "number": (["run", "--step=two"], r"step=two.* a whole number is wanted"),
    "flag": (["run", "--setp=2"], r"Unknown command line flag 'setp'"),
    "damaged": (["bad"], r"step_2.parquet cannot be read \(.*\); take the file away"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_every_mistake_is_one_clear_line(case, root, command, tmp_path):
    given, words = MISTAKES[case]
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text("{}")
    write_run(tmp_path / "bad")
    for files in rollout_files.found(tmp_path / "bad").values():
        files[2].write_bytes(files[2].read_bytes()[:700])
    status, _, err = command(*given)
    assert status == 2
    (line,) = err
    assert line.startswith("routejax: ")
    assert re.search(words, line), line
    assert not (root / "rollouts.html").exists()
