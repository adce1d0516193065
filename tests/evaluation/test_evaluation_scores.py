"""Verdicts in files of their own, and scores by hand."""

import json

import numpy as np
import pytest
from entries import OLD_IMPORT, signals_kept
from evaluated_runs import command, metrics_of, write_lines

from routejax.envs.judging import Judges
from routejax.evaluation import samples, scores, verdicts
from routejax.evaluation.questions import Questions
from routejax.evaluation.settings import Asked
from routejax.metrics import pass_at_k

pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)

# Right responses of each question, of four.
RIGHT = {"aime2024": [0, 1, 4], "aime2025": [2, 2], "beyond_aime": [0, 4, 3]}


def rows_of(name):
    for number, right in enumerate(RIGHT[name]):
        prompt = f"{name}: what is {number} + 1?"
        for sample in range(4):
            value = number + 1 if sample < right else 999
            yield {"prompt": prompt, "response": f"\\boxed{{{value}}}"}


@pytest.fixture
def take(monkeypatch, capsys, tmp_path):
    """Imports and scores sets with these right responses."""
    for name, right in RIGHT.items():
        questions = [
            {"problem": f"{name}: what is {n} + 1?", "answer": str(n + 1)}
            for n in range(len(right))
        ]
        write_lines(tmp_path / f"{name}.jsonl", questions)
    made = write_lines(
        tmp_path / "made.jsonl", [row for name in RIGHT for row in rows_of(name)]
    )

    def call(*flags, names=tuple(RIGHT), workdir="it", passes="2,4"):
        given = [f"--config.samples={made}"]
        for name in names:
            given.append(f"--config.sets.{name}.path={tmp_path / name}.jsonl")
            given.append(f"--config.sets.{name}.samples=4")
            given.append(f"--config.sets.{name}.passes={passes}")
        return command(
            monkeypatch,
            capsys,
            tmp_path / workdir,
            *given,
            *flags,
            variant="baselines",
        )

    with signals_kept():
        yield call


def test_scores_by_hand(take, tmp_path):
    ended = take()
    assert ended.status == 0, ended.err
    found = metrics_of(tmp_path / "it")
    # acc@1: 5/12, 4/8, 7/12; pass@2 of one question: 0, 1/2, 1; 5/6; 0, 1, 1.
    wanted = {
        "aime2024": (5 / 12, 1.5 / 3, 2 / 3, 3),
        "aime2025": (1 / 2, 5 / 6, 1, 2),
        "beyond_aime": (7 / 12, 2 / 3, 2 / 3, 3),
    }
    for name, (acc1, pass2, pass4, n) in wanted.items():
        one = found["sets"][name]
        assert one["counts"] == RIGHT[name]
        for k, value in (("1", acc1), ("2", pass2), ("4", pass4)):
            got = one["passk"][k]
            assert got["mean"] == pytest.approx(value, abs=1e-6)
            assert got["lower"] <= got["mean"] <= got["upper"]
            assert got["n"] == n
        assert one["acc1"] == one["passk"]["1"]
        assert list(one["passk"]) == ["1", "2", "3", "4"]
        assert one["status"] == {"answered": 4 * n}
    mean = found["mean"]
    assert mean["sets"] == list(wanted)
    assert mean["questions"] == mean["acc1"]["n"] == 8
    for k, at in (("1", 0), ("2", 1), ("4", 2)):
        value = np.mean([row[at] for row in wanted.values()])
        assert mean["passk"][k]["mean"] == pytest.approx(value, abs=1e-6)
    assert found["sets"]["aime2024"]["groups"] == {
        "all_fail": pytest.approx(1 / 3, abs=1e-6),
        "mixed": pytest.approx(1 / 3, abs=1e-6),
        "all_correct": pytest.approx(1 / 3, abs=1e-6),
        "informative": pytest.approx(1 / 3, abs=1e-6),
    }
    assert found["sets"]["aime2024"]["solved"] == 2
    assert [line for line in ended.out.splitlines() if line.startswith(" mean ")]


def test_a_mean_has_the_pass_at_k_that_every_set_has(take, tmp_path):
    ended = take("--config.sets.aime2025.samples=3", passes="2,3")
    assert ended.status == 0, ended.err
    found = metrics_of(tmp_path / "it")
    assert list(found["sets"]["aime2024"]["passk"]) == ["1", "2", "3", "4"]
    assert list(found["mean"]["passk"]) == ["1", "2", "3"]
    # The first three of four samples; two of these are right.
    assert found["sets"]["aime2025"]["passk"]["2"]["mean"] == pass_at_k(3, 2, 2) == 1


