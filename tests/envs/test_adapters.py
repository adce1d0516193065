"""Environments of other packages: what holds without any of them being installed."""

import json
import random
import re
import types

import numpy as np
import pytest

from routejax import envs
from routejax.envs import DIFFICULTIES, adapters, registry
from routejax.envs.adapters import gym, rlve, tables
from routejax.envs.adapters.plain import from_json, to_json
from routejax.envs.adapters.randomness import fixed
from routejax.envs.judging import Judges, Request
from routejax.errors import UserError

ALL = {family: tables.tasks(family) for family in adapters.MODULES}


def test_the_tables_hold_every_task_once_and_say_why_one_is_left_out():
    assert {family: len(found) for family, found in ALL.items()} == {
        "gym": 105,
        "rlve": 400,
    }
    for family, found in ALL.items():
        names = [task.task for task in found]
        assert names == sorted(set(names)), family
        for task in found:
            assert bool(task.excluded) != bool(task.difficulties), task
            assert set(task.difficulties) <= set(DIFFICULTIES), task
            refused = [d for own in task.refused.values() for d in own]
            if not task.excluded:
                both = [*task.difficulties, *refused]
                assert sorted(both) == list(DIFFICULTIES), task


def test_names_of_usable_tasks_are_environments_that_run_in_workers_only():
    for family, found in ALL.items():
        for task in found:
            name = f"{family}:{task.task}"
            assert (name in envs.ENVS) == (task.excluded is None)
    assert envs.ENVS["gym:sudoku"].isolated
    assert envs.ENVS["rlve:Sorting"].isolated
    with pytest.raises(UserError, match="drawn by another package"):
        envs.make_problem("rlve:Sorting", 1, 0)
    with pytest.raises(UserError, match="must not run in this process"):
        envs.judge(envs.Problem("id", "gym:sudoku", 1, 0, "", {}), "<answer>1</answer>")


def test_tasks_whose_verifiers_are_wrong_are_refused_with_the_reason():
    for name, why in (
        ("gym:game_of_life_halting", "random text is accepted"),
        ("gym:puzzle24", "four numbers"),
        ("gym:codeio", "another process"),
        ("rlve:PolyaModel", "its own gold answer is rejected"),
    ):
        with pytest.raises(UserError, match=f"{name}.*{why}"):
            registry.environment(name)
    with pytest.raises(UserError, match="did you mean gym:sudoku"):
        registry.environment("gym:sodoku")


def test_a_difficulty_that_a_task_does_not_have_is_refused():
    with pytest.raises(UserError, match=r"must be in \(1,\); got 2"):
        registry.drawn(envs.ENVS["gym:acre"], 2, 0)


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv("RLVE_PATH", raising=False)


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize(
    ("env", "answer", "extra"),
    [
        ("gym:sudoku", "<answer>1</answer>", "gym"),
        ("rlve:Sorting", "<answer>1</answer>", "rlve"),
        ("instructions", "Words.", "instructions"),
        ("math", "\\boxed{\\int f}", "math"),
    ],
)
def test_a_verifier_that_is_not_installed_is_the_users_mistake(env, answer, extra):
    """And no wrong answer of every response."""
    hint = re.escape(f"pip install 'routejax[{extra}]'")
    with pytest.raises(UserError, match=hint):
        registry.require(["sort", env])
    with Judges(workers=1) as pool, pytest.raises(UserError, match=hint):
        pool.judge([Request(env, {"gold": "\\int g"}, answer)])


@pytest.mark.usefixtures("nothing_installed")
def test_what_is_missing_is_told_once_for_each_package():
    with pytest.raises(UserError) as told:
        registry.require(["gym:sudoku", "rlve:Sorting", "gym:gcd", "choice"])
    assert str(told.value).count("pip install") == 2


@pytest.mark.usefixtures("nothing_installed")
def test_a_checkout_of_rlve_stands_for_its_package(monkeypatch, tmp_path):
    monkeypatch.setenv("RLVE_PATH", str(tmp_path))
    with pytest.raises(UserError, match=f"must be a checkout of RLVE, got {tmp_path}"):
        registry.require(["rlve:Sorting"])
    (tmp_path / "Gym").mkdir()
    with pytest.raises(UserError, match="need networkx"):
        registry.require(["rlve:Sorting"])


