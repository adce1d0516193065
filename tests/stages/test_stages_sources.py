"""What feeds the training loop, and evaluation in parts that survive a kill."""

import dataclasses
import itertools
import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from smoke_config import run_in

from routejax import checkpoints, envs, processes, tokenizer, workdir
from routejax.errors import UserError
from routejax.packing import Example
from routejax.rollout import Rollout
from routejax.stages import evaluate, sft
from routejax.stages.sft import Examples

SHAPE = {"row_tokens": 16, "row_multiple": 2}
VERDICT = envs.Verdict(False, 0.0, "1", "answered")


# SFT ---------------------------------------------------------------------------------


def examples(seed=0, epochs=3, batch=4, first=10, **more):
    """Ten examples; the only response token of number n is `first` + n."""
    rows = [Example([1], [first + n]) for n in range(10)]
    shape = SHAPE | more
    return Examples(rows, seed=seed, epochs=epochs, batch_examples=batch, **shape)


def drawn(source, steps, first=10):
    """Numbers of the examples in each batch, sorted."""
    found = []
    for step in range(steps):
        (batch,), facts = source.next({}, step)
        tokens = np.asarray(batch.rows.tokens)[np.asarray(batch.weights) > 0]
        assert facts == {"examples": len(tokens), "tokens": 2 * len(tokens)}
        found.append(sorted(int(token) - first for token in tokens))
    return found


def test_every_example_once_an_epoch_in_another_order():
    source = examples(batch=5)
    assert source.steps == 6
    batches = drawn(source, 6)
    for epoch in (batches[:2], batches[2:4], batches[4:]):
        assert sorted(itertools.chain(*epoch)) == list(range(10))
    assert batches[:2] != batches[2:4] != batches[4:]
    with pytest.raises(StopIteration):
        source.next({}, 6)


def test_the_last_batch_may_be_smaller_and_epochs_run_into_each_other():
    source = examples()
    assert source.steps == 8  # 30 examples, 4 a step
    sizes = [len(batch) for batch in drawn(source, 8)]
    assert sizes == [4] * 7 + [2]


def test_so_many_steps_are_the_first_of_the_epochs():
    source = examples(steps=5)
    assert source.steps == 5
    assert drawn(source, 5) == drawn(examples(), 5)
    with pytest.raises(StopIteration):
        source.next({}, 5)
    with pytest.raises(UserError, match=r"sft.steps must be at most 8 \(10 rows, 3 ep"):
        examples(steps=9)


def test_the_order_is_of_places_and_seed_whatever_the_rows():
    """Two arms take rows from the same places of their files at every step."""
    here, there = drawn(examples(), 8), drawn(examples(first=40), 8, first=40)
    assert here == there
    assert drawn(examples(seed=1), 8) != here


@pytest.mark.parametrize("stop", range(8))
def test_examples_go_on_where_they_stood(stop):
    source, whole = examples(), drawn(examples(), 8)
    assert drawn(source, stop) == whole[:stop]
    later = examples()
    later.restore(source.state())
    assert drawn(later, 8 - stop) == whole[stop:]


def test_rows_that_are_not_learned_are_counted_and_listed(tmp_path, monkeypatch):
    """30 rows that fit, two a prompt, a tenth not learned: one prompt, and a row."""
    prompts = [f"{n // 2} + 1 ?" for n in range(30)] + ["0 + 1 ?"]
    says = [f"<think> {n} </think> Answer: {n}" for n in range(30)]
    says += [f"<think> {' '.join(map(str, range(60)))} </think> Answer: 1"]
    names = [f"r{n}" for n in range(31)]
    table = pa.table({"id": names, "prompt": prompts, "response": says})
    (tmp_path / "select").mkdir()
    pq.write_table(table, tmp_path / "select" / "diverse.parquet")
    looked = {"evaluate_every": 9, "heldout_share": 0.1}
    run = run_in(tmp_path, sft=looked | {"overlong": "drop", "row_tokens": 60})
    run.__dict__["tokenizer"] = tokenizer.train(prompts + says, size=64)
    learned, told = [], []

    def tune(run, folder, name, rows, seed, *, heldout, facts):
        learned.extend(run.tokenizer.decode(row.response).split()[1] for row in rows)
        told.append(facts)
        return {}, {}

    monkeypatch.setattr(sft, "tune", tune)
    monkeypatch.setattr(checkpoints, "save_weights", lambda *_: "w")
    assert sft.train(run, "diverse", 0, {}) == "w"
    folder = tmp_path / "arms" / "diverse" / "seed_0" / "sft"
    facts = workdir.read_json(folder / "examples.json")
    counts = {"rows": 31, "overlong": 1, "heldout": 2, "aside": 1}
    assert facts == counts | {"thoughts_opened": 0}
    assert told == [{"overlong": 1}]
    (over,) = lines_of(folder / "overlong.jsonl")
    assert over["id"] == "r30"
    listed = lines_of(folder / "sides.jsonl")
    assert [row["side"] for row in listed] == ["heldout", "heldout", "aside"]
    first, second, aside = (int(row["id"][1:]) for row in listed)
    assert (first % 2, second) == (0, first + 1)
    assert sorted([first, second, aside, *map(int, learned)]) == [*range(30)]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# Evaluation --------------------------------------------------------------------------


