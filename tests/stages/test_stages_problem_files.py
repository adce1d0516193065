"""Files of problems: rows and manifest, what is read back, and what is refused."""

import dataclasses
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from smoke_config import run_in, said

from routejax.envs import make_problem, split_of
from routejax.errors import UserError
from routejax.stages import pool, problem_files
from routejax.workdir import sha256

SORTS = [make_problem("sort", 2, seed) for seed in range(4)]
WALK = make_problem("walk", 1, 0)
CONFIG = {
    "sets": {
        "rl": {"envs": ["sort", "walk"], "difficulties": [1, 2], "per_cell": 3},
        "evaluation": {"envs": ["sort"], "difficulties": [2, 2], "per_cell": 1},
    },
    "seed": 0,
}


def cell(env, difficulty, problems):
    rows = {s: [*map(dataclasses.asdict, own)] for s, own in problems.items()}
    return {
        "env": env,
        "difficulty": difficulty,
        "problems": rows,
        "counts": {"draws": 9},
        "too_long": [],
        "failed": [],
    }


MADE = [
    cell("sort", 2, {"evaluation": SORTS[:1], "rl": SORTS[1:]}),
    cell("walk", 1, {"rl": [WALK]}),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "set.parquet"


def test_rows_come_back_and_the_manifest_says_what_is_missing(path):
    found = problem_files.write(path, MADE, CONFIG)
    assert problem_files.read(path) == {
        "sft": [],
        "rl": [*SORTS[1:], WALK],
        "evaluation": SORTS[:1],
    }
    table = pq.read_table(path)
    assert table.column_names == [
        *("id", "env", "difficulty", "seed", "prompt", "config", "split")
    ]
    assert table["split"].to_pylist() == ["rl"] * 4 + ["evaluation"]
    assert json.loads(table["config"][0].as_py()) == SORTS[1].config
    assert found["rows"] == 5
    assert found["splits"] == {
        "rl": {"rows": 4, "shortfalls": {"walk/1": 2}},
        "evaluation": {"rows": 1, "shortfalls": {}},
    }
    assert found["cells"][0]["kept"] == {"evaluation": 1, "rl": 3}
    assert found["sha256"] == sha256(path.read_bytes())
    assert found["versions"]["routejax"]
    assert json.loads(problem_files.manifest_of(path).read_text()) == found
    first = path.read_bytes()
    problem_files.write(path, MADE, CONFIG)
    assert path.read_bytes() == first
    assert len([*path.parent.iterdir()]) == 2


def test_one_prompt_in_two_environments_is_kept_once(path):
    twin = dataclasses.replace(SORTS[1], id="twin", env="distinct")
    made = [*MADE, cell("distinct", 2, {"rl": [twin]})]
    found = problem_files.write(path, made, CONFIG)
    assert found["same_prompt_as_another_env"] == {"distinct": ["twin"]}
    assert problem_files.read(path)["rl"] == [*SORTS[1:], WALK]


def test_a_finished_file_is_known_by_its_config_and_its_bytes(path):
    assert problem_files.finished(path, CONFIG) is None
    made = problem_files.write(path, MADE, CONFIG)
    assert problem_files.finished(path, CONFIG) == made
    with pytest.raises(UserError, match="not made by this config"):
        problem_files.finished(path, {**CONFIG, "seed": 1})
    path.write_bytes(path.read_bytes() + b"x")
    assert problem_files.finished(path, CONFIG) is None
    problem_files.manifest_of(path).unlink()
    with pytest.raises(UserError, match="not made by this config"):
        problem_files.finished(path, CONFIG)


def changed(path, **columns):
    table = pq.read_table(path)
    for name, values in columns.items():
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(values))
    pq.write_table(table, path)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"config": ["{}"] * 4 + ["{"]}, "row 4: config is not JSON"),
        ({"config": ["{}"] * 4 + ["[]"]}, "row 4: config must be an object"),
        ({"config": ["{}"] * 4 + [None]}, "row 4: there is no config"),
        ({"id": ["a", "b", "c", "b", "d"]}, "row 3: its id is that of row 1 too"),
        ({"env": ["sort"] * 4 + ["sorted"]}, "row 4: env must .*did you mean sort"),
        ({"split": ["rl"] * 4 + ["test"]}, "row 4: split must be one of sft, rl, eval"),
        ({"config": ["{}"] * 4 + ["[" * 10**5]}, "row 4: config is not JSON: maximum"),
        (
            {"config": ["{}"] * 4 + ['{"a": NaN}']},
            "row 4: config is not JSON: it has",
        ),
        ({"config": [{"a": 1}] * 5}, "column config must hold text, not struct"),
        ({"config": [b"{}"] * 5}, "column config must hold text, not binary"),
        ({"env": [["sort"]] * 5}, "column env must hold text, not list"),
        ({"split": [["rl"]] * 5}, "column split must hold text, not list"),
        ({"id": [1, 2, 3, 4, 5]}, "column id must hold text, not int64"),
        ({"id": ["a", "b", "c", "d", " "]}, "row 4: id must not be blank"),
        ({"prompt": ["a", "b", "c", "d", "\n"]}, "row 4: prompt must not be blank"),
        ({"prompt": [1, 2, 3, 4, 5]}, "column prompt must hold text, not int64"),
        ({"prompt": [None] * 5}, "row 0: there is no prompt"),
        (
            {"difficulty": [1, 2, 3, 4, 16]},
            "row 4: difficulty must be in 1..15, got",
        ),
        ({"difficulty": [2.0, 2.0, 2.0, 2.0, float("nan")]}, "column difficulty must"),
        (
            {"difficulty": ["2"] * 5},
            "column difficulty must hold whole numbers, not",
        ),
        ({"seed": [0, 1, 2, 3, None]}, "row 4: there is no seed"),
        ({"seed": [True] * 5}, "column seed must hold whole numbers, not bool"),
    ],
)
def test_a_row_that_is_not_right_is_named(path, columns, told):
    problem_files.write(path, MADE, CONFIG)
    changed(path, **columns)
    with pytest.raises(UserError, match=told):
        problem_files.read(path)


