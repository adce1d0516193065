"""The `rlve` patterns that take more than a line to decide (`patterns_rlve`)."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np

from routejax.fingerprints.facts_rlve import Facts, in_a_row

_NUMBER = re.compile(r"\d++(?:\.\d++)?+", re.A)


def single_path(facts: Facts) -> bool:
    return facts.steps >= 3 and max(facts.route.tree.children()) == 1


def sibling_alternatives(facts: Facts) -> bool:
    forks = Counter(facts.route.tree.parents[i] for i in facts.explored)
    return max(forks.values(), default=0) >= 2


def assumes_for_contradiction(facts: Facts) -> bool:
    assumed, contradicted = facts.marks("assumed"), facts.marks("contradicted")
    return bool(assumed and contradicted) and assumed[0] < contradicted[-1]


def returns_to_branch(facts: Facts) -> bool:
    parents = facts.route.tree.parents
    forks = {parents[i] for i in facts.explored}
    return any(parents[i] in forks for i in facts.backtracked)


def returns_to_start(facts: Facts) -> bool:
    return any(facts.route.tree.parents[i] == 0 for i in facts.backtracked)


def ordered_words(facts: Facts) -> bool:
    first, last = facts.marks("first"), facts.marks("last")
    return bool(first and last) and first[0] < last[-1]


def verifies_subgoals(facts: Facts) -> bool:
    goals = np.searchsorted(facts.places("decompose"), facts.verified)
    return len(set(goals.tolist()) - {0}) >= 2


def circular_reasoning(facts: Facts) -> bool:
    seen: dict[tuple[str, ...], int] = {}
    for i, note in enumerate(facts.route.notes):
        if len(note.words) >= 5 and i - seen.get(note.words, i) >= 3:
            return True
        seen[note.words] = i
    return False


def repeated_loop(facts: Facts) -> bool:
    said = [note.words for note in facts.route.notes]
    return any(
        in_a_row((bool(a) and a == said[i] for i, a in enumerate(said[n:])), 2 * n)
        for n in range(1, 5)
    )


def oscillation(facts: Facts) -> bool:
    types = facts.route.types
    moves = (types[i - 2] == types[i] != types[i - 1] for i in range(2, len(types)))
    return in_a_row(moves, 4)


def abandoned_approach(facts: Facts) -> bool:
    explored = set(facts.explored)
    turns = sorted([*facts.explored, *facts.backtracked])
    results = {*facts.verified, *facts.places("infer"), *facts.places("answer")}
    return any(
        a in explored and b > a + 1 and results.isdisjoint(range(a + 1, b))
        for a, b in pairwise(turns)
    )


def conflicting_answers(facts: Facts) -> bool:
    texts = (facts.route.notes[i].text for i in facts.places("answer"))
    return len({found[-1] for text in texts if (found := _NUMBER.findall(text))}) >= 2


def unchecked_revision(facts: Facts) -> bool:
    corrections = facts.places("correct")
    return bool(corrections) and max(facts.verified, default=-1) < corrections[-1]


def overthinks(facts: Facts) -> bool:
    answers = facts.places("answer")
    return bool(answers) and 2 * (facts.steps - 1 - answers[0]) > facts.steps
