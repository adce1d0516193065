"""`make_problem`, `judge` and `write_trace`: total, strict, the same in any process."""

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.envs import (
    DIFFICULTIES,
    ENVS,
    Environment,
    judge,
    local,
    make_problem,
    right_answer,
    write_trace,
)
from routejax.errors import UserError
from routejax.traces import content_id

LOCAL = [env.name for env in local.ENVIRONMENTS]
EVERY_ENV = pytest.mark.parametrize("env", LOCAL)
PROBLEMS = [make_problem(env, 4, 7) for env in LOCAL]


def answered(problem):
    """The answer of a right response."""
    route = next(iter(ENVS[problem.env].routes))
    return write_trace(problem, route, "plain", 0).split("Answer: ")[1]


def test_what_exists():
    assert [
        *("sort", "modsum", "brackets", "ab", "walk", "countdown", "count", "reverse"),
        *("distinct", "fence"),
    ] == LOCAL
    assert list(ENVS)[: len(LOCAL)] == LOCAL
    assert all(env.name == name for name, env in ENVS.items())
    for env in local.ENVIRONMENTS:
        assert len(env.routes) >= 4
        assert all(
            {"plain", "check", "slip"} <= set(r.manners) for r in env.routes.values()
        )


@EVERY_ENV
def test_problems_are_records_of_json_types(env):
    for difficulty in DIFFICULTIES:
        problem = make_problem(env, difficulty, 11)
        assert json.loads(json.dumps(problem.config)) == problem.config
        assert problem.id == content_id("problem", env, problem.prompt)
        assert problem.prompt.isascii()
        assert problem == make_problem(env, difficulty, 11)
        assert len(problem.prompt.split()) <= 16


@EVERY_ENV
def test_equal_questions_have_equal_configs(env):
    seen = {}
    for seed in range(300):
        for difficulty in (1, 2):
            problem = make_problem(env, difficulty, seed)
            assert seen.setdefault(problem.prompt, problem.config) == problem.config


@EVERY_ENV
def test_even_difficulty_1_has_many_questions_and_15_is_longer(env):
    prompts = {make_problem(env, 1, seed).prompt for seed in range(1200)}
    assert len(prompts) >= 150
    longest = max(len(p.split()) for p in prompts)
    hard = [len(make_problem(env, 15, seed).prompt.split()) for seed in range(50)]
    assert min(hard) > longest - 1
    assert max(hard) > longest


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: make_problem("chess", 1, 0), "sort, modsum, brackets"),
        (lambda: make_problem("sorts", 1, 0), r"got 'sorts'; did you mean sort"),
        (lambda: make_problem("sort", 0, 0), r"1\.\.15"),
        (lambda: make_problem("sort", 16, 0), r"1\.\.15"),
        (lambda: write_trace(PROBLEMS[0], "magic", "plain", 0), "smallest, largest"),
        (lambda: write_trace(PROBLEMS[0], "merge", "loud", 0), "plain, check, slip"),
        (lambda: write_trace(PROBLEMS[0], "bubble", "plan", 0), "plain, check, slip"),
    ],
)
def test_a_mistake_is_told_what_exists(call, told):
    with pytest.raises(UserError, match=told):
        call()


def test_what_is_isolated_is_refused_here(monkeypatch):
    """Neither its generator nor its verifier runs, and no route is looked at."""
    told = pytest.fail
    far = Environment("far", "other", told, told, ENVS["sort"].routes, isolated=True)
    monkeypatch.setitem(ENVS, "far", far)
    problem = dataclasses.replace(PROBLEMS[0], env="far")
    with pytest.raises(UserError, match=r"env 'far' must not run in this process"):
        judge(problem, "<think> x </think> Answer: 1")
    with pytest.raises(UserError, match=r"python -m routejax\.problems"):
        make_problem("far", 1, 0)
    assert right_answer(problem) is None
    with pytest.raises(ValueError, match="isolate it"):
        Environment("near", "it", told, told, programs=True)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.env)
def test_statuses(problem):
    right = answered(problem)
    verdict = judge(problem, f"<think> x </think> Answer: {right}")
    assert (verdict.solved, verdict.score) == (True, 1.0)
    assert (verdict.status, verdict.answer) == ("answered", right)
    wide = right.replace(" ", " \n\t ")
    assert judge(problem, f"<think>x</think>\nAnswer:  {wide} \n").solved
    for text, status in {
        "": "no_answer",
        right: "no_answer",
        f"Answer: {right}": "no_answer",
        f"<think> x Answer: {right}": "no_answer",
        f"<think>  </think> Answer: {right}": "no_answer",
        f"<think> x </think> {right}": "no_answer",
        f"<think> x </think> The Answer: {right}": "no_answer",
        f"<think> x </think> answer: {right}": "no_answer",
        "<think> x </think> Answer:": "no_answer",
        f"<think> x </think> <think> y </think> Answer: {right}": "no_answer",
        f"</think> <think> x </think> Answer: {right}": "no_answer",
        "<think> x </think> Answer: what": "unparsed",
        f"<think> x </think> Answer: {right} !": "unparsed",
        f"<think> x </think> Answer: {right} Answer: {right}": "unparsed",
        f"<think> x </think> Answer: {right * 1000}": "unparsed",
    }.items():
        verdict = judge(problem, text)
        assert (verdict.solved, verdict.score) == (False, 0.0), text
        assert verdict.status == status, text[:80]


PIECES = st.sampled_from(
    ["<think>", "</think>", "Answer:", " ", "\n", "none", "(", "A#", "#B", "1", "+"]
)
ANY_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=())),  # surrogates too
    st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=30).map("".join),
)


@settings(deadline=None, max_examples=300)
@given(ANY_TEXT)
def test_judge_is_total(text):
    for problem in PROBLEMS:
        verdict = judge(problem, text)
        assert verdict.score == float(verdict.solved)
        assert verdict.status in ("answered", "no_answer", "unparsed")
        assert verdict.solved <= (verdict.status == "answered")
        answer = judge(problem, f"<think>x</think> Answer: {text}")
        assert answer.score == float(answer.solved)


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 150_000,
        "</think>" * 130_000,
        "<think>x</think>Answer: " + "1 " * 500_000,
        "<think>x</think>Answer: " + "(" * 1_000_000,
        "<think>x</think>" + "Answer: " * 125_000,
        "<think>" + "\u2003\U0001f600" * 250_000 + "</think> Answer: x",
        "<think>x</think>" + "\n" * 1_000_000,
        "<think>x</think>Answer: " + "9" * 1_000_000,
    ],
    ids=["opens", "closes", "ones", "nested", "answers", "unicode", "blank", "digits"],
)
def test_a_megabyte_is_judged_fast(text):
    began = time.perf_counter()
    assert not any(judge(problem, text).solved for problem in PROBLEMS)
    assert time.perf_counter() - began < 3.0  # quadratic: minutes


DIGEST = """
import hashlib
from routejax.envs import ENVS, local, make_problem, problem_set, write_trace
digest = hashlib.sha256()
for env in (env.name for env in local.ENVIRONMENTS):
    for difficulty in (1, 8, 15):
        problem = make_problem(env, difficulty, 5)
        digest.update(repr(problem).encode())
        for name, route in ENVS[env].routes.items():
            for manner in route.manners:
                digest.update(write_trace(problem, name, manner, 3).encode())
for problem in problem_set(["sort", "ab"], [1, 2], 5, split="rl", seed=0).problems:
    digest.update(problem.id.encode())
print(digest.hexdigest())
"""


def test_another_process_with_another_hash_seed_writes_the_same_bytes():
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == len(hashlib.sha256().hexdigest())
