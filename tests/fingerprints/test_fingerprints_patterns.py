"""For each of the 64 patterns one route that has it and a near one that has not."""

import pytest
from fingerprints_routes import made

from routejax.fingerprints.patterns_rlve import PATTERNS, patterns
from routejax.fingerprints.rlve import GRAMMAR
from routejax.fingerprints.route import route

NAMES = [pattern.name for pattern in PATTERNS]

# Examples in lower case are types, the others are texts.
ON_OFF = {
    "direct_reasoning": ("parse calculate answer", "parse calculate check answer"),
    "single_path": ("parse calculate answer", "parse check answer"),
    "calculation_led": ("calculate manipulate infer answer", "calculate infer answer"),
    "inference_led": (
        "infer parse calculate answer",
        "infer parse calculate reason answer",
    ),
    "opens_with_problem": ("reason parse calculate", "reason calculate parse"),
    "ends_with_answer": ("parse answer", "answer parse"),
    "restates_answer": ("answer check answer", "check answer"),
    "verifies": ("parse check", "parse evaluate"),
    "verifies_often": ("check check check check", "check check check evaluate"),
    "checks_before_answer": (
        "check reason reason answer",
        "check reason reason reason answer",
    ),
    "checks_after_answer": (
        "answer reason reason check",
        "answer reason reason reason check",
    ),
    "check_confirms": (
        "Let me check the sum. One apple. That's correct.",
        "Let me check the sum. One apple. Two pears. Three plums. That's correct.",
    ),
    "check_refutes": ("check reason correct", "check reason reason correct"),
    "recomputes": ("check calculate", "check reason calculate"),
    "substitutes_back": ("Plugging back gives 4.", "Plugging in gives 4."),
    "tests_example": ("For example, take 3.", "Take 3."),
    "checks_constraints": ("Check that the constraint holds.", "The constraint holds."),
    "verification_burst": ("check evaluate check", "check evaluate reason check"),
    "explores": ("parse branch", "branch parse"),
    "sibling_alternatives": ("parse branch infer branch", "parse branch answer branch"),
    "case_analysis": ("Case 1: x is odd. Case 2: x is even.", "Case 1: x is odd."),
    "tests_hypothesis": (
        "hypothesize reason reason check",
        "hypothesize reason reason reason check",
    ),
    "assumes_for_contradiction": (
        "Suppose x is odd. That is a contradiction.",
        "That is a contradiction. Suppose x is odd.",
    ),
    "trial_and_error": ("Try 3. Try 4. Try 5.", "Try 3. Try 4. Take 5."),
    "explores_after_answer": ("parse answer branch", "parse branch answer"),
    "asks_itself": ("Is it 3? Is it 4?", "Is it 3? It is 4."),
    "backtracks": ("parse correct", "correct parse"),
    "backtracks_often": ("parse correct correct correct", "correct correct correct"),
    "returns_to_branch": (
        "parse reason branch correct",
        "parse reason branch answer infer correct",
    ),
    "returns_to_start": ("parse infer correct", "parse infer infer infer correct"),
    "restarts": ("Let me start over.", "Let me start."),
    "revises_late": (
        "parse reason reason reason correct reason",
        "parse reason reason correct reason reason",
    ),
    "rechecks_revision": (
        "correct reason reason evaluate",
        "correct reason reason reason evaluate",
    ),
    "voices_doubt": (
        "Wait, it is 3. Hmm, it is 4. Hold on, it is 5.",
        "Wait, it is 3. Hmm, it is 4. So hold the 5.",
    ),
    "decomposes": ("parse decompose", "parse reason"),
    "plans_first": ("parse reason decompose", "parse reason reason decompose"),
    "numbers_steps": ("1. Add.\n2. Sort.\n3. Stop.", "1. Add.\n2. Sort.\nStop."),
    "ordered_words": (
        "First, add. Then sort. Finally, stop.",
        "Finally, stop. First, add.",
    ),
    "takes_stock": ("track_progress track_progress", "track_progress reason"),
    "verifies_subgoals": (
        "decompose check decompose evaluate",
        "check decompose evaluate evaluate",
    ),
    "sums_up": ("In summary, it is 3.", "The sum is 3."),
    "works_backwards": ("Work backwards from 9.", "Work forwards from 2."),
    "sorting": ("Sort the list.", "Read the list."),
    "counting": ("Count the vowels.", "Read the vowels."),
    "stack": ("Push the bracket.", "Read it."),
    "simulation": ("Simulate one round.", "Read it."),
    "graph": ("Visit the node.", "Read it."),
    "grid": ("Look at the cell.", "Read it."),
    "equation": ("Solve the equation.", "Read it."),
    "modular": ("Take it modulo 7.", "Take it times 7."),
    "rewriting": ("Replace the string.", "Read it."),
    "dynamic_programming": ("Use dynamic programming.", "Use programming."),
    "optimisation": ("Find the minimum.", "Read it."),
    "combinatorics": ("Choose a subset.", "Read it."),
    "geometry": ("Draw the triangle.", "Read it."),
    "circular_reasoning": (
        "The sum of both is five. We add. We stop. The sum of both is five.",
        "The sum of both is five. We add. The sum of both is five.",
    ),
    "repeated_loop": (
        "Add one. Add two. Add one. Add two. Add one. Add two.",
        "Add one. Add two. Add one. Add two. Add one.",
    ),
    "oscillation": (
        "infer check infer check infer check",
        "infer check infer check infer",
    ),
    "abandoned_approach": (
        "parse branch reason branch",
        "parse branch infer branch",
    ),
    "conflicting_answers": (
        "The answer is 3. The answer is 4.",
        "The answer is 3. The answer is 3.",
    ),
    "unchecked_revision": ("parse correct", "parse correct check"),
    "no_answer": ("parse infer", "parse answer"),
    "overthinks": (
        "answer reason reason reason",
        "reason answer reason reason",
    ),
    "gives_up": ("I give up.", "I go on."),
}


