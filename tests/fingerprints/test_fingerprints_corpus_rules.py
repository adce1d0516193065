"""The ten-type rule table: hand-labelled steps for every rule, order, size, marks."""

from itertools import groupby

import pytest

from routejax.fingerprints import rules_corpus as rules
from routejax.fingerprints.corpus import GRAMMAR
from routejax.fingerprints.label import read
from routejax.fingerprints.lexicon import words
from routejax.fingerprints.marks_corpus import MARKS, SUBJECTS

STEPS = {
    ("verification", "says it checks"): [
        "Let me double-check that.",
        "Wait, let me check whether I made a mistake.",
        "To verify, plug it in.",
        "Is that right?",
    ],
    ("verification", "reports that a check came out"): [
        "So that matches.",
        "That's correct.",
        "Which matches the 7 above.",
        "Correct.",
    ],
    ("backtracking", "owns up to an error"): [
        "Wait, no.",
        "I made a mistake above, alternatively not.",
        "That's not right.",
        "No, that's 4.",
    ],
    ("backtracking", "gives up a route"): [
        "So this doesn't work, alternatively we stop.",
        "Let me start over.",
        "This is a contradiction.",
        "Going back to Jeff.",
    ],
    ("exploration", "turns to another way"): [
        "Alternatively, maybe the answer is 4.",
        "Case 1: x is odd.",
        "Hmm, another approach would be to sort.",
        "Instead, add them.",
    ],
    ("exploration", "tries or supposes"): [
        "Let me try 5 * 7.",
        "Maybe it is 4.",
        "Suppose x = 4.",
        "What if we swap them?",
    ],
    ("backward_reasoning", "works from the goal"): [
        "Let's work backwards.",
        "To get 24, we use 6 * 4.",
        "It suffices to show that n is odd.",
    ],
    ("decomposition", "announces parts or an order of work"): [
        "First, split the list.",
        "Let me break it down.",
        "Okay, next, add 3 + 4 = 7.",
        "1. **Step 1:** Add.",
    ],
    ("conclusion", "gives the answer"): [
        "Therefore, the answer is 4.",
        "\\boxed{4}",
        "<answer>1 3</answer>",
        "So the final grid is this.",
    ],
    ("setup", "reads the problem"): [
        "The problem says that x is a number.",
        "Okay, so I need to find x.",
        "Given 3 and 4, add them.",
    ],
    ("setup", "names quantities and wants"): [
        "Let x be the number of cats.",
        "Let's denote it by x.",
        "So we need to add 3 + 4.",
    ],
    ("deduction", "draws a consequence"): [
        "Therefore x = 4.",
        "So the smallest is 1.",
        "Both are odd, which means their sum is even.",
        "It is odd since it is prime.",
        "If x is 4, then y is 5.",
    ],
    ("computation", "computes"): ["Multiply both.", "Then let me compute it."],
    ("computation", "shows arithmetic"): ["3 + 4 is 7.", "x = 7", "\\frac{1}{2}"],
    ("computation", "shows an order of numbers"): ["1 < 3 holds.", "$2 \\le 3$"],
    ("computation", "shows code"): ["```\nreturn x\n```"],
    ("computation", "shows a row"): ["1 0 1 0", "A B C"],
    ("commentary", "thinks aloud"): ["Hmm.", "Wait, odd again.", "I think it is odd."],
    ("commentary", "fallback"): ["It is odd.", "Then we stop.", "數", "Actually."],
}


@pytest.mark.parametrize("row", STEPS, ids=" ".join)
def test_type_and_rule(row):
    for step in STEPS[row]:
        (note,) = read([step], GRAMMAR)
        assert (note.type, note.rule.name) == row, step


def test_the_vocabulary_is_the_papers():
    assert rules.VOCABULARY == (
        "setup",
        "computation",
        "deduction",
        "verification",
        "backtracking",
        "exploration",
        "backward_reasoning",
        "decomposition",
        "commentary",
        "conclusion",
    )


