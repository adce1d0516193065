"""For each of the 64 patterns one route that has it and a near one that has not."""

import fingerprints_routes
import pytest

from routejax.fingerprints.corpus import GRAMMAR
from routejax.fingerprints.marks_corpus import SUBJECTS
from routejax.fingerprints.patterns_corpus import FEATURES, PATTERNS, patterns
from routejax.fingerprints.route import Route, route
from routejax.fingerprints.rules_corpus import ROLES
from routejax.fingerprints.tree import grow

NAMES = [pattern.name for pattern in PATTERNS]

# Types by their first letters, as long as they tell.
SHORT = {
    "set": "setup",
    "com": "computation",
    "ded": "deduction",
    "ver": "verification",
    "back": "backtracking",
    "exp": "exploration",
    "rev": "backward_reasoning",
    "dec": "decomposition",
    "mut": "commentary",
    "con": "conclusion",
}

# Examples in lower case are types, the others are texts.
ON_OFF = {
    "direct_reasoning": ("set com con", "set com ver con"),
    "single_path": ("set com con", "set ver con"),
    "computation_led": ("com com ded con", "com ded con"),
    "deduction_led": ("ded set con", "ded set mut con"),
    "opens_with_setup": ("mut set com", "mut com set"),
    "ends_with_conclusion": ("set con", "con set"),
    "boxes_answer": ("It is \\boxed{3}.", "It is 3."),
    "verifies": ("set ver", "set com"),
    "verifies_often": ("ver" + " mut" * 9, "ver" + " mut" * 10),
    "checks_before_conclusion": ("ver mut mut con", "ver mut mut mut con"),
    "checks_after_conclusion": ("con mut mut ver", "con mut mut mut ver"),
    "check_confirms": (
        "Let me check the sum. One apple. That's correct.",
        "Let me check the sum. One apple. Two pears. That's correct.",
    ),
    "check_refutes": ("ver mut back", "ver mut mut back"),
    "recomputes": ("ver com", "ver mut com"),
    "substitutes_back": ("Plugging back gives 4.", "Plugging in gives 4."),
    "tests_example": ("For example, take 3.", "Take 3."),
    "tests_edge_cases": ("An edge case is 0.", "An edge is 0."),
    "verification_burst": ("ver ver ver", "ver ver mut ver"),
    "explores": ("set exp", "exp set"),
    "sibling_alternatives": ("set exp ded exp", "set exp con exp"),
    "changes_method": (
        "Alternatively, add. Another way is to count.",
        "Alternatively, add. One way is to count.",
    ),
    "case_analysis": ("Case 1: x is odd. Case 2: x is even.", "Case 1: x is odd."),
    "tests_trial": ("exp mut mut ver", "exp mut mut mut ver"),
    "assumes_for_contradiction": (
        "Suppose x is odd. That is a contradiction.",
        "That is a contradiction. Suppose x is odd.",
    ),
    "trial_and_error": ("Try 3. Try 4. Try 5.", "Try 3. Try 4. Take 5."),
    "explores_after_conclusion": ("set con exp", "set exp con"),
    "asks_itself": ("Is it 3? Is it 4?", "Is it 3? It is 4."),
    "backtracks": ("set back", "back set"),
    "backtracks_often": ("set back back back", "back back back"),
    "returns_to_branch": ("set mut exp back", "set mut exp con ded back"),
    "returns_to_start": ("set ded back", "set ded ded ded back"),
    "restarts": ("Let me start over.", "Let me start."),
    "admits_error": ("It was a mistake.", "It was a mist."),
    "revises_late": ("set mut mut mut back mut", "set mut mut back mut mut"),
    "rechecks_revision": ("back mut mut ver", "back mut mut mut ver"),
    "voices_doubt": (
        "Wait, it is 3. Hmm, it is 4. Hold on, it is 5.",
        "Wait, it is 3. Hmm, it is 4. So hold the 5.",
    ),
    "decomposes": ("set dec", "set mut"),
    "plans_first": ("set mut dec", "set mut mut dec"),
    "numbers_steps": ("1. Add.\n2. Sort.\n3. Stop.", "1. Add.\n2. Sort.\nStop."),
    "ordered_words": (
        "First, add. Then sort. Finally, stop.",
        "Finally, stop. First, add.",
    ),
    "verifies_subgoals": ("dec ver dec ver", "ver dec ver ver"),
    "sums_up": ("In summary, it is 3.", "The sum is 3."),
    "reasons_backwards": ("set rev", "set dec"),
    "algebra": ("Take the equation.", "Read it."),
    "number_theory": ("It is divisible.", "Read it."),
    "combinatorics": ("All permutations.", "Read it."),
    "probability": ("The expected value.", "Read it."),
    "geometry": ("A circle.", "Read it."),
    "calculus": ("The derivative.", "Read it."),
    "proof": ("The lemma.", "Read it."),
    "program": ("The function.", "Read it."),
    "data_structure": ("The queue.", "Read it."),
    "recursion": ("The recurrence.", "Read it."),
    "physics": ("The velocity.", "Read it."),
    "life_and_matter": ("The protein.", "Read it."),
    "weighs_options": (
        "Option A is odd. Option B is odd. Option C is odd.",
        "Option A is odd. Option B is odd. C is odd.",
    ),
    "circular_reasoning": (
        "The sum of both is five. We add. We stop. The sum of both is five.",
        "The sum of both is five. We add. The sum of both is five.",
    ),
    "repeated_loop": (
        "Add one. Add two. Add one. Add two. Add one. Add two.",
        "Add one. Add two. Add one. Add two. Add one.",
    ),
    "oscillation": ("ded ver ded ver ded ver", "ded ver ded ver ded"),
    "abandoned_approach": ("set exp mut exp", "set exp ded exp"),
    "unchecked_revision": ("set back", "set back ver"),
    "no_conclusion": ("set ded", "set con"),
    "overthinks": ("con mut mut mut", "mut con mut mut"),
    "gives_up": ("I am stuck.", "I go on."),
}


