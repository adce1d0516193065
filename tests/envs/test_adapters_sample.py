"""A seeded sample of the tables, against the packages themselves where installed."""

import importlib.util
import json
import random

import pytest

from routejax.envs import adapters
from routejax.envs.adapters import tables
from routejax.envs.judging import (
    Call,
    Judges,
    Request,
    Setting,
    Workers,
    sandbox,
    tasks,
)

MODULE = {"gym": "reasoning_gym", "rlve": "Gym"}
FAMILY = pytest.mark.parametrize(
    "family",
    [
        pytest.param(
            family,
            marks=pytest.mark.skipif(
                importlib.util.find_spec(module) is None,
                reason=f"needs pip install 'routejax[{family}]'",
            ),
        )
        for family, module in MODULE.items()
    ],
)
TIMEOUT_S = 60.0
JUNK = "colourless green ideas sleep furiously"


def sample(family, number=10):
    """Tasks with gold answers that are drawn quickly, each with a usable difficulty."""
    quick = [t for t in tables.tasks(family) if t.gold == "all" and t.seconds < 0.2]
    rng = random.Random(f"sample/{family}")
    return [
        (f"{family}:{t.task}", rng.choice(t.difficulties))
        for t in rng.sample(quick, number)
    ]


def drawn(wanted):
    """What a worker of its own draws, as text."""
    setting = Setting((tasks.TABLE.partition(":")[0],), bwrap=sandbox.found())
    with Workers(1, setting) as pool:
        calls = [
            Call(f"{tasks.__name__}:draw", (tasks.TABLE, *one, 3), TIMEOUT_S)
            for one in wanted
        ]
        outcomes = pool.submit(calls).result()
    for one, outcome in zip(wanted, outcomes, strict=True):
        assert outcome.status == "ok", (one, outcome)
    return [json.dumps(outcome.value) for outcome in outcomes]


@FAMILY
def test_a_sample_draws_the_same_bytes_and_takes_its_gold_answers_only(family):
    wanted = sample(family)
    first, again = drawn(wanted), drawn(list(reversed(wanted)))[::-1]
    assert first == again  # in another process, after other requests
    problems = [json.loads(text) for text in first]
    configs = [problem[-1] for problem in problems]
    golds = [adapters.MODULES[family].gold(config) for config in configs]
    for *_, prompt, _ in problems:
        assert prompt.endswith("between <answer> and </answer>.")
        assert len(prompt) <= tables.LONGEST_PROMPT
    names = [name for name, _ in wanted]
    responses = [f"<think> so </think> <answer> {gold} </answer>" for gold in golds]
    junk = [f"<answer>{JUNK}</answer>"] * len(names)
    with Judges(workers=1, timeout_s=TIMEOUT_S) as pool:
        verdicts = pool.judge(
            [
                Request(name, config, response)
                for given in (responses, junk)
                for name, config, response in zip(names, configs, given, strict=True)
            ]
        )
    right, wrong = verdicts[: len(names)], verdicts[len(names) :]
    assert [v.solved for v in right] == [True] * len(names), names
    assert [v.status for v in right] == ["answered"] * len(names)
    assert not any(v.solved for v in wrong), names


@FAMILY
def test_the_table_names_the_tasks_of_the_package(family):
    setting = Setting((adapters.__name__,), bwrap=sandbox.found())
    with Workers(1, setting) as pool:
        place = f"routejax.envs.adapters.{family}:known"
        found = pool.submit([Call(place, (), TIMEOUT_S)]).result()[0]
    assert found.value == [task.task for task in tables.tasks(family)]
