"""Questions of every kind as problems, through the judges to their verdicts."""

import importlib.util
import json

import pytest

from routejax.envs import ENVS, Problem
from routejax.envs.benchmarks import KINDS, Question, problem_of
from routejax.envs.judging import Judges, request, sandbox
from routejax.errors import UserError

STDIO = {"ground_truth": [{"input": "2 3\n", "output": "5\n"}]}
FUNCTION = {"ground_truth": ["assert add(2, 3) == 5"]}
STUB = "def add(a, b):\n    'The sum.'\n"
HUMANEVAL = {
    "test": "def check(f):\n    assert f(2, 3) == 5",
    "entry_point": "add",
}
OBEYED = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
SORTING = {
    "environment": "Sorting",
    "config": {
        "seed": 1,
        "parameter": {"N": 3, "array": [3, 1, 2], "gold_answer": [1, 2, 3]},
        "passing_reward_threshold": 1.0,
    },
}
READS = "```python\nprint(sum(map(int, input().split())){})\n```"
ADDS = "```python\ndef add(a, b):\n    return a + b{}\n```"


def both(text, more=" + 1"):
    """A right response and one that is wrong by a little."""
    return text.format(""), text.format(more)


# kind, gold, meta, a right response, a wrong one, what it needs
CASES = [
    ("math", "1/2", {}, "\\boxed{0.5}", "\\boxed{0.6}", None),
    ("math", "4.2", {"tolerance": "0.1"}, "\\boxed{4.25}", "\\boxed{4.4}", None),
    ("choice", "B", {}, "Answer: B", "Answer: C", None),
    ("code_stdio", None, STDIO, *both(READS), "bubblewrap"),
    ("code_functions", None, FUNCTION, *both(ADDS), "bubblewrap"),
    ("humaneval", None, HUMANEVAL, *both(ADDS), "bubblewrap"),
    ("ifeval", None, OBEYED, "No commas", "Well, one", "if_verifiable"),
    ("rlve", None, SORTING, *both("<answer>1 2 3{}</answer>", "3"), "Gym"),
]


def missing(needed):
    if needed == "bubblewrap":
        return sandbox.found() is None
    return bool(needed) and importlib.util.find_spec(needed) is None


def question(kind, gold, meta):
    prompt = STUB if kind == "humaneval" else "?"
    return Question(f"{kind}-1", prompt, gold, kind, meta)


@pytest.mark.parametrize(
    ("kind", "gold", "meta", "right", "wrong", "needed"),
    [
        pytest.param(
            *case,
            marks=pytest.mark.skipif(missing(case[-1]), reason=f"needs {case[-1]}"),
        )
        for case in CASES
    ],
)
def test_a_question_is_a_problem_that_is_judged(kind, gold, meta, right, wrong, needed):
    problem = problem_of(question(kind, gold, meta))
    assert (problem.id, problem.difficulty) == (f"{kind}-1", 1)
    assert problem.env.split(":")[0] == KINDS[kind]
    assert problem.env in ENVS
    json.dumps(problem.config)
    with Judges(workers=1, timeout_s=60.0) as judges:
        found = judges.judge([request(problem, text) for text in (right, wrong)])
    assert [(v.solved, v.status) for v in found] == [
        (True, "answered"),
        (False, "answered"),
    ]


def test_every_kind_but_one_has_an_environment():
    assert {kind for kind, *_ in CASES} | {"ifbench", "enigmata"} == set(KINDS)
    found = problem_of(question("ifbench", None, OBEYED))
    assert found == Problem("ifbench-1", "instructions", 1, 0, "?", found.config)
    with pytest.raises(UserError, match="'enigmata', which no environment here judges"):
        problem_of(question("enigmata", None, {"task": "maze"}))


def test_a_question_without_tests_is_refused():
    with pytest.raises(UserError, match="no tests"):
        problem_of(question("code_stdio", None, {"ground_truth": []}))


@pytest.mark.parametrize(
    ("kind", "meta", "told"),
    [
        *(
            ("code_functions", {"ground_truth": odd}, told)
            for odd, told in (
                ([1, 2], "tests must be objects"),
                ([None], "tests must be objects"),
                (["assert 1", None], "tests must be objects"),
                ("[", "the tests are not JSON"),
                ("[" * 10**5, "the tests are not JSON"),
            )
        ),
        *(
            (
                "ifeval",
                {"ground_truth": [{"instruction_id": names} | more]},
                "a list of n",
            )
            for names, more in (
                (["a"], {}),
                (None, {"kwargs": [None]}),
                ([3], {"kwargs": [None]}),
                (["a"], {"kwargs": 5}),
                (["a"], {"kwargs": ["b"]}),
            )
        ),
        ("rlve", {"environment": "No such", "config": {}}, "env must be one of"),
    ],
)
def test_what_cannot_be_judged_names_its_question(kind, meta, told):
    with pytest.raises(UserError, match=f"question '{kind}-1': .*{told}"):
        problem_of(question(kind, None, meta))
