"""Tests from the config of a question, in the forms that files have them.

- "humaneval": a prompt that ends within a function, `test` that defines `check`, and
  `entry_point`;
- "code_stdio": inputs and outputs of the program, as a list of records or two lists;
- "code_functions": a list of assertions in Python, or `fn_name` with arguments and the
  values it must give.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from routejax.envs.code.outputs import WAYS
from routejax.envs.code.testing import Suite
from routejax.errors import UserError

KINDS = ("humaneval", "code_stdio", "code_functions")
_INPUT, _OUTPUT = ("input", "inputs"), ("output", "outputs", "expected_output")


def config_of(kind: str, prompt: str, meta: Mapping[str, Any]) -> dict:
    """What the environment `code` judges by, from a question of a benchmark.

    Raises `UserError` where there are no tests.
    """
    if kind == "humaneval":
        tests: Any = {name: meta[name] for name in ("test", "entry_point")}
        config = {"kind": kind, "prompt": prompt, "tests": tests}
    else:
        config = {"kind": kind, "tests": meta.get("ground_truth")}
    suite_of(config)
    return config


def suite_of(config: Mapping[str, Any]) -> Suite:
    """The tests of a config; options `compare`, `tolerance` say when outputs agree."""
    kind = config.get("kind")
    if kind not in KINDS:
        raise UserError(f"kind of code must be one of {', '.join(KINDS)}; got {kind!r}")
    way, tolerance = config.get("compare", "lines"), config.get("tolerance")
    if way not in WAYS:
        raise UserError(f"compare must be one of {', '.join(WAYS)}; got {way!r}")
    found: Any = config.get("tests")
    try:
        found = json.loads(found) if isinstance(found, str) else found
    except (ValueError, RecursionError) as error:
        raise UserError(f"the tests are not JSON: {error}") from None
    if kind == "humaneval":
        return _humaneval(config["prompt"], found)
    form, items, name = _items(kind, found)
    if not items:
        raise UserError(f"a question of kind {kind} has no tests")
    return Suite(form, items, name, way=way, tolerance=tolerance)


def _humaneval(prompt: str, tests: Mapping[str, str]) -> Suite:
    """`check` calls the function; other functions of the prompt are its own."""
    name = tests["entry_point"]
    setup = f"{prompt}\n{tests['test']}\ndel {name}\n"
    return Suite("python", [f"check({name})"], name, before=prompt, setup=setup)


def _items(kind: str, tests: Any) -> tuple[str, list, str]:
    """Form of the tests, the tests, and the function they call, if they name one."""
    if isinstance(tests, Mapping):
        pairs = list(zip(_column(tests, _INPUT), _column(tests, _OUTPUT), strict=True))
        name = tests.get("fn_name") or ""
        if kind == "code_functions" and not name:
            raise UserError("tests with inputs of a function must have its `fn_name`")
    elif (
        tests
        and isinstance(tests, list)
        and all(isinstance(test, str) for test in tests)
    ):
        if kind == "code_functions":
            return "python", tests, ""
        raise UserError("tests of a program must have inputs and outputs; got texts")
    else:
        rows = tests if isinstance(tests, list) else []
        if not all(isinstance(row, Mapping) for row in rows):
            raise UserError("tests must be objects with inputs and outputs, or texts")
        pairs = [(_column(r, _INPUT), _column(r, _OUTPUT)) for r in rows]
        name = next((r["fn_name"] for r in rows if r.get("fn_name")), "")
    if kind == "code_functions":
        return "calls", [(list(given), value) for given, value in pairs], name
    return "stdio", [(_text(given), _text(value)) for given, value in pairs], ""


def _column(tests: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in tests:
            return tests[name]
    raise UserError(
        f"a test must have one of {', '.join(names)}; it has {', '.join(tests)}"
    )


def _text(value: Any) -> str:
    """Lines where a file has them as a list."""
    return value if isinstance(value, str) else "\n".join(map(str, value))
