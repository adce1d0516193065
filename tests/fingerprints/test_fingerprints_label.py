"""The first rule that fires gives the type: hand-labelled steps for every rule."""

import pytest

from routejax.fingerprints import FAMILIES, label
from routejax.fingerprints.label import CONTENT, Rule, grammar, read
from routejax.fingerprints.rlve import GRAMMAR
from routejax.fingerprints.segment import segment

STEPS = {
    ("check", "says it checks"): [
        "Let me check that.",
        "Wait, let me double-check whether I made a mistake.",
        "To verify, plug it in.",
        "Is that right?",
        "Wait, check again.",
    ],
    ("correct", "owns up to an error or gives up a route"): [
        "Wait, no.",
        "No, that is wrong.",
        "I made a mistake above, maybe.",
        "So this doesn't work, alternatively we stop.",
        "That's not right.",
        "Let me start over.",
        "This is a contradiction.",
    ],
    ("check", "reports that a check came out"): [
        "Yes, that's correct.",
        "This works, since it is 7.",
        "Correct.",
    ],
    ("branch", "turns to another way"): [
        "Alternatively, maybe the answer is 4.",
        "Case 1: x is odd.",
        "Hmm, another approach would be to sort.",
    ],
    ("parse", "reads the problem"): [
        "The problem says that the answer is a number.",
        "We are given two numbers.",
        "Okay, so I need to find x.",
        "Given 3 and 4, add them.",
    ],
    ("answer", "gives the answer"): [
        "Therefore, the answer is 4.",
        "The final answer is probably 4.",
        "\\boxed{4}",
        "<answer>1 3</answer>",
        "In conclusion, 4.",
    ],
    ("decompose", "announces parts or an order of work"): [
        "First, split the list.",
        "Let me try to break it down.",
        "Okay, next, add 3 + 4 = 7.",
        "Step 2: add.",
        "1. **Step 1:** Add.",
    ],
    ("branch", "tries"): [
        "Let's try 5 * 7.",
        "Try 3 + 4 = 7.",
        "Instead, add them.",
    ],
    ("hypothesize", "supposes"): [
        "Maybe it is 4.",
        "Suppose x = 4.",
        "So if x is 4, then y is 5.",
        "What if we swap them?",
    ],
    ("evaluate", "judges"): [
        "That makes sense.",
        "I'm not sure.",
        "1 < 3 holds.",
        "$2 \\le 3$",
        "Too low.",
        "I think it is 4.",
    ],
    ("track_progress", "takes stock"): [
        "So far the list is 1 3.",
        "So the remaining two are 4 and 5.",
        "Now we have 3 + 4.",
    ],
    ("insight", "sees something"): [
        "Notice that both are even.",
        "So the key is symmetry.",
        "Interesting: they repeat.",
    ],
    ("infer", "draws a conclusion"): [
        "Therefore the order is 1 3.",
        "So the smallest is 1.",
        "Thus x = 4.",
        "Both are odd, which means their sum is even.",
    ],
    ("enumerate", "lists possibilities"): [
        "Let's list them.",
        "Go through them one by one.",
        "Option A: swap 3 and 4.",
    ],
    ("execute", "carries out a procedure"): [
        "Take 3 and 1.",
        "Apply the rule.",
        "Push 3.",
        "```\nx = 1\n```",
    ],
    ("manipulate", "transforms an expression or an object"): [
        "Substitute x = 4.",
        "Then, merge the two halves.",
        "Swap 3 and 1.",
        "Subtract 4 on both sides.",
    ],
    ("calculate", "computes"): [
        "3 + 4 is 7.",
        "x = 7",
        "Add them up.",
        "\\frac{1}{2}",
        "30 times 16 is 480.",
        "(2)(3) = 6",
    ],
    ("enumerate", "holds a list"): ["The numbers 3, 5, 7, 9 and 11 are odd."],
    ("execute", "shows a move"): ["A# #B -> #B A#", "U makes 3."],
    ("reason", "gives a ground"): ["Because it is odd.", "It stops since it is odd."],
    ("assert", "states as certain"): ["It must be odd.", "Recall that it is odd."],
    ("reason", "pauses to think"): ["Okay, let's see.", "Let me think again."],
    ("decompose", "names what is to be done"): [
        "We need to do it.",
        "Let me look at it.",
    ],
    ("correct", "revises in passing"): ["Actually, it is odd."],
    ("track_progress", "moves on"): ["Now the other side."],
    ("describe", "describes"): ["It is odd.", "That's odd.", "1 0 1 0", "A B C"],
    ("reason", "fallback"): ["Hmm.", "Wait, odd numbers again.", "數", "Okay."],
}


