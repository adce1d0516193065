"""Every route in every manner: right, consistent with itself, unlike other routes."""

import random
import re
from itertools import combinations

import pytest

from routejax.envs import (
    DIFFICULTIES,
    ENVS,
    judge,
    local,
    make_problem,
    write_trace,
)
from routejax.envs.local.fence import stop
from routejax.envs.local.walk import destination
from routejax.envs.pool import words
from routejax.envs.wording import CHECKS, CORRECTIONS, respond

LOCAL = [env.name for env in local.ENVIRONMENTS]
ROUTES = [(env, route) for env in LOCAL for route in ENVS[env].routes]
EVERY_ROUTE = pytest.mark.parametrize(("env", "route"), ROUTES)


def sentences(response):
    return re.split(r"(?<=\.)\s+", response.split(" </think>")[0][len("<think> ") :])


@EVERY_ROUTE
def test_every_manner_at_every_difficulty_is_accepted(env, route):
    for difficulty in DIFFICULTIES:
        for seed in range(6):
            problem = make_problem(env, difficulty, seed)
            for manner in ENVS[env].routes[route].manners:
                response = write_trace(problem, route, manner, seed)
                verdict = judge(problem, response)
                assert verdict.solved, (problem.prompt, response, verdict)
                assert response.isascii()
                assert re.fullmatch(
                    r"<think> \S.*\. </think> Answer: \S.*", response, re.S
                )
                assert response.count("\n\n") == (manner == "check")
                assert "  " not in response


@pytest.mark.parametrize("env", LOCAL)
def test_an_answer_to_another_problem_is_rejected(env):
    rejected = 0
    for seed in range(40):
        problem, other = make_problem(env, 6, seed), make_problem(env, 6, seed + 1000)
        response = write_trace(other, next(iter(ENVS[env].routes)), "plain", 0)
        verdict = judge(problem, response)
        assert verdict.status == "answered"
        rejected += not verdict.solved
    assert rejected >= 20


@EVERY_ROUTE
def test_a_slip_is_the_plain_text_with_a_wrong_sentence_and_its_correction(env, route):
    record = ENVS[env].routes[route]
    for seed in range(40):
        config = make_problem(env, DIFFICULTIES[seed % 15], seed).config
        plain = respond(record, "plain", config, random.Random(seed))
        slip = respond(record, "slip", config, random.Random(seed))
        mark = next(c for c in CORRECTIONS if f" {c} " in slip)
        before, after = slip.split(f" {mark} ")
        assert plain.endswith(after)
        right = plain[: len(plain) - len(after)]
        assert before.startswith(right)
        wrong = before[len(right) :]
        assert wrong
        assert not after.startswith(f"{wrong} ")


@EVERY_ROUTE
def test_a_wrong_step_differs_and_each_solution_has_one(env, route):
    for seed in range(400):
        config = make_problem(env, DIFFICULTIES[seed % 4], seed).config
        steps, _ = ENVS[env].routes[route].work(config, random.Random(seed))
        assert any(step.wrong for step in steps)
        assert all(step.wrong != step.text for step in steps)


SUM = re.compile(r"(?=(?<![+-] )\b(\d+) ([+-]) (\d+) (?:([+-]) (\d+) )?= (\d+))")
WORDED = re.compile(r"(\d) and (\d) (?:give|make) (\d)")
MODULUS = {"modsum": 7, "walk": 10}


def falsehoods(env, text):
    """Number of false sums in a text, and of all sums."""
    found = []
    for a, op, b, op2, c, total in SUM.findall(text):
        value = int(a) + int(f"{op}{b}") + (int(f"{op2}{c}") if c else 0)
        found.append(value - int(total))
    found += [int(a) + int(b) - int(c) for a, b, c in WORDED.findall(text)]
    if env in MODULUS:
        found = [x % MODULUS[env] for x in found]
    return sum(x != 0 for x in found), len(found)


ARITHMETIC = [
    *(("modsum", route) for route in ("left", "right", "pairs", "halves")),
    *(("walk", "net"), ("fence", "net")),
    *(("countdown", "guess"), ("countdown", "greedy")),
]


@pytest.mark.parametrize(("env", "route"), ARITHMETIC)
def test_sums_are_true_except_the_one_of_a_slip(env, route):
    slipped = 0
    for seed in range(60):
        problem = make_problem(env, DIFFICULTIES[seed % 15], seed)
        for manner in ENVS[env].routes[route].manners:
            text = write_trace(problem, route, manner, seed)
            false, total = falsehoods(env, text)
            assert total >= 2
            assert false <= (manner == "slip"), text
            slipped += false
    assert slipped >= 30  # a greedy slip can also be in a flip, which is no sum


