"""The solver-written pool: every row verified, every row accounted for."""

import json

import pytest

from routejax.envs import ENVS, judge, make_problem, solver_pool, split_of, write_trace
from routejax.envs import pool as pool_module
from routejax.envs.pool import strategies, words
from routejax.errors import UserError
from routejax.traces import content_id, from_table, to_table

SEEN = ["sort", "modsum", "brackets", "ab", "walk", "countdown"]


class Counted:
    """Stands in for a progress stage."""

    def __init__(self):
        self.calls = []

    def update(self, done, note=""):
        self.calls.append(done)


@pytest.fixture(scope="module")
def made():
    return solver_pool(SEEN, [1, 5], 6, 5, seed=0, max_words=60)


def test_rows_can_be_made_again_from_what_they_hold(made):
    for trace in made.traces:
        problem = make_problem(trace.env, trace.difficulty, trace.seed)
        meta = json.loads(trace.meta)
        route, manner = trace.strategy.split("/")
        assert trace.prompt_id == problem.id
        assert trace.prompt == problem.prompt
        assert meta["config"] == problem.config
        assert trace.response == write_trace(problem, route, manner, meta["trace_seed"])
        assert trace.id == content_id(problem.id, trace.response)
        assert trace.source == f"solver/{route}"
        assert trace.group == trace.env
        assert trace.verified is judge(problem, trace.response).solved is True
        assert words(trace.response) <= 60
        assert split_of(problem) == "sft"


def test_counts_add_up(made):
    counts = made.counts
    rejected = {reason: len(ids) for reason, ids in counts["rejected"].items()}
    assert counts["problems"] == 6 * 2 * 6
    assert counts["written"] == counts["verified"] == counts["problems"] * 5
    assert counts["kept"] == len(made.traces)
    assert counts["kept"] + sum(rejected.values()) == counts["written"]
    assert rejected["over max_words"] > 0
    kept = {trace.id for trace in made.traces}
    assert len(kept) == len(made.traces)
    assert not kept & set(counts["rejected"]["over max_words"])


def test_strategies_of_a_prompt_differ_and_all_are_used():
    made = solver_pool(["sort"], [1, 2, 3], 20, 6, seed=2, max_words=1000)
    by_prompt = {}
    for trace in made.traces:
        by_prompt.setdefault(trace.prompt_id, []).append(trace.strategy)
    assert all(len(set(used)) == 6 for used in by_prompt.values())
    used = {strategy for strategies in by_prompt.values() for strategy in strategies}
    assert used == {f"{r}/{m}" for r, m in strategies("sort")}


def test_the_table_round_trips(made):
    assert list(from_table(to_table(made.traces))) == made.traces


def test_the_seed_decides_everything():
    def draw(seed):
        return solver_pool(["ab", "walk"], [2], 4, 3, seed=seed, max_words=200)

    assert draw(5) == draw(5)
    assert draw(5) != draw(6)


def test_progress_counts_prompts():
    stage = Counted()
    solver_pool(["count"], [1], 5, 2, seed=0, max_words=200, progress=stage)
    assert stage.calls == [1, 2, 3, 4, 5]


def test_rows_left_out_are_named_with_their_reason(monkeypatch):
    """A route that lies, and one that repeats itself."""

    def faulty(problem, route, manner, seed):
        if route == "smallest":
            return "<think> Guess. </think> Answer: 1 1 1"
        return write_trace(problem, "merge", "plain", 0)

    monkeypatch.setattr(pool_module, "write_trace", faulty)
    made = solver_pool(["sort"], [1], 4, len(strategies("sort")), seed=0, max_words=99)
    counts = made.counts
    smallest = len(ENVS["sort"].routes["smallest"].manners)
    assert counts["written"] == 4 * len(strategies("sort"))
    assert len(counts["rejected"]["not verified"]) == 4 * smallest
    assert counts["verified"] == counts["written"] - 4 * smallest
    assert counts["kept"] == 4
    assert len(counts["rejected"]["duplicate response"]) == counts["verified"] - 4


@pytest.mark.parametrize("number", [0, 99])
def test_more_traces_than_strategies_is_a_mistake(number):
    with pytest.raises(UserError, match=r"1\.\.16"):
        solver_pool(["sort"], [1], 1, number, seed=0, max_words=100)
