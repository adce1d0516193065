"""Responses that readers stumble over, in small, with what is to be found in each.

Cases of how text is cut into steps are here too: for a reader they must come through
unchanged. `recorded` adds the longer file of cases, `real` the traces, where they are.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

DATA = Path(__file__).parents[3] / "shared" / "data"

LOOP = "Wait, let me check again. " * 40
HUGE = "a b. " * 40_000


class Case(NamedTuple):
    """A response or an assistant message, and its span by hand."""

    given: Any
    state: str
    reasoning: str
    answer: str


CASES: dict[str, Case] = {
    "close_only": Case(
        "I need the sum.\nWait, 2+2=4.\n</think>\n\nIt is 4.",
        *("close_only", "I need the sum.\nWait, 2+2=4.", "It is 4."),
    ),
    "open_only_truncated": Case(
        "<think>\n17*3 = 51. Then",
        *("open_only", "17*3 = 51. Then", ""),
    ),
    "no_tags": Case("3x = 12, so x = 4.", *("none", "3x = 12, so x = 4.", "")),
    "several_blocks": Case(
        "<think>A</think>text<think>B</think>end",
        *("several", "A\n\nB", "end"),
    ),
    "empty_think": Case("<think>\n\n</think>\n\nRome.", *("closed", "", "Rome.")),
    "null_content": Case(
        {"role": "assistant", "content": None, "reasoning_content": "Let us see."},
        *("field", "Let us see.", ""),
    ),
    "other_delimiters": Case(
        "<|begin_of_thought|>\n\nYes\n\n<|end_of_thought|>\n\n"
        "<|begin_of_solution|>4<|end_of_solution|>",
        *("closed", "Yes", "4"),
    ),
    "chat_markup": Case(
        "<｜User｜>2+2?<｜Assistant｜><think>\nYes</think>4<｜end▁of▁sentence｜>",
        *("closed", "Yes", "4"),
    ),
    "tool_calls": Case(
        '<think>I call <tool_call>{"name":"py"}</tool_call> now.</think>',
        *("closed", 'I call <tool_call>{"name":"py"}</tool_call> now.', ""),
    ),
    "language_mix": Case(
        "<think>首先计算 3+4。等等，不对。</think>7",
        *("closed", "首先计算 3+4。等等，不对。", "7"),
    ),
    "crlf": Case(
        "One.\r\n\r\nWait, no.\rSo x=2.",
        *("none", "One.\r\n\r\nWait, no.\rSo x=2.", ""),
    ),
    "unicode_space_quotes": Case(
        "\u00a0Let’s verify\u202fthis.\u2009",
        *("none", "Let’s verify\u202fthis.", ""),
    ),
    "loops": Case(f"<think>{LOOP}", *("open_only", LOOP.strip(), "")),
    "huge_line": Case(HUGE, *("none", HUGE.strip(), "")),
    "code_fences": Case(
        "```python\nx = 1.\n\nprint(x. real)\n```\nSo.",
        *("none", "```python\nx = 1.\n\nprint(x. real)\n```\nSo.", ""),
    ),
    "latex_dots": Case(
        "e.g. 3.14, \\ldots, x_1.\\frac{1}{2}. Stop.",
        *("none", "e.g. 3.14, \\ldots, x_1.\\frac{1}{2}. Stop.", ""),
    ),
    "numbered_list": Case(
        "1. First.\n2. Second.\n   - sub.\n10) Last.",
        *("none", "1. First.\n2. Second.\n   - sub.\n10) Last.", ""),
    ),
    "display_math": Case(
        "\\[\nx = 1\n\n y = 2\n\\]\nDone.",
        *("none", "\\[\nx = 1\n\n y = 2\n\\]\nDone.", ""),
    ),
}
# These are about Arrow, not about a text: see the tests of parts and of the engine.
OF_ARROW = ("arrow_int32", "readonly_buffers")


def recorded() -> list[dict[str, Any]]:
    """The longer file of cases; none where it is absent."""
    path = DATA / "cases" / "trace_pitfalls.json"
    return json.loads(path.read_text())["items"] if path.exists() else []


def real() -> list[Path]:
    """Files of real traces; none where they are absent."""
    return sorted((DATA / "traces").glob("*.parquet"))


def layouts() -> list[Path]:
    """Files of raw rows as published; none where they are absent."""
    return sorted((DATA / "layouts").glob("*.jsonl"))


def responses() -> list[str]:
    """All responses of `real`."""
    return [
        text
        for path in real()
        for text in pq.read_table(path, columns=["response"])["response"].to_pylist()
    ]
