"""Samples on disk: the rows of a step by hand, bytes, kills, and files that are not."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from played_rollouts import PROBLEMS, letters, played, source_of

from routejax import envs
from routejax.errors import UserError
from routejax.stages import rollout_files, rollout_rows

OUTCOMES = [[0, 0], [0, 1], [1, 1]]
ADVANTAGES = np.array([[0, 0], [-1, 1], [0, 0.0]])
TRAINED = np.array([False, True, False])


def a_step(**changes):
    return dataclasses.replace(played(PROBLEMS[:3], OUTCOMES), **changes)


@pytest.fixture
def keep(tmp_path):
    """Writes a step's samples; the path of their file."""

    def call(step, rolled=None, every=1):
        write = rollout_rows.keeper(tmp_path, every, letters())
        write(step, rolled or a_step(), ADVANTAGES, TRAINED)
        return rollout_files.path(tmp_path / "rollouts", step)

    return call


def test_rows_by_hand(keep):
    cut = np.array([0, 0, 0, 1, 0, 0], bool)
    texts = [f"text {n}" for n in range(6)]
    rows = rollout_files.read(keep(7, a_step(texts=texts, truncated=cut)))
    assert rows.schema.names == rollout_files.SCHEMA.names
    assert rows.schema.equals(rollout_files.SCHEMA)
    found = {name: rows[name].to_pylist() for name in rows.schema.names}
    asked = [problem for problem in PROBLEMS[:3] for _ in range(2)]
    assert found == {
        "step": [7] * 6,
        "problem": [problem.id for problem in asked],
        "env": ["count"] * 6,
        "difficulty": [problem.difficulty for problem in asked],
        "sample": [0, 1] * 3,
        "prompt": [problem.prompt for problem in asked],
        "response": texts,
        "prompt_ids": [[1, 5]] * 6,
        "response_ids": [[6] * n for n in (1, 2, 3, 1, 2, 3)],
        "logps": [[-1.0, -2.0, -3.0][:n] for n in (1, 2, 3, 1, 2, 3)],
        "reward": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        "solved": [False, False, False, False, True, True],
        "score": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        "answer": ["1"] * 6,
        "status": ["answered"] * 6,
        "expected": [
            str(p.prompt.partition(": ")[2].count(p.prompt[6])) for p in asked
        ],
        "group": ["all_fail"] * 4 + ["all_correct"] * 2,
        "advantage": [0, 0, -1, 1, 0, 0],
        "trained": [False, False, True, True, False, False],
        "finish": ["stop", "stop", "stop", "length", "stop", "stop"],
        "tokens": [1, 2, 3, 1, 2, 3],
    }
    assert rollout_files.pieces_of(rows) == {"6": "c"}


def test_a_group_with_a_right_and_a_wrong_sample_is_mixed(keep):
    rows = rollout_files.read(keep(1))
    groups = ["all_fail"] * 2 + ["mixed"] * 2 + ["all_correct"] * 2
    assert rows["group"].to_pylist() == groups


def test_the_same_step_gives_the_same_bytes_in_the_place_of_the_old(keep):
    path = keep(3)
    before = path.read_bytes()
    path.write_bytes(b"half")
    assert keep(3).read_bytes() == before
    codecs = {
        pq.read_metadata(path).row_group(0).column(i).compression
        for i in range(len(rollout_files.SCHEMA))
    }
    assert codecs == {"ZSTD"}


def test_what_a_kill_left_is_taken_away(keep, tmp_path):
    keep(1)
    left = tmp_path / "rollouts" / ".step_2.parquet.tmp"
    left.write_bytes(b"half")
    keep(2)
    names = {path.name for path in (tmp_path / "rollouts").iterdir()}
    assert names == {"step_1.parquet", "step_2.parquet"}


@pytest.mark.parametrize(
    ("every", "steps"), [(0, []), (1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3])]
)
def test_every_so_many_steps_have_a_file(every, steps, keep, tmp_path):
    for step in (1, 2, 3, 4):
        keep(step, every=every)
    there = sorted(path.name for path in tmp_path.rglob("*.parquet"))
    assert there == [f"step_{step}.parquet" for step in steps]


