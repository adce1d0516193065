"""Drawing sets of problems: the same for any number of workers, and all accounted for.

The environment `draws` of `bad_verifiers` hangs, raises and repeats itself.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from routejax.envs import Environment, local, make_problem, registry, split_of
from routejax.envs.judging import Setting, Workers
from routejax.errors import UserError
from routejax.stages import problem_sets
from routejax.stages.problem_sets import Cell, Limits

ENVS = Path(__file__).parent.parent / "envs"
LIMITS = Limits(longest_prompt=100, draw_timeout_s=0.5, draws=50, failures=1000)


def drawn(cells, folder, *, count=2, limits=LIMITS, table=None, seed=0):
    names = {"table": table} if table else {}
    with Workers(count, Setting(modules=("routejax.envs.registry",))) as workers:
        return problem_sets.draw(
            cells,
            workers,
            limits,
            seed=seed,
            at_once=2 * count,
            folder=folder,
            **names,
        )


def test_cells_are_those_of_all_splits_once():
    sets = {
        "rl": {"envs": ("sort", "walk"), "difficulties": (1, 2), "per_cell": 3},
        "evaluation": {"envs": ("walk",), "difficulties": (2, 3), "per_cell": 1},
    }
    assert problem_sets.cells(sets) == [
        Cell("sort", 1, {"rl": 3}),
        Cell("sort", 2, {"rl": 3}),
        Cell("walk", 1, {"rl": 3}),
        Cell("walk", 2, {"rl": 3, "evaluation": 1}),
        Cell("walk", 3, {"evaluation": 1}),
    ]
    sets["rl"]["difficulties"] = (0, 2)
    with pytest.raises(UserError, match=r"sets\.rl\.difficulties must .* got 0, 2"):
        problem_sets.cells(sets)
    sets["rl"] = {"envs": ("walks",), "difficulties": (1, 2), "per_cell": 3}
    with pytest.raises(UserError, match="did you mean walk"):
        problem_sets.cells(sets)


def test_the_number_of_workers_changes_nothing(tmp_path):
    names = [env.name for env in local.ENVIRONMENTS][:3]
    cells = [
        Cell(env, level, {"rl": 30, "evaluation": 15})
        for level in (1, 7)
        for env in names
    ]
    found = []
    for count in (1, 3):
        folder = tmp_path / str(count)
        folder.mkdir()
        found.append(drawn(cells, folder, count=count))
    assert found[0] == found[1]
    assert [(c["env"], c["difficulty"]) for c in found[0]] == [c[:2] for c in cells]
    ids = [p["id"] for c in found[0] for own in c["problems"].values() for p in own]
    assert len(set(ids)) == len(ids) == len(cells) * 45
    for cell in found[0]:
        for split, problems in cell["problems"].items():
            for one in problems:
                problem = make_problem(one["env"], one["difficulty"], one["seed"])
                assert one == vars(problem)
                assert split_of(problem) == split
        counts = cell["counts"]
        assert counts["kept"] == 45
        assert sum(counts.values()) == 2 * counts["draws"]


@pytest.fixture
def draws(monkeypatch):
    monkeypatch.syspath_prepend(str(ENVS))
    told = pytest.fail
    far = Environment("draws", "slow", told, told, isolated=True)
    monkeypatch.setitem(registry.ENVS, "draws", far)
    for name in ("draws_halves", "other"):
        monkeypatch.setitem(registry.ENVS, name, far)


@pytest.mark.usefixtures("draws")
def test_what_hangs_raises_repeats_or_is_long_is_counted(tmp_path):
    cell = Cell("draws", 2, {"sft": 12, "rl": 5})
    (found,) = drawn([cell], tmp_path, table="bad_verifiers:ENVS")
    counts = found["counts"]
    assert {s: len(p) for s, p in found["problems"].items()} == {"sft": 12, "rl": 5}
    for reason in ("timeout", "error", "duplicate", "too long", "of another split"):
        assert counts[reason] > 0, reason
    assert sum(counts.values()) == 2 * counts["draws"]
    whys = Counter(why for _, why in found["failed"])
    assert whys == {
        "ValueError: no problem of this difficulty": counts["error"],
        "no reply in 0.5 s": counts["timeout"],
    }
    assert 0 < len(found["too_long"]) <= counts["too long"]
    kept = {p["id"] for own in found["problems"].values() for p in own}
    assert not kept & {*found["too_long"]}
    json.dumps(found)


@pytest.mark.usefixtures("draws")
def test_a_prompt_that_no_file_can_have_is_a_draw_that_failed(tmp_path):
    cell = Cell("draws_halves", 1, {"rl": 4})
    (found,) = drawn([cell], tmp_path, table="bad_verifiers:ENVS")
    assert found["counts"]["error"] == len(found["failed"]) > 0
    assert all(why.startswith("UnicodeEncodeError") for _, why in found["failed"])
    assert len(found["problems"]["rl"]) == 4
    for one in found["problems"]["rl"]:
        one["prompt"].encode()


@pytest.mark.usefixtures("draws")
def test_a_cell_is_given_up(tmp_path):
    """After some failures; or after all draws, where it has too few questions."""
    limits = Limits(longest_prompt=1, draw_timeout_s=5.0, draws=1, failures=3)
    cells = [Cell("sort", 1, {"rl": 2})]
    (found,) = drawn(cells, tmp_path, limits=limits)
    assert found["counts"] == {"draws": 3, "too long": 3}
    assert found["problems"] == {"rl": []}
    (tmp_path / "more").mkdir()
    limits = Limits(longest_prompt=99, draw_timeout_s=5.0, draws=1, failures=3)
    (found,) = drawn([Cell("modsum", 1, {"rl": 600})], tmp_path / "more", limits=limits)
    assert found["counts"]["draws"] == 200 + 600
    assert 0 < len(found["problems"]["rl"]) < 600


def test_finished_cells_are_taken_as_they_are(tmp_path):
    cells = [Cell("sort", level, {"rl": 3}) for level in (1, 2, 3)]
    whole = drawn(cells, tmp_path)
    (tmp_path / "sort-02.json").unlink()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert drawn(cells, tmp_path) == whole
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items())
    assert len(kept) == 2


def test_one_that_fails_ends_all(tmp_path):
    """A folder that cannot be written; the cells of the other environment go on."""
    cells = [Cell("sort", 1, {"rl": 3}), Cell("walk", 1, {"rl": 3})]
    (tmp_path / "sort-01.json").write_text("{")
    with pytest.raises(UserError, match=r"sort-01\.json is damaged"):
        drawn(cells, tmp_path)


@pytest.mark.usefixtures("draws")
def test_a_generator_that_draws_for_another_is_refused(tmp_path):
    """The table of the worker has another environment under the name."""
    sys.modules.pop("bad_verifiers", None)
    with pytest.raises(UserError, match="gave another problem than was asked for"):
        drawn([Cell("other", 1, {"rl": 1})], tmp_path, table="bad_verifiers:OTHERS")
