"""Programs and their tests: what is read, what is the same, and what comes of each."""

import importlib
import math
import time

import pytest

from routejax.envs.code import (
    Limits,
    Suite,
    config_of,
    outputs,
    program,
    results,
    suite_of,
    verdict,
)
from routejax.envs.code.testing import Result, Unusable
from routejax.envs.code.values import Other, decode, encode
from routejax.envs.judging import sandbox
from routejax.errors import UserError

WAYS = pytest.mark.parametrize(
    "bwrap",
    [None, *filter(None, [sandbox.found()])],
    ids=lambda bwrap: "bwrap" if bwrap else "limits",
)
ROOMY = Limits(test_s=30, total_s=60)  # for machines that are busy
TIGHT = Limits(test_s=4, total_s=60, output_bytes=10_000)


@pytest.mark.parametrize(
    ("response", "wanted"),
    [
        ("```python\na\n```", "a\n"),
        ("```python\na\n```\n```py\nb\n```", "b\n"),
        ("```python\na\n```\n```\nb\n```\n```json\n{}\n```", "a\n"),
        ("``` Python3 title=x\na\n  ```", "a\n"),
        ("~~~python\na\n```\n~~~", "a\n```\n"),
        ("````python\n```\na\n````", "```\na\n"),
        ("```python\na", None),
        ("```python\na\n```\n```python\nb", "a\n"),
        ("a", None),
        ("", None),
        ("<think>```python\na\n```</think> done", None),
        ("<think>```python\na\n```", None),
        ("<think>x</think>```python\na\n```", "a\n"),
        ("x ```python\na\n```", None),
    ],
)
def test_the_program_is_the_last_closed_block_of_python(response, wanted):
    assert program(response) == wanted