def test_the_types_are_tried_in_the_order_of_the_specification():
    order = [kind for kind, _ in groupby(rule.type for rule in rules.RULES)]
    assert order == [
        "verification",
        "backtracking",
        "exploration",
        "backward_reasoning",
        "decomposition",
        "conclusion",
        "setup",
        "deduction",
        "computation",
        "commentary",
    ]


def test_what_types_do_to_the_tree():
    assert rules.ROLES.exploration == {"exploration"}
    assert rules.ROLES.verification == {"verification"}
    assert rules.ROLES.backtracking == {"backtracking"}
    assert rules.ROLES.closing == {"conclusion", "decomposition"}


def test_a_letter_for_each_type():
    assert list(rules.LETTERS) == list(rules.VOCABULARY)
    assert len(set(rules.LETTERS.values())) == 10
    assert all(len(letter) == 1 for letter in rules.LETTERS.values())


def test_every_rule_has_an_example():
    assert list(STEPS) == [(rule.type, rule.name) for rule in GRAMMAR.rules]


def test_every_row_says_why_and_only_the_last_fires_always():
    for rule in GRAMMAR.rules:
        assert rule.why
        fires = bool(rule.cues or rule.opening or rule.content)
        assert fires == (rule is not GRAMMAR.rules[-1])


def inside(part: list[str], whole: list[str]) -> bool:
    return any(
        whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1)
    )


def test_no_cue_is_hidden_by_one_that_is_a_part_of_it():
    """A cue that counts anywhere decides wherever a later, longer one would."""
    seen: list[list[str]] = []
    for rule in GRAMMAR.rules:
        own = [words(cue) for cue in rule.cues]
        for cue in (*rule.cues, *rule.opening):
            said = words(cue)
            hiding = [part for part in [*seen, *own] if inside(part, said)]
            assert hiding == ([said] if cue in rule.cues else []), cue
        seen += own


def test_the_tables_stay_small_enough_for_one_automaton_and_one_word_of_flags():
    rows = [*rules.RULES, *MARKS]
    cues = {cue for row in rows for cue in (*row.cues, *row.opening)}
    assert len(cues) <= 350
    assert len(MARKS) == len({mark.name for mark in MARKS}) <= 48
    assert set(SUBJECTS) <= {mark.name for mark in MARKS}


MARKED = {
    "doubt": "Wait, it is 3.",
    "hedged": "It is perhaps 3.",
    "asked": "Is it 3?",
    "numbered": "1. Add.",
    "ordinal": "Then add.",
    "first": "Step 1: add.",
    "last": "Finally, add.",
    "confirmed": "That's right.",
    "substituted back": "Put it back into the sum.",
    "example": "For example, 3.",
    "edge case": "An edge case is 0.",
    "erred": "It was a mistake.",
    "restarted": "Let's redo it.",
    "other way": "Take a different way.",
    "case": "In each case it is 3.",
    "assumed": "We assume 3.",
    "contradicted": "It is impossible.",
    "tried": "We try 3.",
    "option": "Look at the options.",
    "boxed": "\\boxed{3}",
    "summed up": "In conclusion, 3.",
    "given up": "I am stuck.",
    "backwards": "Work backwards.",
    "algebra": "The roots.",
    "number theory": "All primes.",
    "combinatorics": "Two ways.",
    "probability": "The probability.",
    "geometry": "The triangle.",
    "calculus": "The integral.",
    "proof": "The proof.",
    "program": "The loop.",
    "data structure": "The stack.",
    "recursion": "The base case.",
    "physics": "The force.",
    "life and matter": "The acid.",
}


def test_every_mark_has_an_example():
    assert list(MARKED) == [mark.name for mark in MARKS]


@pytest.mark.parametrize("name", MARKED)
def test_mark(name):
    (marked, plain) = read([MARKED[name], "It is 3."], GRAMMAR)
    assert name in marked.marks
    assert not plain.marks
