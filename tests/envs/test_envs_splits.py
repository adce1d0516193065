"""Problem sets: disjoint by content, distinct, complete or counted as short."""

import dataclasses
from collections import Counter

import pytest

from routejax.envs import SPLITS, local, make_problem, problem_set, registry, split_of
from routejax.errors import UserError

LOCAL = [env.name for env in local.ENVIRONMENTS]


def test_splits_are_disjoint_whatever_the_seed():
    prompts = {}
    for split in SPLITS:
        found = set()
        for seed in (0, 1):
            drawn = problem_set(LOCAL, [1, 3], 30, split=split, seed=seed)
            found |= {(p.env, p.prompt) for p in drawn.problems}
            assert all(split_of(p) == split for p in drawn.problems)
        prompts[split] = found
    assert not prompts["sft"] & prompts["rl"]
    assert not prompts["sft"] & prompts["evaluation"]
    assert not prompts["rl"] & prompts["evaluation"]


def test_the_split_depends_on_the_question_alone():
    by_question = {}
    for seed in range(400):
        for difficulty in (2, 3):
            problem = make_problem("modsum", difficulty, seed)
            split = by_question.setdefault(problem.prompt, split_of(problem))
            assert split_of(problem) == split


def test_a_key_keeps_questions_together(monkeypatch):
    """All that end in one digit are in one split, under the name of either env."""
    for name in ("modsum", "sort"):
        keyed = dataclasses.replace(
            registry.ENVS[name], key=lambda config: str(config["items"][-1])
        )
        monkeypatch.setitem(registry.ENVS, name, keyed)
    of_digit = {}
    for seed in range(300):
        for env in ("modsum", "sort"):
            problem = make_problem(env, 3, seed)
            digit = problem.config["items"][-1]
            assert of_digit.setdefault(digit, split_of(problem)) == split_of(problem)
    assert len(set(of_digit.values())) > 1


def test_shares_are_50_30_20():
    shares = Counter(split_of(make_problem("walk", 15, seed)) for seed in range(4000))
    for split, share in {"sft": 0.5, "rl": 0.3, "evaluation": 0.2}.items():
        assert shares[split] / 4000 == pytest.approx(share, abs=0.03)


def test_a_set_holds_what_was_asked_once_and_in_order():
    drawn = problem_set(["sort", "ab"], [2, 3, 15], 20, split="rl", seed=4)
    assert drawn.shortfalls == {}
    assert len({p.id for p in drawn.problems}) == len(drawn.problems) == 120
    cells = [(p.env, p.difficulty) for p in drawn.problems]
    assert cells[::20] == [(e, d) for e in ("sort", "ab") for d in (2, 3, 15)]
    assert cells == [cell for cell in cells[::20] for _ in range(20)]
    for p in drawn.problems:
        assert make_problem(p.env, p.difficulty, p.seed) == p


def test_sets_depend_on_the_seed_alone():
    def ids(seed):
        drawn = problem_set(["count"], [1, 2], 10, split="sft", seed=seed)
        return [p.id for p in drawn.problems]

    assert ids(3) == ids(3)
    assert ids(3) != ids(4)


def test_a_shortfall_is_counted():
    questions = {make_problem("modsum", 1, seed).prompt for seed in range(6000)}
    assert len(questions) == 7**3
    drawn = problem_set(["modsum"], [1], 300, split="evaluation", seed=0)
    assert 40 < len(drawn.problems) < 100
    assert drawn.shortfalls == {"modsum/1": 300 - len(drawn.problems)}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"split": "test"}, "sft, rl, evaluation"),
        ({"per_cell": 0}, "at least 1"),
        ({"difficulties": [20]}, r"1\.\.15"),
        ({"envs": ["go"]}, "sort, modsum"),
    ],
)
def test_mistakes(changed, told):
    asked = {"envs": ["sort"], "difficulties": [1], "per_cell": 1, "split": "sft"}
    asked |= changed
    with pytest.raises(UserError, match=told):
        problem_set(**asked, seed=0)
