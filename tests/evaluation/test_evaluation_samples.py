"""Samples of a tiny student: made once, in parts, the same however they came about."""

import numpy as np
import pytest
from entries import OLD_IMPORT, signals_kept
from evaluated_runs import (
    command,
    make_run,
    metrics_of,
    of_run,
    problems,
    samples_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax import interrupt
from routejax.evaluation import samples
from routejax.evaluation.sampling import lacking

pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "run")


@pytest.fixture
def ask(run, monkeypatch, capsys, tmp_path):
    def call(name, *flags, samples=2, **how):
        flags = (*of_run(run, samples=samples, **how), *flags)
        return command(monkeypatch, capsys, tmp_path / name, *flags)

    with signals_kept():
        yield call


@given(st.data(), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_parts_have_every_missing_sample_once(data, per_part):
    rows, columns = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    cells = st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns)
    there = np.array(data.draw(cells)).reshape(rows, columns)
    made = there.astype(int)
    for part in lacking(there, per_part):
        assert 1 <= len(part.problems) <= per_part
        for q in part.problems:
            made[q, part.first : part.first + part.count] += 1
    assert (made == 1).all()


def test_more_samples_leave_the_first_as_they_are(ask, tmp_path):
    """Two of each question and then two more are the four that are asked at once."""
    assert ask("grown", samples=2).status == 0
    first = {
        path.name: path.read_bytes()
        for path in (tmp_path / "grown/evaluation/samples").iterdir()
    }
    assert len(first) == 3
    ended = ask("grown", samples=4)
    assert ended.status == 0, ended.err
    assert "evaluation samples: 24/24" in ended.out
    assert ask("whole", samples=4).status == 0
    grown, whole = (samples_of(tmp_path / n / "evaluation") for n in ("grown", "whole"))
    assert grown.equals(whole)
    assert len(set(whole["response"].to_pylist())) > 12  # they do differ
    for name, data in first.items():
        assert (tmp_path / "grown/evaluation/samples" / name).read_bytes() == data
    assert metrics_of(tmp_path / "grown") == metrics_of(tmp_path / "whole")
    # Fewer are the first of those that are there; nothing is asked of the student.
    ended = ask("grown", samples=2)
    assert ended.status == 0
    assert "evaluation samples" not in ended.out
    found = metrics_of(tmp_path / "grown")["sets"]["evaluation"]
    assert found["samples"] == 2
    assert sum(found["finish"].values()) == 12


def test_a_stopped_one_goes_on_and_ends_with_the_same(ask, tmp_path, monkeypatch):
    assert ask("whole").status == 0
    write, written = samples.write_part, []

    def stops(path, rows):
        if len(written) == 1:
            raise interrupt.Interrupted("SIGTERM")
        written.append(path.name)
        write(path, rows)

    monkeypatch.setattr(samples, "write_part", stops)
    ended = ask("stopped")
    assert ended.status == interrupt.EXIT_CODE
    assert "stopped by SIGTERM" in ended.err
    assert written == ["part_00000.parquet"]
    left = tmp_path / "stopped/evaluation/samples/.part_00001.parquet.tmp"
    left.write_bytes(b"half of it")
    monkeypatch.setattr(samples, "write_part", write)
    ended = ask("stopped")
    assert ended.status == 0, ended.err
    assert not left.exists()
    for name in ("part_00000", "part_00001", "part_00002"):
        paths = [
            tmp_path / n / "evaluation/samples" / f"{name}.parquet"
            for n in ("whole", "stopped")
        ]
        assert paths[0].read_bytes() == paths[1].read_bytes()
    assert metrics_of(tmp_path / "stopped") == metrics_of(tmp_path / "whole")


def test_a_lost_part_is_made_again_and_a_damaged_one_is_named(ask, tmp_path):
    assert ask("it").status == 0
    before = samples_of(tmp_path / "it/evaluation")
    lost = tmp_path / "it/evaluation/samples/part_00001.parquet"
    lost.unlink()
    assert ask("it").status == 0
    assert samples_of(tmp_path / "it/evaluation").equals(before)
    left = next((tmp_path / "it/evaluation/samples").iterdir())
    left.write_bytes(left.read_bytes()[:100])
    ended = ask("it")
    assert ended.status == 2
    assert f"{left} cannot be read" in ended.err
    assert ended.err.count("\n") == 1


OTHERS = {
    "temperature": (("--config.decoding.temperature=0.5",), "temperature: 1.0 there, "),
    "top_p": (("--config.decoding.top_p=0.9",), "top_p: 1.0 there, 0.9 now"),
    "cap": (
        ("--config.sets.evaluation.max_new_tokens=5",),
        "max_new_tokens: 6 there, 5 now",
    ),
    "seed": (("--config.decoding.seed=3",), "seed: 0 there, 3 now"),
    "student": (("--config.student.arm=similar",), "weights: '"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_two_decodings_are_never_mixed(what, ask, tmp_path):
    assert ask("it").status == 0
    before = (tmp_path / "it/evaluation/sampling.json").read_bytes()
    flags, said = OTHERS[what]
    for samples_asked in (2, 4):
        ended = ask("it", *flags, samples=samples_asked)
        assert ended.status == 2
        assert "has samples of other settings: " in ended.err
        assert said in ended.err
        assert "choose another --workdir" in ended.err
        assert ended.err.count("\n") == 1
    assert (tmp_path / "it/evaluation/sampling.json").read_bytes() == before


def test_what_changes_no_sample_may_change(ask):
    assert ask("it").status == 0
    flags = ("--config.decoding.slots=3", "--config.decoding.prompt_tokens=40")
    ended = ask("it", *flags)
    assert ended.status == 0, ended.err
    assert "evaluation samples" not in ended.out


def test_a_question_with_another_prompt_is_refused(ask, tmp_path, monkeypatch, capsys):
    import dataclasses  # noqa: PLC0415

    asked = problems()
    run = make_run(tmp_path / "other", asked=asked)
    flags = of_run(run)
    assert command(monkeypatch, capsys, tmp_path / "it", *flags).status == 0
    changed = [dataclasses.replace(asked[0], prompt=asked[1].prompt), *asked[1:]]
    make_run(tmp_path / "other", asked=changed)
    found = samples.there
    with pytest.raises(ValueError, match=f"{asked[0].id}.* made from another prompt"):
        found(tmp_path / "it/evaluation", changed, 2)


def test_every_column_says_what_it_should(ask, tmp_path, run):
    ended = ask("it")
    assert ended.status == 0
    rows = samples_of(tmp_path / "it/evaluation").to_pylist()
    assert {row["problem_id"] for row in rows} == {one.id for one in problems()}
    assert [row["sample"] for row in rows] == [0, 1] * 6
    assert {row["seed"] for row in rows} == {0}
    for row in rows:
        assert (row["finish"] == "stop") <= (row["tokens"] <= 6)
        assert (row["finish"] == "length") <= (row["tokens"] == 6)
    record = (tmp_path / "it/evaluation/sampling.json").read_text()
    assert (run / "arms/diverse/seed_0/grpo/weights.sha256").read_text() in record