def test_text_that_is_no_utf8_is_told(path):
    problem_files.write(path, MADE, CONFIG)
    raw = pa.array([b"a", b"b", b"c", b"d", b"caf\xe9"])
    latin = pa.Array.from_buffers(pa.string(), 5, raw.buffers())
    table = pq.read_table(path)
    at = table.column_names.index("prompt")
    pq.write_table(table.set_column(at, "prompt", latin), path)
    with pytest.raises(UserError, match=r"column prompt is damaged: .*Invalid UTF8"):
        problem_files.read(path)


def test_names_may_be_a_dictionary(path):
    problem_files.write(path, MADE, CONFIG)
    before = problem_files.read(path)
    table = pq.read_table(path)
    coded = table["env"].combine_chunks().dictionary_encode()
    pq.write_table(table.set_column(1, "env", coded), path)
    assert problem_files.read(path) == before


@pytest.mark.parametrize("config", [{}, {"numbers": None}, {"numbers": -1}])
def test_a_config_that_the_environment_cannot_read_is_told_before_any_work(
    path, config
):
    odd = dataclasses.replace(SORTS[1], config=config)
    problem_files.write(path, [cell("sort", 2, {"rl": [odd]})], CONFIG)
    with pytest.raises(UserError, match=f"problem {odd.id} is none of env sort: .*Err"):
        problem_files.chosen(path, ["sort"], [2], 1, split="rl")


def test_a_question_in_two_splits_is_seen_under_whatever_id(path, tmp_path):
    twin = dataclasses.replace(SORTS[0], id="mine")
    made = [cell("sort", 2, {"rl": SORTS, "evaluation": [twin]})]
    problem_files.write(path, made, CONFIG)
    changes = {
        "envs": {"rl": ("sort",), "evaluation": ("sort",)},
        "difficulties": {"rl": (2, 2), "evaluation": (2, 2)},
        "problems": {"path": str(path), "rl_per_cell": 4, "evaluation_per_cell": 1},
        "grpo": {"prompts": 4},
    }
    with pytest.raises(UserError, match="problem mine is in both rl and evaluation"):
        pool.pool(run_in(tmp_path / "run", **changes))


