"""Where reasoning lies: by hand for every state and pair, and for any text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.spans import (
    MARKERS,
    PAIRS,
    STATES,
    Span,
    Strict,
    complete,
    find,
    split,
)

TOOL = "A <tool_call>{}</tool_call>"
CASES = [  # text, state, reasoning, answer; `c` is closed
    ("<think>\nSo.\n</think>\n\n4", "closed", "So.", "4"),
    ("Hm. <think>So.</think> 4", "closed", "So.", "4"),
    ("So.\n</think>\n4", "close_only", "So.", "4"),
    ("</think>4", "close_only", "", "4"),
    ("<think>\nSo. Th", "open_only", "So. Th", ""),
    (" So it is 4.\n", "none", "So it is 4.", ""),
    ("", "none", "", ""),
    (" \n\u2003", "none", "", ""),
    ("<think>\n\n</think>\n\n4", "closed", "", "4"),
    ("<think>So.</think>\n", "closed", "So.", ""),
    # more than one block, or a marker without its other half
    ("<think>A</think>and<think>B</think>4", "several", "A\n\nB", "4"),
    ("<think>A</think><think> </think>4", "several", "A", "4"),
    ("<think>A</think>B</think>4", "several", "A\n\nB", "4"),
    ("A</think>B</think>4", "several", "A\n\nB", "4"),
    ("<think>A<think>B</think>4", "several", "A\n\nB", "4"),
    ("<think>A</think>4<think>B", "several", "A\n\nB", ""),
    # words open a text, and close once
    ("think\nSo.\nanswer\nAnswer: 4", "closed", "So.", "Answer: 4"),
    ("\n think\nSo.\nanswer", "open_only", "So.\nanswer", ""),
    ("think\nA\nanswer\nB\nanswer\nC", "closed", "A", "B\nanswer\nC"),
    ("I\nthink\nso.\nanswer\n4", "none", "I\nthink\nso.\nanswer\n4", ""),
    # which pair decides: the one that begins the text, else the first of the table
    ("<reasoning>a <think> b</reasoning>4", "closed", "a <think> b", "4"),
    ("by <reasoning>: A</think>4", "close_only", "by <reasoning>: A", "4"),
    ("<think>A</think><thought>B</thought>", "closed", "A", "<thought>B</thought>"),
    ("think\n<think>A</think>4", "open_only", "<think>A</think>4", ""),
    # templates and special tokens, with bars of both kinds
    ("<｜User｜>Q<｜Assistant｜><think>\nA</think>4<｜end▁of▁sentence｜>", *"cA4"),
    ("<|im_start|>user\nQ<|im_end|><|im_start|>assistant\n<think>A</think>4", *"cA4"),
    ("[INST] Q [/INST]<think>A</think>4</s>", *"cA4"),
    ("a<|Assistant|><think>B</think>b<|Assistant|><think>A</think>4", *"cA4"),
    ("<｜begin▁of▁sentence｜>\n<think>A<|im_end|></think> <|im_end|>4", *"cA4"),
    ("<|im_end|> <|eot_id|> think\nA\nanswer\n4", *"cA4"),
    ("<|im_end|>A<|im_end|>B ", "none", "AB", ""),
    ("<|unknown|>A", "none", "<|unknown|>A", ""),
    (
        "<|start|>assistant<|channel|>analysis<|message|>A<|end|><|start|>assistant"
        "<|channel|>final<|message|>4<|return|>",
        *"cA4",
    ),
    ("<|begin_of_thought|>A<|end_of_thought|><|begin_of_solution|>4", *"cA4"),
    # text that only looks like a marker
    ("<THINK>A</THINK>4 < 5 <| [THIN", "none", "<THINK>A</THINK>4 < 5 <| [THIN", ""),
    ("<think>A <tool_call>{}</tool_call></think>", "closed", TOOL, ""),
]


@pytest.mark.parametrize(("text", "state", "reasoning", "answer"), CASES)
def test_spans_by_hand(text, state, reasoning, answer):
    state = {"c": "closed"}.get(state, state)
    assert find(text) == Span(state, reasoning, answer)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.opens)
def test_every_pair_in_every_state(pair):
    opens, closes, bare = pair
    whole = f"{opens}A{closes}"
    assert find(f"\n{whole}4") == Span("closed", "A", "4")
    assert find(f"{opens}A B") == Span("open_only", "A B", "")
    if not bare:
        assert find(f"A{closes}4") == Span("close_only", "A", "4")
        assert find(f"{whole}x{whole}4") == Span("several", "A\n\nA", "4")


def test_complete_is_one_closed_span_with_text_after_it():
    for state in STATES:
        known = state in ("closed", "close_only", "field")
        assert complete(Span(state, "A", "4")) is known
        assert not complete(Span(state, "", "4"))
        assert not complete(Span(state, "A", ""))


@pytest.mark.parametrize(
    ("response", "reasoning", "answer"),
    [
        ("<think>A</think> 4", "A", "4"),
        (" \n<think> A </think>", "A", ""),
        ("so <think>A</think>4", None, "4"),
        ("A</think>4", None, "4"),
        ("<think>A", None, "<think>A"),
        ("<think> </think>4", None, "4"),
        ("<think>A<think>B</think>4", None, "4"),
        ("<think>A</think>B</think>4", None, "4"),
        ("4 ", None, "4"),
    ],
)
def test_the_strict_form(response, reasoning, answer):
    assert split(response) == Strict(reasoning, answer)


PIECES = [
    *MARKERS,
    "think\n",
    "\nanswer\n",
    " ",
    "\n",
    "A",
    "é",
    "\u2003",
    "<",
    "[",
    "|",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(deadline=None, max_examples=150)
def test_what_holds_for_any_text(text):
    state, reasoning, answer = find(text)
    assert reasoning == reasoning.strip()
    assert answer == answer.strip()
    assert len(reasoning) + len(answer) <= len(text)
    assert state in STATES
    assert state != "field"
    if state in ("none", "open_only"):
        assert answer == ""
    assert find(f"\n{text} ") == Span(state, reasoning, answer)


@given(st.text("AB <>/\n", max_size=30), st.text("AB \n", max_size=9))
def test_the_strict_form_is_found_too(inside, after):
    strict = split(f"<think>{inside}</think>{after}")
    span = find(f"<think>{inside}</think>{after}")
    assert (span.reasoning or None, span.answer) == strict
    assert span.state == "closed"


@pytest.mark.parametrize("unit", ["</think>", "<think>A", "<|im_end|>", "a b. ", " "])
def test_time_grows_with_the_text_alone(unit):
    text = unit * (200_000 // len(unit))
    begin = time.process_time()
    find(text)
    assert time.process_time() - begin < 3  # quadratic would take much longer