def holds(example: str) -> dict[str, float]:
    taken = made(example) if example.islower() else route(example, GRAMMAR)
    return dict(zip(NAMES, patterns(taken).tolist(), strict=True))


def test_there_are_64_and_each_has_its_examples():
    assert len(NAMES) == len(set(NAMES)) == 64
    assert list(ON_OFF) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_on_and_off(name):
    on, off = ON_OFF[name]
    assert holds(on)[name] == 1
    assert holds(off)[name] == 0


def test_no_two_patterns_say_the_same():
    columns = zip(*(holds(e).values() for pair in ON_OFF.values() for e in pair))  # noqa: B905
    assert len(set(columns)) == 64


def test_a_procedure_needs_one_step_in_twenty():
    marks = {0: ["sorting"]}
    at = NAMES.index("sorting")
    assert patterns(made("reason " * 20, marks=marks))[at] == 1
    assert patterns(made("reason " * 21, marks=marks))[at] == 0


def test_a_loop_of_one_step_and_of_four():
    at = NAMES.index("repeated_loop")
    steps = ["a b", "c d", "e f", "g h"]
    assert patterns(made("reason " * 12, steps * 3))[at] == 1
    assert patterns(made("reason " * 11, (steps * 3)[:11]))[at] == 0
    assert patterns(made("reason " * 3, ["a b"] * 3))[at] == 1
    assert patterns(made("reason " * 15, [*steps, "i j"] * 3))[at] == 0  # five


def test_an_approach_is_not_abandoned_at_once_or_at_the_end():
    at = NAMES.index("abandoned_approach")
    assert patterns(made("parse branch branch"))[at] == 0
    assert patterns(made("parse branch reason reason"))[at] == 0
    assert patterns(made("parse branch reason correct"))[at] == 1
    assert patterns(made("parse correct reason branch"))[at] == 0


def test_nothing_holds_without_steps():
    assert not patterns(made("")).any()
