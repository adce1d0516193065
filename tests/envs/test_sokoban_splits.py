"""Sokoban among the environments: sets, splits by board, and traces in every form."""

import pytest

from routejax.envs import SPLITS, judge, problem_set, split_of, write_trace
from routejax.envs.problem import Problem
from routejax.envs.sokoban import ENVIRONMENTS
from routejax.envs.sokoban.environment import config_of
from routejax.envs.sokoban.notation import canonical, parse

FORMS = [env.name for env in ENVIRONMENTS]


@pytest.mark.parametrize("env", FORMS)
def test_every_trace_of_a_set_is_accepted_where_the_form_asks_for_the_answer(env):
    drawn = problem_set([env], [1, 3, 6], 4, split="sft", seed=0)
    assert not drawn.shortfalls
    routes = next(one for one in ENVIRONMENTS if one.name == env).routes
    for problem in drawn.problems:
        for route, found in routes.items():
            for manner in found.manners:
                response = write_trace(problem, route, manner, 0)
                assert judge(problem, response).solved
                assert ("<answer>" in response) == (env != "sokoban_short")


def test_no_board_is_in_two_splits_in_any_form_turned_or_not():
    boards: dict[str, set[str]] = {}
    for split in SPLITS:
        drawn = [
            problem
            for env in FORMS
            for problem in problem_set([env], [1, 2], 60, split=split, seed=2).problems
        ]
        boards[split] = {canonical(parse(p.config["rows"])) for p in drawn}
        assert len(boards[split]) < len(drawn)  # some board was drawn twice or turned
    assert all(len(found) > 40 for found in boards.values())
    assert not boards["sft"] & boards["rl"]
    assert not (boards["sft"] | boards["rl"]) & boards["evaluation"]


def test_a_turned_board_is_in_the_split_of_the_board():
    drawn = problem_set(["sokoban"], [2], 20, split="rl", seed=0).problems
    for problem in drawn:
        rows = ["".join(c) for c in zip(*problem.config["rows"], strict=True)]
        config = config_of(parse(rows), "", problem.config["pushes"], "ragen")
        turned = Problem("", "sokoban_ragen", 2, 0, "another prompt", config)
        assert split_of(turned) == "rl"