@pytest.mark.parametrize(
    "part", ["`", "```", "``` ", "```python ", "```python\n", "~ "]
)
def test_reading_takes_time_in_proportion(part):
    began = time.monotonic()
    program(part * (1_000_000 // len(part)) + "`")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("given", "expected", "way", "tolerance", "same"),
    [
        ("1 2\n3\n", "1 2 \n3\n\n", "lines", None, True),
        ("1 2\r\n3", "1 2\n3", "lines", None, True),
        ("1 2\n\n3", "1 2\n3", "lines", None, False),
        (" 1", "1", "lines", None, False),
        ("1  2\n\n3", "1 2 3", "tokens", None, True),
        ("1 2", "1 2 3", "tokens", None, False),
        ("1.0", "1", "tokens", None, False),
        ("1.0000001 x", "1 x", "lines", 1e-6, True),
        ("1.1", "1", "tokens", 1e-6, False),
        ("1000001", "1000000", "tokens", 1e-6, True),
        ("nan", "nan", "tokens", 1e-6, True),
        ("nan", "1", "tokens", 1e-6, False),
        ("inf", "1e999", "tokens", 1e-6, False),
        ("", "", "lines", None, True),
        ("", "1", "lines", None, False),
    ],
)
def test_outputs_agree_by_their_rules(given, expected, way, tolerance, same):
    found = outputs.same_text(given, expected, way=way, tolerance=tolerance)
    assert found == same


@pytest.mark.parametrize(
    ("given", "expected", "tolerance", "same"),
    [
        ((1, [2]), [1, [2]], None, True),
        ([1], [1, 2], None, False),
        ({1: "a", None: 2}, {"1": "a", "null": 2}, None, True),
        ({"1": "a"}, {"1": "b"}, None, False),
        ([], {}, None, False),
        (True, 1, None, False),
        (1, True, None, False),
        (True, True, None, True),
        (1.0, 1, None, True),
        (0.1 + 0.2, 0.3, None, False),
        ([0.1 + 0.2], [0.3], 1e-9, True),
        (math.nan, 1.0, 1e9, False),
        (10**400, 1.0, 1e-9, False),
        ("1", 1, None, False),
        ({1}, [1], None, False),
        (Other("Evil"), 1, None, False),
        (Other("Evil"), None, None, False),
    ],
)
def test_values_agree_by_their_rules(given, expected, tolerance, same):
    assert outputs.same_value(given, expected, tolerance=tolerance) == same


class Sly(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def test_values_come_back_and_plain():
    values = [
        *(None, True, 0, -(2**70), 10**5000, 1.5, "ü\ud800", b"\x00", 2j),
        *([1, (2, {3})], {(1, 2): [{}]}, frozenset({1})),
    ]
    assert decode(encode(values)) == values
    assert repr(decode(encode([1.0, -0.0, math.inf]))) == "[1.0, -0.0, inf]"
    assert math.isnan(decode(encode(math.nan)))
    assert type(decode(encode(Sly(3)))) is int
    assert decode(encode(object())) != object()
    for wrong in ({}, {"int": 3}, {"int": "x"}, {"set": [[1]]}, {"no": 1}, {"dict": 3}):
        with pytest.raises(ValueError):
            decode(wrong)


ADDS = "a, b = map(int, input().split())\nprint(a + b)\n"
PAIRS = [("1 2\n", "3"), ("5 5\n", "10\n")]


def outcomes(tests, text, bwrap, allowed=ROOMY):
    return [r.outcome for r in results(tests, text, allowed=allowed, bwrap=bwrap)]


@WAYS
def test_outputs_of_programs(bwrap):
    tests = Suite("stdio", PAIRS)
    assert outcomes(tests, ADDS, bwrap) == ["passed"] * 2
    assert outcomes(tests, "print(3)", bwrap) == ["passed", "wrong answer"]
    ends = "import sys\nif __name__ == '__main__':\n    print(3)\n    sys.exit({})"
    assert outcomes(tests, ends.format(0), bwrap)[0] == "passed"
    assert outcomes(tests, ends.format(1), bwrap)[0] == "runtime error"


WRONG = [
    ("print(", "syntax error", "never closed"),
    ("1 / 0", "runtime error", "ZeroDivisionError: division by zero"),
    ("x = 'a' * 10**10", "memory limit", "MemoryError"),
    ("while True: print('x' * 1000)", "output limit", ""),
    ("import os\nos.fork()", "runtime error", "PermissionError"),
    ("import subprocess\nsubprocess.run('true')", "runtime error", "not permitted"),
    ("import os\nos.abort()", "runtime error", "signal 6"),
    ("with open('/tmp/x', 'w') as f: f.write('x')", "runtime error", "too large"),
    ("import numpy", "runtime error", "No module named 'numpy'"),
    ("\x00", "syntax error", "null bytes"),
]


@WAYS
@pytest.mark.parametrize(
    ("text", "outcome", "detail"), WRONG, ids=lambda v: str(v)[:20]
)
def test_each_way_to_fail_has_a_name(bwrap, text, outcome, detail):
    if bwrap is None and "/tmp" in text:
        pytest.skip("files are only hidden by a sandbox")
    tests = Suite("stdio", [("", "")])
    (found,) = results(tests, text, allowed=TIGHT, bwrap=bwrap)
    assert found.outcome == outcome
    assert detail in found.detail


def test_root_has_no_rights_where_there_is_no_sandbox():
    text = "print([s for s in open('/proc/self/status') if s.startswith('CapEff')][0])"
    tests = Suite("stdio", [("", "CapEff:\t" + "0" * 16)])
    assert outcomes(tests, text, None) == ["passed"]


@WAYS
def test_time_is_limited_for_each_and_for_all(bwrap):
    allowed = Limits(test_s=1.0, total_s=1.5)
    began = time.monotonic()
    tests = Suite("stdio", [("", "")] * 9)
    found = outcomes(tests, "while True: pass", bwrap, allowed)
    assert time.monotonic() - began < 10
    assert found[:2] == ["timeout"] * 2
    assert set(found[2:]) == {"not run"}


ADD = "def add(a, b=0):\n    return a + b\n"


@WAYS
def test_values_of_functions(bwrap):
    tests = Suite("calls", [([1, 2], 3), ([[1], [2]], [1, 2]), (["a"], "a")], "add")
    found = results(tests, ADD, allowed=ROOMY, bwrap=bwrap)
    assert [r.outcome for r in found] == ["passed", "passed", "runtime error"]
    assert found[2].detail.startswith("TypeError")
    method = "class Solution:\n    def add(self, a, b=''):\n        return a + b\n"
    assert outcomes(tests, method, bwrap) == ["passed"] * 3
    (found, *_) = results(tests, "def sub(): 1", allowed=ROOMY, bwrap=bwrap)
    assert found == Result("runtime error", "NameError: name 'add' is not defined")
    assert outcomes(tests, "def add(:", bwrap) == ["syntax error"] * 3
    assert outcomes(tests, "1 / 0", bwrap) == ["runtime error"] * 3


@WAYS
def test_a_call_that_kills_the_program_costs_one_test(bwrap):
    text = "import os\ndef f(n):\n    return os._exit(0) if n == 2 else n\n"
    tests = Suite("calls", [([n], n) for n in (1, 2, 3)], "f")
    assert outcomes(tests, text, bwrap) == ["passed", "died", "passed"]


@WAYS
def test_assertions_in_python(bwrap):
    asserts = [
        "assert add(1, 2) == 3",
        "assert add([1], b=[2]) == [1, 2]",
        "import math\nassert math.isclose(add(0.1, 0.2), 0.3)",
        "try:\n    add('a', 1)\nexcept TypeError:\n    pass\nelse:\n    assert False",
        "assert add(1, 1) == 3",
        "assert [add(n, n) for n in range(3)] == [0, 2, 4]",
    ]
    found = outcomes(Suite("python", asserts), ADD, bwrap)
    assert found == ["passed"] * 4 + ["wrong answer", "passed"]
    with pytest.raises(Unusable):
        outcomes(Suite("python", ["assert add("]), ADD, bwrap)


PROMPT = (
    "import math\n\ndef half(x):\n    return x / 2\n\n"
    'def root_of_half(x: float) -> float:\n    """The root of half of x."""\n'
)
TEST = (
    "def check(candidate):\n    assert candidate(8) == 2\n"
    "    assert abs(candidate(4) - math.sqrt(half(4))) < 1e-9\n"
)
META = {"test": TEST, "entry_point": "root_of_half", "source": "by hand"}


@WAYS
def test_a_function_of_a_prompt(bwrap):
    tests = suite_of(config_of("humaneval", PROMPT, META))
    body = "    return math.sqrt(half(x))\n"
    alone = "from __future__ import annotations\ndef root_of_half(x):\n" + body
    for text in (PROMPT + body, body, alone):
        assert outcomes(tests, text, bwrap) == ["passed"]
    assert outcomes(tests, "    pass\n", bwrap) == ["wrong answer"]
    assert outcomes(tests, "    return 2\n", bwrap) == ["wrong answer"]
    assert outcomes(tests, "def other(): 1\n", bwrap) == ["wrong answer"]
    assert outcomes(tests, "x = (", bwrap) == ["syntax error"]
    broken = suite_of(config_of("humaneval", PROMPT, META | {"test": "def check(:"}))
    with pytest.raises(Unusable, match="setup"):
        outcomes(broken, body, bwrap)


def test_verdicts():
    good, bad = Result("passed"), Result("wrong answer", "printed '4'")
    assert verdict([good, good]).solved
    half = verdict([good, bad])
    assert (half.solved, half.score, half.status) == (False, 0.5, "answered")
    assert half.answer == "1 of 2 tests passed; test 2: wrong answer: printed '4'"
    assert verdict([Result("syntax error")]).status == "unparsed"


@pytest.mark.parametrize(
    ("tests", "kind", "items"),
    [
        ([{"input": "1", "output": "2"}], "stdio", [("1", "2")]),
        ({"inputs": ["1", ["2", "3"]], "outputs": ["4", "5"]}, "stdio", None),
        ('{"inputs": ["1"], "outputs": ["2"]}', "stdio", [("1", "2")]),
        ({"fn_name": "f", "inputs": [[1]], "outputs": [2]}, "calls", [([1], 2)]),
        (["assert f(1) == 2"], "python", ["assert f(1) == 2"]),
    ],
)
def test_forms_of_tests(tests, kind, items):
    name = "code_stdio" if kind == "stdio" else "code_functions"
    found = suite_of(config_of(name, "", {"ground_truth": tests}))
    assert found.kind == kind
    assert found.items == (items or [("1", "4"), ("2\n3", "5")])


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"kind": "java"}, "kind of code must be one of humaneval"),
        ({"kind": "code_stdio", "tests": []}, "has no tests"),
        ({"kind": "code_stdio", "tests": ["assert 1"]}, "inputs and outputs"),
        ({"kind": "code_stdio", "tests": [{"input": "1"}]}, "one of output"),
        ({"kind": "code_functions", "tests": {"inputs": [], "outputs": []}}, "fn_name"),
        ({"kind": "code_stdio", "tests": [], "compare": "x"}, "compare must be"),
    ],
)
def test_what_is_no_test_is_told(config, told):
    with pytest.raises(UserError, match=told):
        suite_of(config)


def test_a_program_is_started_without_a_fork_of_this_process():
    importlib.import_module("jax")  # which warns of forks, and warnings are errors
    assert outcomes(Suite("stdio", PAIRS), ADDS, None) == ["passed"] * 2