@pytest.mark.parametrize(("env", "route"), [r for r in ROUTES if r[0] != "countdown"])
def test_no_step_is_wrong_outside_a_slip(env, route):
    for seed in range(10):
        problem = make_problem(env, 9, seed)
        for manner in ("plain", "check"):
            text = write_trace(problem, route, manner, seed)
            assert not any(c in text for c in CORRECTIONS)
            assert falsehoods(env, text)[0] == 0


SECOND_COMPUTATIONS = {
    "sort": lambda said, c: (
        sorted(said, key=int) == [str(x) for x in sorted(c["items"])]
    ),
    "modsum": lambda said, c: int(said[-1]) == sum(c["items"]) % 7,
    "countdown": lambda said, c: int(said[-1]) == c["target"],
    "count": lambda said, c: int(said[-1]) == c["items"].count(c["letter"]),
    "distinct": lambda said, c: (
        sorted(said, key=int) == [str(x) for x in sorted(set(c["items"]))]
    ),
    "walk": lambda said, c: _ends_at(said, destination(c)),
    "fence": lambda said, c: _ends_at(said, destination(c, stop)),
}


def _ends_at(said, cell):
    """By path, where the last cell ends it; or by count, with one sum for X and Y."""
    return [str(x) for x in cell] in (said[-2:], said[3::4])


@pytest.mark.parametrize("env", list(SECOND_COMPUTATIONS))
def test_the_check_comes_to_the_right_end(env):
    for route in ENVS[env].routes:
        for seed in range(20):
            problem = make_problem(env, DIFFICULTIES[seed % 15], seed)
            text = write_trace(problem, route, "check", seed)
            checked = text.split("\n\n")[1].split(" </think>")[0]
            assert checked.startswith(CHECKS)
            said = re.findall(r"\d+", checked)
            assert SECOND_COMPUTATIONS[env](said, problem.config), text


@pytest.mark.parametrize("env", LOCAL)
def test_a_plan_replaces_the_opening(env):
    for name, route in ENVS[env].routes.items():
        if not route.plan:
            continue
        problem = make_problem(env, 5, 1)
        text = write_trace(problem, name, "plan", 1)
        assert text.startswith(f"<think> {route.plan} ")
        assert not any(opening in text for opening in route.openings)


@pytest.mark.parametrize("env", LOCAL)
def test_routes_write_clearly_different_steps(env):
    for one, other in combinations(ENVS[env].routes, 2):
        shared = []
        for seed in range(25):
            problem = make_problem(env, 8, seed)
            a, b = (
                sentences(write_trace(problem, route, "plain", seed))
                for route in (one, other)
            )
            assert a != b
            shared.append(len({*a} & {*b}) / len({*a} | {*b}))
        assert sum(shared) / len(shared) < 0.4, (one, other)


@EVERY_ROUTE
def test_one_move_has_several_wordings(env, route):
    problem = make_problem(env, 6, 2)
    texts = {write_trace(problem, route, "plain", seed) for seed in range(30)}
    assert len(texts) >= 4
    assert write_trace(problem, route, "plain", 3) in texts


PARENTS = {"distinct": "sort", "fence": "walk"}


def _language(envs):
    """The words of all prompts and responses of some environments."""
    found = set()
    for env, route in ROUTES:
        for seed in range(30 if env in envs else 0):
            problem = make_problem(env, DIFFICULTIES[seed % 15], seed)
            for manner in ENVS[env].routes[route].manners:
                text = write_trace(problem, route, manner, seed)
                found |= set(re.findall(r"\w+|[^\w\s]", f"{problem.prompt} {text}"))
    return found


def test_a_variant_adds_one_word_to_the_language():
    known = _language([env for env in LOCAL if env not in PARENTS])
    assert _language(["distinct"]) - known == {"distinct"}
    assert _language(["fence"]) - known == {"fenced"}


@pytest.mark.parametrize("env", list(PARENTS))
def test_a_variants_prompt_is_its_parents_with_one_word_more(env):
    for seed in range(20):
        ours = make_problem(env, 5, seed)
        ours_words = re.findall(r"\w+|:", ours.prompt)
        parent_words = re.findall(r"\w+|:", make_problem(PARENTS[env], 5, seed).prompt)
        assert len(ours_words) == len(parent_words) + 1
        assert ours_words[0] == parent_words[0]
        assert ours_words[1] not in parent_words


def test_the_language_is_small_and_the_texts_short():
    vocabulary, easy, hard = set(), [], []
    for env, route in ROUTES:
        for seed in range(60):
            problem = make_problem(env, DIFFICULTIES[seed % 15], seed)
            for manner in ENVS[env].routes[route].manners:
                text = write_trace(problem, route, manner, seed)
                vocabulary |= set(
                    re.findall(r"\w+|[^\w\s]", f"{problem.prompt} {text}")
                )
                (easy if problem.difficulty <= 5 else hard).append(words(text))
    assert len(vocabulary) <= 250
    assert sum(easy) / len(easy) < 50
    assert max(easy) < 100
    assert max(hard) < 130
