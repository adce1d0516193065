"""The `corpus` patterns that take more than a line to decide (`patterns_corpus`).

Left out: those that ask the same of every family (`predicates_rlve`).
"""

from __future__ import annotations

from bisect import bisect
from itertools import pairwise

from routejax.fingerprints.facts_rlve import Facts


def verifies_subgoals(facts: Facts) -> bool:
    """A stretch goes from a decomposition to the step before the next one."""
    goals = facts.places("decomposition")
    stretches = {bisect(goals, place) for place in facts.verified}
    return len(stretches - {0}) >= 2


def abandoned_approach(facts: Facts) -> bool:
    """Between an exploration edge and the next turn stand steps, but no result."""
    explored = set(facts.explored)
    turns = sorted([*facts.explored, *facts.backtracked])
    results = {
        *facts.verified,
        *facts.places("deduction"),
        *facts.places("conclusion"),
    }
    return any(
        a in explored and b > a + 1 and results.isdisjoint(range(a + 1, b))
        for a, b in pairwise(turns)
    )


def unchecked_revision(facts: Facts) -> bool:
    revisions = facts.places("backtracking")
    return bool(revisions) and max(facts.verified, default=-1) < revisions[-1]


def overthinks(facts: Facts) -> bool:
    conclusions = facts.places("conclusion")
    return bool(conclusions) and 2 * (facts.steps - 1 - conclusions[0]) > facts.steps