def test_a_piece_keeps_the_space_that_a_beginning_loses():
    """As tokenizers do that put a space before every word; control ids have names."""

    def join(ids):
        return "".join({4: " a", 5: "b", 6: "<|end|>"}[i] for i in ids).lstrip()

    made = letters(join=join, special={"<|end|>": 6}, stops=(6,))
    assert [rollout_rows.piece(made, i) for i in (4, 5, 6)] == [" a", "b", "<|end|>"]
    assert rollout_rows.piece(letters(), 3) == ""  # an end without a name


def test_grpo_hands_over_every_step_with_what_is_trained_on(student, params):
    kept = []
    source = source_of(student, params, keep=lambda *step: kept.append(step))
    for step in range(2):
        source.next(params, step)
    assert [step for step, *_ in kept] == [1, 2]
    for _, rolled, advantages, trained in kept:
        assert trained.tolist() == [False, True, False, True]
        assert advantages.shape == rolled.rewards.shape
        np.testing.assert_allclose(advantages[1], [-(0.5**0.5), 0.5**0.5], 1e-5)
    every = source_of(
        student, params, groups="all", keep=lambda *step: kept.append(step)
    )
    _, found = every.next(params, 0)
    assert kept[-1][3].all()
    assert found["rollouts_s"] >= 0


@pytest.mark.parametrize("env", [name for name, env in envs.ENVS.items() if env.routes])
def test_the_answer_that_is_expected_is_right(env):
    for seed in range(3):
        problem = envs.make_problem(env, 2 + seed, seed)
        answer = envs.right_answer(problem)
        assert answer == envs.right_answer(problem)
        said = f"<think> So. </think> {envs.ENVS[env].form.format(answer)}"
        assert envs.judge(problem, said).solved, (env, seed)


# Reading -----------------------------------------------------------------------------


def test_files_are_found_by_arm_seed_and_step_in_order(keep, tmp_path):
    data = keep(1).read_bytes()
    for arm, seed, step in (("b", 0, 10), ("a", 10, 1), ("a", 2, 9), ("a", 2, 10)):
        folder = tmp_path / "arms" / arm / f"seed_{seed}" / "grpo" / "rollouts"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"step_{step}.parquet").write_bytes(data)
    (folder / "step_x.parquet").write_bytes(b"")
    (folder / ".step_3.parquet.tmp").write_bytes(b"")
    found = rollout_files.found(tmp_path)
    assert [(key, [*steps]) for key, steps in found.items()] == [
        (("a", 2), [9, 10]),
        (("a", 10), [1]),
        (("b", 0), [10]),
    ]
    assert rollout_files.found(tmp_path / "arms") == {}
    (tmp_path / "arms/c/seed_0/grpo").mkdir(parents=True)
    (tmp_path / "arms/c/seed_0/grpo/rollouts").write_text("no folder")
    assert rollout_files.found(tmp_path) == found


@pytest.mark.parametrize("size", [0, 3, 500])
def test_a_damaged_file_is_named(size, keep):
    path = keep(1)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(UserError, match=r"step_1.parquet cannot be read .* take the f"):
        rollout_files.read(path)


def test_a_file_of_something_else_is_named(keep):
    path = keep(1)
    pq.write_table(pq.read_table(path).drop_columns(["group"]), path)
    with pytest.raises(UserError, match=r"no file of rollouts: it has no column group"):
        rollout_files.read(path)
    assert rollout_files.read(path, ["step"]).num_columns == 1
    rows = pq.read_table(keep(2))
    at = rows.column_names.index("tokens")
    texts = pa.array([str(n) for n in rows["tokens"].to_pylist()])
    pq.write_table(rows.set_column(at, "tokens", texts), path)
    with pytest.raises(UserError, match="its column tokens holds string, not int32"):
        rollout_files.read(path)
    pq.write_table(rows.slice(0, 0), path)
    with pytest.raises(UserError, match=r"step_1.parquet has no rows; take it away"):
        rollout_files.read(path)


@pytest.mark.parametrize("text", ["[", "[1]", "[" * 10**5, "\0"])
def test_pieces_that_are_lost_leave_the_samples(text, keep):
    path = keep(1)
    rows = pq.read_table(path)
    assert rollout_files.pieces_of(rows)
    pq.write_table(rows.replace_schema_metadata({"pieces": text}), path)
    assert rollout_files.pieces_of(rollout_files.read(path)) == {}