def test_what_is_no_file_of_problems_is_told(path):
    with pytest.raises(UserError, match=r"make a file of them with python -m"):
        problem_files.read(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(UserError, match="cannot be read"):
        problem_files.read(path)
    pq.write_table(pa.table({"id": ["a"], "prompt": ["b"]}), path)
    with pytest.raises(UserError, match="has no column env, difficulty, seed, config"):
        problem_files.read(path)


def test_samples_are_spread_over_the_file():
    problems = {"rl": SORTS, "evaluation": [WALK]}
    first, second = problem_files.samples(problems, 2)
    assert first.startswith("sort, difficulty 2, rl, ")
    assert SORTS[0].prompt in first
    assert SORTS[2].id in second
    assert len(problem_files.samples(problems, 99)) == 5


def test_what_is_chosen_of_a_file(path):
    """The first of each cell, in the order asked; what is missing is counted."""
    problem_files.write(path, MADE, CONFIG)
    found = problem_files.chosen(path, ["walk", "sort"], [1, 2], 2, split="rl")
    assert found.problems == [WALK, *SORTS[1:3]]
    assert found.shortfalls == {"walk/1": 1, "walk/2": 2, "sort/1": 2}
    with pytest.raises(UserError, match=r"no problems of walk for evaluation .* sort$"):
        problem_files.chosen(path, ["sort", "walk"], [2], 1, split="evaluation")
    with pytest.raises(UserError, match=r"no problems of sort for rl .* sort, walk$"):
        problem_files.chosen(path, ["sort"], [9], 1, split="rl")


def test_a_file_is_known_by_its_bytes(path):
    problem_files.write(path, MADE, CONFIG)
    assert problem_files.digest(str(path)) == sha256(path.read_bytes())
    with pytest.raises(UserError, match="cannot be read from 'no"):
        problem_files.digest("no.parquet")


def test_problems_come_from_a_file_where_one_is_named(tmp_path):
    """The file's own, as many of a cell as asked; another file makes the stage anew."""
    path = tmp_path / "set.parquet"
    drawn = {one.id: one for one in (make_problem("modsum", 2, n) for n in range(99))}
    problems = {
        split: [one for one in drawn.values() if split_of(one) == split]
        for split in ("rl", "evaluation")
    }
    made = [
        {
            "env": "modsum",
            "difficulty": 2,
            "problems": {s: [vars(p) for p in own] for s, own in problems.items()},
            "counts": {},
        }
    ]
    config = {"sets": {split: {"per_cell": 1} for split in problems}}
    problem_files.write(path, made, config)
    changes = {
        "envs": {"rl": ("modsum",), "evaluation": ("modsum",)},
        "difficulties": {"rl": (2, 2), "evaluation": (2, 2)},
        "problems": {"path": str(path), "rl_per_cell": 9, "evaluation_per_cell": 2},
        "grpo": {"prompts": 8},
    }
    run = run_in(tmp_path / "run", **changes)
    first = pool.pool(run)
    for split, count in (("rl", 9), ("evaluation", 2)):
        found = pool.read_problems(tmp_path / "run" / "pool" / f"problems_{split}.json")
        assert found == problems[split][:count]
    assert pool.pool(run) == first
    made[0]["problems"]["rl"].reverse()
    problem_files.write(path, made, config)
    assert pool.pool(run) != first
    assert "was made with other problems than now" in said(run)


def test_what_became_of_draws_is_told_in_words():
    cells = [
        {"counts": {"draws": 9, "kept": 4, "beyond": 3, "error": 2}, "failed": []},
        {"counts": {"draws": 4, "kept": 2, "error": 2}, "failed": [[1, "no\nluck"]]},
    ]
    assert problem_files.said_draws(cells) == (
        "13 draws: 6 kept, 3 more than wanted, 4 failed; of those that failed 1 say: "
        "no luck"
    )


def test_problems_of_ones_own_are_saved_by_split_and_read_back(tmp_path):
    own = [dataclasses.replace(one, id=f"mine-{n}") for n, one in enumerate(SORTS)]
    path = tmp_path / "mine.parquet"
    problem_files.save(path, rl=iter(own[:3]), evaluation=[WALK])
    assert problem_files.read(path) == {
        "sft": [],
        "rl": SORTS[:3],
        "evaluation": [WALK],
    }


@pytest.mark.parametrize(
    ("problems", "told"),
    [
        ({"train": SORTS}, "split must be one of sft, rl, evaluation; got 'train'"),
        ({"rl": SORTS, "evaluation": SORTS[1:2]}, "of evaluation stands in rl already"),
        ({"rl": [WALK, WALK]}, "of rl stands in rl already"),
    ],
)
def test_what_cannot_be_a_file_of_problems_is_not_written(tmp_path, problems, told):
    with pytest.raises(UserError, match=told):
        problem_files.save(tmp_path / "mine.parquet", **problems)
    assert [*tmp_path.iterdir()] == []