def test_a_set_has_the_same_numbers_beside_any_others(take, tmp_path):
    assert take().status == 0
    assert take(names=("aime2025",), workdir="alone").status == 0
    both = [metrics_of(tmp_path / n)["sets"]["aime2025"] for n in ("it", "alone")]
    assert both[0] == both[1]


def test_sets_of_one_size_are_resampled_apart(take, tmp_path):
    """Else their mean would be as uncertain as each of them."""
    counts = np.array([0] * 20 + [4] * 20)
    sizes = []
    for name in ("one", "two"):
        asked = Asked(name, None, "aime2024", "", (1, 1), 0, 4, (), None)
        means = scores._means(Questions(asked, [], []), counts, 2000)
        sizes.append(means.resampled[:, 0])
    assert abs(np.corrcoef(*sizes)[0, 1]) < 0.1


def files(root, kind):
    return {path: path.read_bytes() for path in sorted(root.glob(f"*/{kind}/*"))}


def test_another_verifier_judges_again_and_samples_nothing(take, tmp_path, monkeypatch):
    assert take().status == 0
    root = tmp_path / "it"
    made, judged = files(root, "samples"), files(root, "verdicts")
    ended = take()
    assert ended.status == 0
    assert "verdicts" not in ended.out
    assert files(root, "verdicts") == judged
    # One that takes 999 for right, and nothing else.
    judge = Judges.judge

    def other(self, requests):
        turned = [
            one._replace(config={**one.config, "gold": "999"}) for one in requests
        ]
        return judge(self, turned)

    monkeypatch.setattr(Judges, "judge", other)
    assert "judged again" not in take().out
    monkeypatch.setattr(verdicts, "verifier", lambda: "another")
    ended = take()
    assert ended.status == 0, ended.err
    assert "aime2024: 12 responses judged again, 7 are right now and 5 no" in ended.out
    assert metrics_of(root)["sets"]["aime2024"]["counts"] == [4, 3, 0]
    assert files(root, "samples") == made
    monkeypatch.setattr(Judges, "judge", judge)
    assert "judged again" not in take().out  # the same verifier, so it is not asked
    ended = take("--rescore")
    assert "aime2024: 12 responses judged again, 5 are right now and 7 no" in ended.out
    assert metrics_of(root)["sets"]["aime2024"]["counts"] == RIGHT["aime2024"]


def test_another_answer_judges_the_set_again(take, tmp_path):
    assert take().status == 0
    path = tmp_path / "aime2025.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    write_lines(path, [{**rows[0], "answer": "999"}, rows[1]])
    ended = take()
    assert ended.status == 0, ended.err
    assert "aime2025: 8 responses judged again, 2 are right now and 2 no" in ended.out
    assert "aime2024: 12 responses" not in ended.out
    assert metrics_of(tmp_path / "it")["sets"]["aime2025"]["counts"] == [2, 2]


def test_a_stopped_verifier_goes_on_after_the_last_part(take, tmp_path, monkeypatch):
    assert take().status == 0
    whole = metrics_of(tmp_path / "it")
    judge, calls = Judges.judge, []

    def stops(self, requests):
        calls.append(len(requests))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return judge(self, requests)

    monkeypatch.setattr(Judges, "judge", stops)
    with pytest.raises(KeyboardInterrupt):
        take(workdir="stopped")
    ended = take(workdir="stopped")
    assert ended.status == 0
    assert calls == [12, 8, 8, 12]
    assert metrics_of(tmp_path / "stopped") == whole


def test_a_sample_that_is_there_twice_is_refused(take, tmp_path):
    assert take().status == 0
    (part,) = (tmp_path / "it/aime2024/samples").iterdir()
    part.with_name("part_00001.parquet").write_bytes(part.read_bytes())
    ended = take()
    assert ended.status == 2
    assert "has sample 0 of question 'aime2024/aime2024-0', which an earl" in ended.err
    assert samples.parts(tmp_path / "it/aime2024") == [
        part,
        part.with_name("part_00001.parquet"),
    ]