def made(types: str, **kwargs) -> Route:
    spelt = " ".join(SHORT[kind] for kind in types.split())
    taken = fingerprints_routes.made(spelt, **kwargs)
    return taken._replace(tree=grow(taken.types, ROLES))


def holds(example: str) -> dict[str, float]:
    taken = made(example) if example.islower() else route(example, GRAMMAR)
    return dict(zip(NAMES, patterns(taken), strict=True))


def test_there_are_64_and_each_has_its_examples():
    assert len(NAMES) == len(set(NAMES)) == len(FEATURES) == 64
    assert list(ON_OFF) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_on_and_off(name):
    on, off = ON_OFF[name]
    assert holds(on)[name] == 1
    assert holds(off)[name] == 0


def test_no_two_patterns_say_the_same():
    columns = zip(*(holds(e).values() for pair in ON_OFF.values() for e in pair))  # noqa: B905
    assert len(set(columns)) == 64


@pytest.mark.parametrize("mark", SUBJECTS)
def test_a_subject_needs_one_step_in_twenty(mark):
    at = NAMES.index(mark.replace(" ", "_"))
    assert patterns(made("mut " * 20, marks={0: [mark]}))[at] == 1
    assert patterns(made("mut " * 21, marks={0: [mark]}))[at] == 0


@pytest.mark.parametrize(
    ("name", "routes"),
    [
        ("direct_reasoning", ["set con exp", "set con back", "set com"]),
        ("check_confirms", ["com con", "ver"]),
        ("revises_late", ["set com"]),
        ("overthinks", ["mut mut mut mut"]),
        ("unchecked_revision", ["set ver", "ver back ver"]),
        ("abandoned_approach", ["set exp exp", "set exp mut mut", "set back mut exp"]),
        ("abandoned_approach", ["set exp con exp", "set exp ver exp"]),
        ("explores_after_conclusion", ["set com exp"]),
        ("verifies_subgoals", ["dec ver mut ver", "ver ver dec mut"]),
    ],
)
def test_more_that_do_not_hold(name, routes):
    at = NAMES.index(name)
    assert not any(patterns(made(types))[at] for types in routes)


@pytest.mark.parametrize(
    ("name", "routes"),
    [
        ("abandoned_approach", ["set exp mut back", "set ded exp mut exp"]),
        ("explores_after_conclusion", ["set exp con exp"]),
        ("revises_late", ["set back mut mut mut back"]),
        ("overthinks", ["mut mut con mut mut mut mut mut"]),
    ],
)
def test_more_that_hold(name, routes):
    at = NAMES.index(name)
    assert all(patterns(made(types))[at] for types in routes)


def test_nothing_holds_without_steps():
    assert patterns(made("")) == [0] * 64