@pytest.fixture
def evaluation(tmp_path, monkeypatch):
    """A run whose model is played: sample k of a problem is right if k < difficulty."""
    problems = envs.problem_set(["count"], [1, 2, 3], 5, split="evaluation", seed=0)
    rows = [dataclasses.asdict(problem) for problem in problems.problems]
    workdir.write_json(tmp_path / "pool" / "problems_evaluation.json", rows)
    drawn = {"temperature": 0.6, "top_k": 5, "top_p": 0.9, "min_p": 0.1}
    run = run_in(tmp_path, evaluation=drawn | {"problems_per_part": 4, "samples": 4})
    nobody = SimpleNamespace(init=lambda seed: {})
    run.__dict__["student"], run.__dict__["tokenizer"] = nobody, None
    monkeypatch.setattr(checkpoints, "load_weights", lambda *_: {})
    calls, asked = [], []

    def played(student, params, cut, problems, *, samples, seed, step, **how):
        if call.fails_at == len(calls):
            raise KeyboardInterrupt
        calls.append([problem.id for problem in problems])
        asked.append(SimpleNamespace(params=params, seed=seed, step=step, **how))
        count = len(problems) * samples
        level = np.array([problem.difficulty for problem in problems])
        rewards = (np.arange(samples) < level[:, None]).astype(float)
        return Rollout(
            problems=problems,
            examples=[Example([1], [3])] * count,
            texts=[f"{seed}/{step}/{n}" for n in range(count)],
            verdicts=[VERDICT] * count,
            rewards=rewards,
            logps=np.zeros((count, 1)),
            lengths=np.ones(count, np.int32),
            truncated=np.zeros(count, bool),
            steps=1,
        )

    monkeypatch.setattr(evaluate, "rollout", played)

    def call(fails_at=None, weights="w", seed=0):
        call.fails_at = fails_at
        inputs = {"weights": weights, "problems": "p", "tokenizer": "t"}
        return evaluate.evaluate(run, "diverse", seed, "sft", inputs)

    call.calls, call.asked, call.problems = calls, asked, problems.problems
    return call


def test_a_stopped_evaluation_loses_no_finished_part(evaluation):
    with pytest.raises(KeyboardInterrupt):
        evaluation(fails_at=2)
    path = evaluation()
    ids = [problem.id for problem in evaluation.problems]
    assert evaluation.calls == [ids[:4], ids[4:8], ids[8:12], ids[12:]]
    evaluation()
    assert len(evaluation.calls) == 4
    samples = pq.read_table(path.parent / "samples.parquet")
    assert samples["problem_id"].to_pylist() == [i for i in ids for _ in range(4)]
    assert samples["sample"].to_pylist() == [0, 1, 2, 3] * 15
    assert not (path.parent / "parts").exists()


def test_metrics_and_recipe_by_hand(evaluation):
    path = evaluation()
    metrics = workdir.read_json(path)
    assert metrics["counts"] == [1] * 5 + [2] * 5 + [3] * 5
    assert metrics["cells"]["all"]["acc1"] == 0.5
    assert metrics["cells"]["all"]["passk"]["4"] == 1.0
    recipe = workdir.read_json(path.parent / "recipe.json")
    ids = [problem.id for problem in evaluation.problems]
    assert recipe["problems"] == workdir.content_hash(ids)
    assert recipe["settings"]["samples"] == 4


def test_samples_are_of_the_seed_and_drawn_as_the_evaluation_says(evaluation):
    """In every part alike, and in no step of training."""
    evaluation(seed=3)
    assert len(evaluation.asked) == 4
    for one in evaluation.asked:
        assert (one.seed, one.step) == (3, evaluate.STEP)
        assert one.decoding.temperature == 0.6
        assert one.decoding.truncation == (5, 0.9, 0.1)
    assert evaluate.STEP >= 2**31


def test_the_first_process_alone_writes_what_was_evaluated(evaluation, monkeypatch):
    written = []
    monkeypatch.setattr(evaluate, "write_parquet", lambda path, _: written.append(path))
    monkeypatch.setattr(processes, "first", lambda: False)
    path = evaluation()
    assert len(evaluation.calls) == 4
    assert written == []
    assert not path.exists()


def test_other_weights_are_evaluated_anew(evaluation):
    evaluation()
    evaluation(weights="w")
    assert len(evaluation.calls) == 4
    evaluation(weights="others")
    assert len(evaluation.calls) == 8
