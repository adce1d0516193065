"""The pattern block of the `rlve` family: 64 yes-or-no statements about a route.

The groups are the paper's (A.5): direct reasoning, verification, exploration,
backtracking, decomposition, task-specific procedures, failure patterns. The statements
are our choice; each is one row: name, meaning, and what decides it. They look at types,
tree and words. In a text without steps none holds.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from routejax.fingerprints import predicates_rlve as ask
from routejax.fingerprints.facts_rlve import Facts, follows, gather, in_a_row
from routejax.fingerprints.family import Feature
from routejax.fingerprints.marks_rlve import PROCEDURES
from routejax.fingerprints.route import Route


class Pattern(NamedTuple):
    name: str
    meaning: str
    holds: Callable[[Facts], bool]


DIRECT = (
    Pattern(
        "direct_reasoning",
        "an answer, and no verification, exploration or backtracking",
        lambda f: "answer" in f.at and not (f.verified or f.explored or f.backtracked),
    ),
    Pattern(
        "single_path",
        "three steps or more, and no node of the tree has two children",
        ask.single_path,
    ),
    Pattern(
        "calculation_led",
        "half of the steps or more calculate or manipulate",
        lambda f: 2 * f.count("calculate", "manipulate") >= f.steps,
    ),
    Pattern(
        "inference_led",
        "a quarter of the steps or more infer",
        lambda f: 4 * f.count("infer") >= f.steps,
    ),
    Pattern(
        "opens_with_problem",
        "one of the first two steps reads or describes the problem",
        lambda f: bool({"parse", "describe"} & set(f.route.types[:2])),
    ),
    Pattern(
        "ends_with_answer",
        "the last step gives the answer",
        lambda f: f.route.types[-1] == "answer",
    ),
    Pattern(
        "restates_answer",
        "two steps or more give the answer",
        lambda f: f.count("answer") >= 2,
    ),
)

VERIFICATION = (
    Pattern("verifies", "a check", lambda f: "check" in f.at),
    Pattern("verifies_often", "four checks or more", lambda f: f.count("check") >= 4),
    Pattern(
        "checks_before_answer",
        "an answer at most three steps after a check",
        lambda f: follows(f.places("check"), f.places("answer"), 3),
    ),
    Pattern(
        "checks_after_answer",
        "a check at most three steps after an answer",
        lambda f: follows(f.places("answer"), f.places("check"), 3),
    ),
    Pattern(
        "check_confirms",
        'a confirmation ("that\'s correct") at most two steps after a check',
        lambda f: follows(f.places("check"), f.marks("confirmed"), 2),
    ),
    Pattern(
        "check_refutes",
        "a correction at most two steps after a check",
        lambda f: follows(f.places("check"), f.places("correct"), 2),
    ),
    Pattern(
        "recomputes",
        "a check, and a calculation right after it",
        lambda f: follows(f.places("check"), f.places("calculate"), 1),
    ),
    Pattern(
        "substitutes_back",
        "a step that puts a result back into where it came from",
        lambda f: bool(f.marks("substituted back")),
    ),
    Pattern(
        "tests_example",
        "a step that turns to an example or a small case",
        lambda f: bool(f.marks("example")),
    ),
    Pattern(
        "checks_constraints",
        "a verification step that speaks of conditions or validity",
        lambda f: not set(f.marks("constraint")).isdisjoint(f.verified),
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
        ask.sibling_alternatives,
    ),
    Pattern(
        "case_analysis",
        "two steps or more that tell cases apart",
        lambda f: len(f.marks("case")) >= 2,
    ),
    Pattern(
        "tests_hypothesis",
        "a check at most three steps after a hypothesis",
        lambda f: follows(f.places("hypothesize"), f.places("check"), 3),
    ),
    Pattern(
        "assumes_for_contradiction",
        "an assumption, and later a contradiction or impossibility",
        ask.assumes_for_contradiction,
    ),
    Pattern(
        "trial_and_error",
        "three steps or more that try something",
        lambda f: len(f.marks("tried")) >= 3,
    ),
    Pattern(
        "explores_after_answer",
        "an exploration edge after the first answer",
        lambda f: "answer" in f.at and max(f.explored, default=-1) > f.at["answer"][0],
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
        ask.returns_to_branch,
    ),
    Pattern(
        "returns_to_start", "a backtracking edge from the root", ask.returns_to_start
    ),
    Pattern(
        "restarts",
        "a step that starts over",
        lambda f: bool(f.marks("restarted")),
    ),
    Pattern(
        "revises_late",
        "a correction in the last third of the steps",
        lambda f: 3 * max(f.places("correct"), default=-1) >= 2 * f.steps,
    ),
    Pattern(
        "rechecks_revision",
        "verification at most three steps after a correction",
        lambda f: follows(f.places("correct"), f.verified, 3),
    ),
    Pattern(
        "voices_doubt",
        'three steps or more that open with "wait", "hmm" or "hold on"',
        lambda f: len(f.marks("doubt")) >= 3,
    ),
)

DECOMPOSITION = (
    Pattern("decomposes", "a subgoal", lambda f: "decompose" in f.at),
    Pattern(
        "plans_first",
        "a subgoal among the first three steps",
        lambda f: "decompose" in f.route.types[:3],
    ),
    Pattern(
        "numbers_steps",
        "three steps or more that open with a number of a list",
        lambda f: len(f.marks("numbered")) >= 3,
    ),
    Pattern(
        "ordered_words",
        'a step that opens with "first", and later one with "finally" or "last"',
        ask.ordered_words,
    ),
    Pattern(
        "takes_stock",
        "two steps or more that track progress",
        lambda f: f.count("track_progress") >= 2,
    ),
    Pattern(
        "verifies_subgoals",
        "verification in the stretches of two subgoals or more",
        ask.verifies_subgoals,
    ),
    Pattern(
        "sums_up",
        "a step that sums up or puts together",
        lambda f: bool(f.marks("summed up")),
    ),
    Pattern(
        "works_backwards",
        "a step that works from the goal to the start",
        lambda f: bool(f.marks("backwards")),
    ),
)


def _procedure(mark: str, words: str) -> Pattern:
    return Pattern(
        mark.replace(" ", "_"),
        f"one step in twenty or more speaks of {words}",
        lambda f: mark in f.marked and 20 * len(f.marks(mark)) >= f.steps,
    )


TASKS = tuple(_procedure(mark, words) for mark, words in PROCEDURES.items())

FAILURE = (
    Pattern(
        "circular_reasoning",
        "a step of five words or more comes back after two others or more",
        ask.circular_reasoning,
    ),
    Pattern(
        "repeated_loop",
        "a block of one to four steps is said three times running",
        ask.repeated_loop,
    ),
    Pattern(
        "oscillation",
        "two types take turns for six steps",
        ask.oscillation,
    ),
    Pattern(
        "abandoned_approach",
        "work after an exploration, left for another way before it came to anything",
        ask.abandoned_approach,
    ),
    Pattern(
        "conflicting_answers",
        "the last numbers of two answer steps differ",
        ask.conflicting_answers,
    ),
    Pattern(
        "unchecked_revision",
        "no verification after the last correction",
        ask.unchecked_revision,
    ),
    Pattern(
        "no_answer",
        "no step gives the answer",
        lambda f: "answer" not in f.at,
    ),
    Pattern(
        "overthinks",
        "more than half of the steps come after the first answer",
        ask.overthinks,
    ),
    Pattern(
        "gives_up",
        "a step that gives up or guesses",
        lambda f: bool(f.marks("given up")),
    ),
)

PATTERNS = (
    *DIRECT,
    *VERIFICATION,
    *EXPLORATION,
    *BACKTRACKING,
    *DECOMPOSITION,
    *TASKS,
    *FAILURE,
)
FEATURES = tuple(Feature(f"pattern/{p.name}", p.meaning) for p in PATTERNS)


def patterns(route: Route) -> Float[np.ndarray, "64"]:
    """1 where a pattern holds, else 0; all zero for no steps."""
    if not route.types:
        return np.zeros(len(PATTERNS))
    facts = gather(route)
    return np.array([float(pattern.holds(facts)) for pattern in PATTERNS])