@pytest.mark.parametrize("row", STEPS, ids=" ".join)
def test_type_and_rule(row):
    for step in STEPS[row]:
        (note,) = read([step], GRAMMAR)
        assert (note.type, note.rule.name) == row, step


def test_every_rule_has_an_example_and_every_type_a_rule():
    assert list(STEPS) == [(rule.type, rule.name) for rule in GRAMMAR.rules]
    assert {rule.type for rule in GRAMMAR.rules} == set(GRAMMAR.vocabulary)


def test_every_row_says_why_and_only_the_last_fires_always():
    for rule in GRAMMAR.rules:
        assert rule.why
        fires = bool(rule.cues or rule.opening or rule.content)
        assert fires == (rule is not GRAMMAR.rules[-1])


def test_no_cue_stands_twice_where_the_later_could_never_decide():
    """A cue that counts anywhere hides the same cue in every later rule."""
    seen: dict[str, str] = {}
    for rule in GRAMMAR.rules:
        for cue in (*rule.cues, *rule.opening):
            assert cue not in seen, f"{cue!r} of {rule.name!r} is in {seen[cue]!r}"
        seen |= dict.fromkeys(rule.cues, rule.name)


def test_the_short_example():
    text = (
        "First, split the list. Take 3 and 1. So the smallest is 1. Wait, check "
        "again. 1 < 3 holds. Therefore the order is 1 3."
    )
    expected = ["decompose", "execute", "infer", "check", "evaluate", "infer"]
    assert label(segment(text), "rlve") == expected


def test_curly_apostrophes_capitals_and_odd_spaces_do_not_matter():
    assert label(["Let\u2019s verify it"], "rlve") == ["check"]
    assert (
        label(["WAIT,\u00a0NO"], "rlve") == label(["wait\nno"], "rlve") == ["correct"]
    )


def test_ties_go_to_the_earlier_row_whatever_the_order_in_the_step():
    rows = [
        Rule("b", "first", "", ("late",)),
        Rule("a", "second", "", ("early",)),
        Rule("a", "third", "", content="question"),
        Rule("c", "last", ""),
    ]
    by = grammar("abc", rows, GRAMMAR.roles, ())
    steps = ["early late", "early?", "why?", "late?", "no"]
    assert [note.type for note in read(steps, by)] == list("baabc")


def test_marks_do_not_change_types_and_come_from_cues_and_content():
    (note,) = read(["1. Wait, is the stack sorted?"], GRAMMAR)
    assert note.marks == {"doubt", "stack", "sorting", "asked", "numbered"}
    bare = FAMILIES["rlve"].grammar
    assert bare is not None
    unmarked = grammar(bare.vocabulary, bare.rules, bare.roles, bare.cues.openers)
    assert read(["1. Wait, is the stack sorted?"], unmarked)[0].type == note.type


CONTENT_EXAMPLES = {
    "arithmetic": (["x=1", "3 - 4", "3 × 4", "(3)+4", "\\sqrt{2}"], ["3, 4", "a-b"]),
    "comparison": (["1 < 3", "3≥-1", "1 \\leq 3"], ["x < 3", "1 \\left 3"]),
    "listing": (
        ["1, 2, 3, 4", "a, b, c, and d", "(0,1), (1,1), (2,1), (2,2)"],
        ["1, 2, 3", "we, you, they, all"],
    ),
    "row": (["1 0 1", "x: # . #", "A B C"], ["1 0", "1 of 2", "a b c"]),
    "arrow": (["a -> b", "a → b", "x \\to y"], ["a - b", "x \\top y"]),
    "numbered": (
        ["1. a", "Step 12: a", "**2)** a", "- 3. a"],
        ["a 1.", "1 a", "123. a", "3.5 a", "12:30 a"],
    ),
    "question": (["why?", 'why?"', "why?)**"], ["why? no", "?!x"]),
    "code": (["a ``` b"], ["`a`"]),
}


@pytest.mark.parametrize("content", CONTENT)
def test_content_tests(content):
    fires, silent = CONTENT_EXAMPLES[content]
    assert all(CONTENT[content](text) for text in fires)
    assert not any(CONTENT[content](text) for text in silent)