def test_a_response_without_an_answer_needs_no_worker():
    with Judges(workers=1) as pool:
        verdicts = pool.judge(
            [
                Request("gym:sudoku", {}, "no tags"),
                Request("rlve:Sorting", {}, "<think><answer>1 2</answer>"),
                Request("rlve:Sorting", {}, f"<answer>{'1 ' * 9000}</answer>"),
            ]
        )
        assert pool.stats()["started"] == 0
    statuses = [verdict.status for verdict in verdicts]
    assert statuses == ["no_answer", "no_answer", "unparsed"]


def test_values_come_back_from_json_with_their_types():
    value = {
        "tuple": (1, (2.5, "a"), []),
        "set": {3, 1, 2},
        "frozen": frozenset({"x"}),
        "pairs": {(0, 1): [True, None], 7: {"a": -1}},
        "empty": {},
    }
    back = from_json(json.loads(json.dumps(to_json(value))))
    assert back == value
    assert list(map(type, back.values())) == [tuple, set, frozenset, dict, dict]
    assert type(back["pairs"][0, 1][0]) is bool


def test_subclasses_become_plain_and_others_are_refused():
    value = [np.int64(3), np.float64(0.5), np.str_("a"), np.array([[1, 2]]), np.True_]
    back = to_json(value)
    assert back == [3, 0.5, "a", [[1, 2]], True]
    kinds = [int, float, str, list, bool]
    assert [type(item) for item in back] == kinds
    with pytest.raises(TypeError, match="object has no form in JSON"):
        to_json({"a": [object()]})


def test_sets_are_written_the_same_whatever_their_order():
    assert to_json({"b", "a", "c"}) == {"__set__": ["a", "b", "c"]}


def test_global_generators_are_as_before_after_a_request_even_one_that_raises():
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = (random.random(), np.random.random())  # noqa: NPY002
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    inside = []

    def request():
        with fixed(11):
            inside.append((random.random(), np.random.random()))  # noqa: NPY002
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            request()
    assert inside[0] == inside[1]
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002


class Scorer:
    """An environment as rlve-gym has them, with a scorer that is given."""

    def __init__(self, score):
        self.score = score

    def set_config(self, config):
        self.config = config

    def scorer(self, output):
        return self.score(output)

    def verifier(self, output):
        try:
            score = self.scorer(output)
        except Exception:
            score = -1.0
        return {
            "reward": score,
            "accuracy": int(score >= 1),
            "format_score": int(score > -1),
        }


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (1.0, (True, "answered")),
        (0.9, (False, "answered")),
        (-1.0, (False, "unparsed")),
    ],
)
def test_solved_in_rlve_is_accuracy_and_never_a_share(monkeypatch, score, expected):
    monkeypatch.setattr(rlve, "_environment", lambda task: Scorer(lambda _: score))
    found = rlve.judge({"task": "T", "config": {}}, "<answer>1</answer>")
    assert (found.solved, found.status) == expected
    assert found.score == score


def test_a_scorer_that_raises_is_an_error_though_its_verifier_hides_it(monkeypatch):
    monkeypatch.setattr(rlve, "_environment", lambda task: Scorer(lambda _: 1 // 0))
    with pytest.raises(ZeroDivisionError):
        rlve.judge({"task": "T", "config": {}}, "<answer>1</answer>")


@pytest.mark.parametrize(("score", "solved"), [(1, True), (0.99, False), (0.01, False)])
def test_solved_in_reasoning_gym_is_a_score_of_one(monkeypatch, score, solved):
    seen = []

    def score_answer(answer, entry):
        seen.append((answer, entry))
        return score

    data = types.SimpleNamespace(score_answer=score_answer)
    monkeypatch.setattr(gym, "_dataset", lambda task, settings: data)
    config = {"task": "t", "settings": {}, "entry": {"answer": to_json((1, 2))}}
    found = gym.judge(config, "<answer>0</answer> no: <answer> 5\n</answer>")
    assert (found.solved, found.status, found.answer) == (solved, "answered", "5")
    assert seen == [("5", {"answer": (1, 2)})]


def test_a_score_that_is_no_number_raises(monkeypatch):
    data = types.SimpleNamespace(score_answer=lambda answer, entry: None)
    monkeypatch.setattr(gym, "_dataset", lambda task, settings: data)
    config = {"task": "t", "settings": {}, "entry": {}}
    with pytest.raises(TypeError, match="NoneType, no number"):
        gym.judge(config, "<answer>5</answer>")
