"""The pattern block of the `corpus` family: 64 yes-or-no statements about a route.

The paper (A.2) calls them strategy-pattern indicators; the groups are those that it
names for RLVE (A.5): direct reasoning, verification, exploration, backtracking,
decomposition, procedures (here: subjects), failure patterns. The statements are our
choice; each is one row: name, meaning, and what decides it. They look at counts and
places of types and marks and at the tree; of the words they ask only whether two steps
have the same. In a text without steps none holds.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from routejax.fingerprints import patterns_corpus_predicates as ask
from routejax.fingerprints import predicates_rlve as any_family
from routejax.fingerprints.facts_rlve import Facts, follows, gather, in_a_row
from routejax.fingerprints.family import Feature
from routejax.fingerprints.marks_corpus import SUBJECTS
from routejax.fingerprints.route import Route


class Pattern(NamedTuple):
    name: str
    meaning: str
    holds: Callable[[Facts], bool]


DIRECT = (
    Pattern(
        "direct_reasoning",
        "a conclusion, and no verification, exploration or backtracking",
        lambda f: (
            "conclusion" in f.at and not (f.verified or f.explored or f.backtracked)
        ),
    ),
    Pattern(
        "single_path",
        "three steps or more, and no node of the tree has two children",
        any_family.single_path,
    ),
    Pattern(
        "computation_led",
        "half of the steps or more compute",
        lambda f: 2 * f.count("computation") >= f.steps,
    ),
    Pattern(
        "deduction_led",
        "a third of the steps or more deduce",
        lambda f: 3 * f.count("deduction") >= f.steps,
    ),
    Pattern(
        "opens_with_setup",
        "one of the first two steps sets up the problem",
        lambda f: "setup" in f.route.types[:2],
    ),
    Pattern(
        "ends_with_conclusion",
        "the last step concludes",
        lambda f: f.route.types[-1] == "conclusion",
    ),
    Pattern(
        "boxes_answer",
        "a step with a boxed or final answer",
        lambda f: bool(f.marks("boxed")),
    ),
)

VERIFICATION = (
    Pattern("verifies", "a verification step", lambda f: bool(f.verified)),
    Pattern(
        "verifies_often",
        "one step in ten or more verifies",
        lambda f: 10 * len(f.verified) >= f.steps,
    ),
    Pattern(
        "checks_before_conclusion",
        "a conclusion at most three steps after verification",
        lambda f: follows(f.verified, f.places("conclusion"), 3),
    ),
    Pattern(
        "checks_after_conclusion",
        "verification at most three steps after a conclusion",
        lambda f: follows(f.places("conclusion"), f.verified, 3),
    ),
    Pattern(
        "check_confirms",
        'a confirmation ("that\'s correct") at most two steps after verification',
        lambda f: follows(f.verified, f.marks("confirmed"), 2),
    ),
    Pattern(
        "check_refutes",
        "a backtracking step at most two steps after verification",
        lambda f: follows(f.verified, f.places("backtracking"), 2),
    ),
    Pattern(
        "recomputes",
        "verification, and a computation right after it",
        lambda f: follows(f.verified, f.places("computation"), 1),
    ),
    Pattern(
        "substitutes_back",
        "a step that puts a result back into where it came from",
        lambda f: bool(f.marks("substituted back")),
    ),
    Pattern(
        "tests_example",
        "a step that turns to an example or a test case",
        lambda f: bool(f.marks("example")),
    ),
    Pattern(
        "tests_edge_cases",
        "a step that speaks of edge cases",
        lambda f: bool(f.marks("edge case")),
    ),
    Pattern(
        "verification_burst",
        "three verification steps in a row",
        lambda f: in_a_row((b - a == 1 for a, b in pairwise(f.verified)), 2),
    ),
)

EXPLORATION = (
    Pattern("explores", "an exploration edge", lambda f: bool(f.explored)),
    Pattern(
        "sibling_alternatives",
        "two explorations or more from one node",
        any_family.sibling_alternatives,
    ),
    Pattern(
        "changes_method",
        "two steps or more that turn to another way",
        lambda f: len(f.marks("other way")) >= 2,
    ),
    Pattern(
        "case_analysis",
        "two steps or more that tell cases apart",
        lambda f: len(f.marks("case")) >= 2,
    ),
    Pattern(
        "tests_trial",
        "verification at most three steps after an exploration step",
        lambda f: follows(f.places("exploration"), f.verified, 3),
    ),
    Pattern(
        "assumes_for_contradiction",
        "an assumption, and later a contradiction or impossibility",
        any_family.assumes_for_contradiction,
    ),
    Pattern(
        "trial_and_error",
        "three steps or more that try something",
        lambda f: len(f.marks("tried")) >= 3,
    ),
    Pattern(
        "explores_after_conclusion",
        "an exploration edge after the first conclusion",
        lambda f: (
            "conclusion" in f.at and max(f.explored, default=-1) > f.at["conclusion"][0]
        ),
    ),
    Pattern(
        "asks_itself",
        "two steps or more that end with a question mark",
        lambda f: len(f.marks("asked")) >= 2,
    ),
)

BACKTRACKING = (
    Pattern("backtracks", "a backtracking edge", lambda f: bool(f.backtracked)),
    Pattern(
        "backtracks_often",
        "three backtracking edges or more",
        lambda f: len(f.backtracked) >= 3,
    ),
    Pattern(
        "returns_to_branch",
        "a backtracking edge from a node that an exploration left, too",
        any_family.returns_to_branch,
    ),
    Pattern(
        "returns_to_start",
        "a backtracking edge from the root",
        any_family.returns_to_start,
    ),
    Pattern(
        "restarts",
        "a step that starts over",
        lambda f: bool(f.marks("restarted")),
    ),
    Pattern(
        "admits_error",
        "a step that speaks of a mistake",
        lambda f: bool(f.marks("erred")),
    ),
    Pattern(
        "revises_late",
        "backtracking in the last third of the steps",
        lambda f: 3 * max(f.places("backtracking"), default=-1) >= 2 * f.steps,
    ),
    Pattern(
        "rechecks_revision",
        "verification at most three steps after backtracking",
        lambda f: follows(f.places("backtracking"), f.verified, 3),
    ),
    Pattern(
        "voices_doubt",
        'three steps or more that open with "wait", "hmm" or "hold on"',
        lambda f: len(f.marks("doubt")) >= 3,
    ),
)

DECOMPOSITION = (
    Pattern("decomposes", "a decomposition", lambda f: "decomposition" in f.at),
    Pattern(
        "plans_first",
        "a decomposition among the first three steps",
        lambda f: "decomposition" in f.route.types[:3],
    ),
    Pattern(
        "numbers_steps",
        "three steps or more that open with a number of a list",
        lambda f: len(f.marks("numbered")) >= 3,
    ),
    Pattern(
        "ordered_words",
        'a step that opens with "first", and later one with "finally"',
        any_family.ordered_words,
    ),
    Pattern(
        "verifies_subgoals",
        "verification in the stretches of two decompositions or more",
        ask.verifies_subgoals,
    ),
    Pattern(
        "sums_up",
        "a step that sums up or puts together",
        lambda f: bool(f.marks("summed up")),
    ),
    Pattern(
        "reasons_backwards",
        "a backward-reasoning step",
        lambda f: "backward_reasoning" in f.at,
    ),
)


def _subject(mark: str, words: str) -> Pattern:
    return Pattern(
        mark.replace(" ", "_"),
        f"one step in twenty or more speaks of {words}",
        lambda f: mark in f.marked and 20 * len(f.marks(mark)) >= f.steps,
    )


SUBJECT = (
    *(_subject(mark, words) for mark, words in SUBJECTS.items()),
    Pattern(
        "weighs_options",
        "three steps or more that speak of options",
        lambda f: len(f.marks("option")) >= 3,
    ),
)

FAILURE = (
    Pattern(
        "circular_reasoning",
        "a step of five words or more comes back after two others or more",
        any_family.circular_reasoning,
    ),
    Pattern(
        "repeated_loop",
        "a block of one to four steps is said three times running",
        any_family.repeated_loop,
    ),
    Pattern(
        "oscillation",
        "two types take turns for six steps",
        any_family.oscillation,
    ),
    Pattern(
        "abandoned_approach",
        "work after an exploration, left for another way before it came to anything",
        ask.abandoned_approach,
    ),
    Pattern(
        "unchecked_revision",
        "no verification after the last backtracking step",
        ask.unchecked_revision,
    ),
    Pattern(
        "no_conclusion",
        "no step concludes",
        lambda f: "conclusion" not in f.at,
    ),
    Pattern(
        "overthinks",
        "more than half of the steps come after the first conclusion",
        ask.overthinks,
    ),
    Pattern(
        "gives_up",
        "a step that is stuck or guesses",
        lambda f: bool(f.marks("given up")),
    ),
)

PATTERNS = (
    *DIRECT,
    *VERIFICATION,
    *EXPLORATION,
    *BACKTRACKING,
    *DECOMPOSITION,
    *SUBJECT,
    *FAILURE,
)
FEATURES = tuple(Feature(f"pattern/{p.name}", p.meaning) for p in PATTERNS)


def patterns(route: Route) -> list[float]:
    """1 where a pattern holds, else 0; all zero for no steps."""
    if not route.types:
        return [0.0] * len(PATTERNS)
    facts = gather(route)
    # `gather` knows the verification types of `rlve` alone.
    facts = facts._replace(verified=facts.places("verification"))
    return [float(pattern.holds(facts)) for pattern in PATTERNS]
